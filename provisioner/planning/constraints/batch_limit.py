"""Batch limit: a pool's mean batch stays within what an instance may run at once.

With t at its fixed point, ``B = t L / n <= limit`` is ``a_i L <= limit (n - s_i L - c M)`` for
every segment i, divided by the limit here.

Not modelled: batches above the mean; the limit leaves room for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.capacity.candidate import Candidate
from provisioner.planning import iteration
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "batch_limit"


def taken(candidate: Candidate, intercept_s: float) -> tuple[float, float, float]:
    """Seconds a_i / limit per token iteration."""
    return intercept_s / candidate.batch_limit, 0.0, 0.0


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate that generates tokens and segment."""
    yield from iteration.rows(problem, variables, NAME, taken)


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool whose mean batch is above its limit."""
    for candidate, missing in iteration.shortages(problem, solution, taken):
        batch = f"batches of {candidate.batch_limit:g}"
        yield f"{candidate.name}: {missing:g} instances short of {batch}"
