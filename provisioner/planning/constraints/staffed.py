"""Staffed: a pool that serves anything has a machine, however little it serves.

``sum_k w_k x_k <= n`` with w the classes' shares of all requests; only at a fixed demand, where a
share is at most 1. The other rows say the same up to the solver's tolerance, which a very small
demand would slip through.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "staffed"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate; nothing where the demand is free."""
    if problem.scale_demand:
        return
    weight = problem.demand.rate_per_s / problem.demand.total_rate_per_s
    for j, candidate in enumerate(problem.candidates):
        served = pulp.lpSum(float(weight[k]) * x for k, x in variables.serve[j].items())
        yield f"{NAME}__{candidate.name}", served <= variables.machines[j]


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool that serves something without a machine."""
    for j, candidate in enumerate(problem.candidates):
        if solution.machines[j] == 0 and solution.serve[j].max(initial=0.0) > 1e-6:
            yield f"{candidate.name}: serves {solution.serve[j].max():g} with no machine"
