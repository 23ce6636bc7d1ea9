"""Clusters given by their counts alone: what they cost and whether the limits allow them.

Which requests a pool serves is not said; a simulation finds out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from provisioner.planning.constraints import (
    availability,
    machine_limit,
    money,
    power_budget,
    rack_space,
    types_per_role,
)
from provisioner.planning.constraints.spare_machines import rank
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import with_owned

_LIMITS = (availability, machine_limit, money, power_budget, rack_space, types_per_role)


def counted(problem: Problem, counts: Sequence[int]) -> Solution:
    """The cluster with these working machines, with the spares and owned machines it has then."""
    spares = [0] * len(counts)
    for role in problem.roles:
        used = [j for j in problem.of_role(role) if counts[j]]
        if used:
            cheapest = min(used, key=lambda j: rank(problem.candidates[j].machine))
            spares[cheapest] = problem.spares_of(role)
    nothing = np.zeros((len(counts), len(problem.demand.names)))
    return with_owned(problem, Solution(tuple(counts), tuple(spares), {}, nothing, 1.0))


def within_limits(problem: Problem, solution: Solution) -> bool:
    """Whether the limits of the site and the purse allow a cluster."""
    return not any(True for limit in _LIMITS for _ in limit.violations(problem, solution))
