"""How certain it is that nothing better passes.

Where the better clusters are few, every one of them is tried: *exhaustive*. Otherwise the cuts
stand for them, which is right as long as more machines never hurt: *monotone*, provided that a
sample of smaller clusters fails as the cuts say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from provisioner.domain.base import Role
from provisioner.planning.counted import counted, within_limits
from provisioner.planning.problem import Problem
from provisioner.search.ruled_out import RuledOut
from provisioner.search.trials import Counts

MOST_BETTER = 150
"""Better clusters that are tried one by one, at most."""
SPOT_CHECKS = 12
"""Smaller clusters that are tried for every design."""
_MOST_LOOKED_AT = 100 * MOST_BETTER
"""Clusters that are counted before it is clear that they are too many."""


def clusters_within(
    problem: Problem, number: int, better: Callable[[Counts], bool] = lambda _: True
) -> list[Counts] | None:
    """Every cluster within the limits that is better; None where there are more than asked.

    Parameters
    ----------
    better : callable
        No longer so once machines are added to a cluster that is not.
    """
    found: list[Counts] = []
    for looked_at, counts in enumerate(_within(problem, better, ())):
        if any(counts):
            found.append(counts)
        if len(found) > number or looked_at > _MOST_LOOKED_AT:
            return None
    return found


def _within(problem: Problem, better: Callable[[Counts], bool], head: Counts) -> Iterator[Counts]:
    """Clusters that begin with these counts; more machines are never better or more allowed."""
    length = len(problem.candidates)
    if len(head) == length:
        yield head
        return
    assert problem.most is not None
    for count in range(problem.most[len(head)] + 1):
        counts = (*head, count, *(0 for _ in range(length - len(head) - 1)))
        if any(counts) and not (
            within_limits(problem, counted(problem, counts)) and better(counts)
        ):
            return
        yield from _within(problem, better, (*head, count))


def violations(ruled_out: RuledOut, best: Counts | None, checks: int = SPOT_CHECKS) -> int:
    """Smaller clusters that pass though the cuts say that they fail, among a sample.

    ``best`` is the best cluster of the design, if any: a role that failed alone is also tried
    beside its other role.
    """
    rng = np.random.default_rng(0)
    found = 0
    cut_from = ruled_out.cut_from
    for number in rng.integers(len(cut_from), size=checks) if cut_from else ():
        role, largest = cut_from[number]
        used = [j for j, count in enumerate(largest) if count]
        if not used:
            continue
        j = used[rng.integers(len(used))]
        fewer = (*largest[:j], int(rng.integers(largest[j])), *largest[j + 1 :])
        found += _passes(ruled_out, role, fewer) or _passes_beside(ruled_out, role, fewer, best)
    return found


def violation_note(number: int) -> str:
    """What it means that some violations were found."""
    return (
        f"{number} of the smaller clusters that were tried pass where a larger one fails, so what "
        "failed rules out nothing but itself, and a better cluster may exist"
    )


def _passes(ruled_out: RuledOut, role: Role | None, counts: Counts) -> bool:
    if role is None:
        return ruled_out.trials.passes(counts)
    return ruled_out.trials.role_passes(role, counts)


def _passes_beside(
    ruled_out: RuledOut, role: Role | None, counts: Counts, best: Counts | None
) -> bool:
    """Whether a failing role passes beside the other role of the best cluster."""
    if role is None or best is None:
        return False
    own = set(ruled_out.members(role))
    whole = tuple(
        n if j in own else other for j, (n, other) in enumerate(zip(counts, best, strict=True))
    )
    return ruled_out.trials.passes(whole)
