"""Power: what the site must reserve for all machines [W], spares and owned ones included."""

from __future__ import annotations

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "power"
MAXIMIZE = False


def expression(problem: Problem, variables: Variables) -> Variable:
    """Provisioned power of the cluster, for the solver."""
    return pulp.lpSum(
        c.machine.provisioned_power_w * variables.total(j) for j, c in enumerate(problem.candidates)
    )


def value(problem: Problem, solution: Solution) -> float:
    """Provisioned power of the cluster [W]."""
    return sum(
        c.machine.provisioned_power_w * solution.total(j) for j, c in enumerate(problem.candidates)
    )
