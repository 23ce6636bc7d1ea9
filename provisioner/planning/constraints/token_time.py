"""Token time: the mean gap between tokens stays within the target, by Little's law.

At the fixed point of the iteration time t, B = t L / n and K = t M / n, so for every segment i of
``b(B) = max_i a_i + s_i B``: ``a_i n + tau (s_i L + c M) <= tau n``; divided by tau here, so that
an infinite target leaves the condition of stability. A mixed pool's prompts join the left side.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.capacity.candidate import Candidate
from provisioner.planning import iteration
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "token_time"


def taken(candidate: Candidate, intercept_s: float) -> tuple[float, float, float]:
    """The share a_i / tau of an instance."""
    return 0.0, 0.0, intercept_s / candidate.target_s


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate that generates tokens and segment."""
    yield from iteration.rows(problem, variables, NAME, taken)


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool whose gap between tokens exceeds its target."""
    for candidate, missing in iteration.shortages(problem, solution, taken):
        yield f"{candidate.name}: {missing:g} instances short of {candidate.target_s:g} s a token"
