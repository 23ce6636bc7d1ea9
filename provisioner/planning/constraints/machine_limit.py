"""Machine limit: the cluster has at most so many machines, spares and existing ones included."""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.planning.objectives import machines
from provisioner.planning.problem import Problem, Solution, exceeds
from provisioner.planning.variables import Variable, Variables

NAME = "machine_limit"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row; nothing where there is no limit."""
    if problem.limits.machines is not None:
        yield NAME, machines.expression(problem, variables) <= problem.limits.machines


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence where the limit is exceeded."""
    limit, used = problem.limits.machines, machines.value(problem, solution)
    if limit is not None and exceeds(used, limit):
        yield f"{used:g} machines of {limit:g}"
