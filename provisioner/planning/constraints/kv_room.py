"""KV room: the KV-cache that a pool holds on average fits its memory.

With t at its fixed point, ``K = t M / n <= room`` is ``a_i M <= room (n - s_i L - c M)`` for every
segment i, divided by the room here. A mixed pool's prompts stretch t: n becomes n less their
time.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.capacity.candidate import Candidate
from provisioner.planning import iteration
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "kv_room"


def taken(candidate: Candidate, intercept_s: float) -> tuple[float, float, float]:
    """Seconds a_i / room per KV-token iteration."""
    return 0.0, intercept_s / candidate.kv_room_tokens, 0.0


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate that generates tokens and segment."""
    yield from iteration.rows(problem, variables, NAME, taken)


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool that holds more KV-cache than it has room for."""
    for candidate, missing in iteration.shortages(problem, solution, taken):
        room = f"{candidate.kv_room_tokens:g} KV tokens"
        yield f"{candidate.name}: {missing:g} instances short of {room}"
