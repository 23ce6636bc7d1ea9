"""Money: the cluster's rent stays within the budget; existing machines are free of it.

``sum_m price_m (used_m - owned_m) <= limit``.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.planning.objectives import cost
from provisioner.planning.problem import Problem, Solution, exceeds
from provisioner.planning.variables import Variable, Variables

NAME = "money"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row; nothing where there is no limit."""
    if problem.limits.usd_per_hour is not None:
        yield NAME, cost.expression(problem, variables) <= problem.limits.usd_per_hour


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence where the limit is exceeded."""
    limit, used = problem.limits.usd_per_hour, cost.value(problem, solution)
    if limit is not None and exceeds(used, limit):
        yield f"{used:g} USD/h of {limit:g}"
