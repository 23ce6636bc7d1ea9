"""Availability: no more machines of a hardware than can be had, capped or not.

``sum_{m of h} used_m <= available_h``; existing machines count.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.planning.limits import hardware_count
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "availability"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per limited hardware that a candidate is."""
    for hardware, limit in problem.limits.available.items():
        count = hardware_count(problem, hardware)
        if any(count.weights):
            name = f"{NAME}__{hardware}".replace("-", "_")
            yield name, count.expression(problem, variables) <= limit


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per hardware of which there are too few."""
    for hardware, limit in problem.limits.available.items():
        used = hardware_count(problem, hardware).value(problem, solution)
        if used > limit:
            yield f"{used:g} machines of {hardware}, {limit} available"
