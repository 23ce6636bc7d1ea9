"""Staffed: a pool that serves anything has a machine, however little it serves.

``sum_k x_k <= K n`` over the K classes; only at a fixed demand, where a share is at most 1. The
other rows say the same up to the solver's tolerance, which a class of very few requests would
slip through.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import TOLERANCE, Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "staffed"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate; nothing where the demand is free."""
    if problem.scale_demand:
        return
    for j, candidate in enumerate(problem.candidates):
        shares = variables.serve[j].values()
        room = len(shares) * variables.machines[j]
        yield f"{NAME}__{candidate.name}", pulp.lpSum(shares) <= room


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool that serves something without a machine."""
    if problem.scale_demand:
        return
    for j, candidate in enumerate(problem.candidates):
        if solution.machines[j] == 0 and solution.serve[j].max(initial=0.0) > TOLERANCE:
            yield f"{candidate.name}: serves {solution.serve[j].max():g} with no machine"
