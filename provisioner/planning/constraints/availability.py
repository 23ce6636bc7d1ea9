"""Availability: no more machines of a hardware than can be had, capped or not.

``sum_{m of h} used_m <= available_h``; existing machines count.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "availability"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per limited hardware that a candidate is."""
    for hardware, limit in problem.limits.available.items():
        members = [
            j for j, c in enumerate(problem.candidates) if c.machine.hardware == hardware
        ]
        if members:
            used = pulp.lpSum(variables.total(j) for j in members)
            yield f"availability__{hardware}".replace("-", "_"), used <= limit


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per hardware of which there are too few."""
    for hardware, limit in problem.limits.available.items():
        used = sum(
            solution.total(j)
            for j, c in enumerate(problem.candidates)
            if c.machine.hardware == hardware
        )
        if used > limit:
            yield f"{used} machines of {hardware}, {limit} available"
