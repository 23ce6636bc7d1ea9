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
MOST_WITHOUT, SPOT_CHECKS = 60, 12
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


def violations(ruled_out: RuledOut, best: Counts | None) -> list[Counts]:
    """Smaller clusters that pass though the cuts say that they fail, among a sample.

    From below every cut the clusters without one of its kinds are tried, as slow machines may hurt
    fast ones, up to `MOST_WITHOUT`; and `SPOT_CHECKS` drawn at random. ``best`` is the best cluster
    of the design, if any: a role that failed alone is also tried beside its other role.
    """
    return [
        found
        for role, fewer in [*_without_a_kind(ruled_out), *_drawn(ruled_out)]
        for found in _passing(ruled_out, role, fewer, best)
    ]


def _without_a_kind(ruled_out: RuledOut) -> list[tuple[Role | None, Counts]]:
    """Below every cut, its clusters with one kind left out."""
    chosen = [
        (role, (*largest[:j], 0, *largest[j + 1 :]))
        for role, largest in ruled_out.cut_from
        for j in range(len(largest))
        if largest[j] and sum(count > 0 for count in largest) > 1
    ]
    unlike = list(dict.fromkeys(chosen))
    if len(unlike) <= MOST_WITHOUT:
        return unlike
    rng = np.random.default_rng(1)
    return [unlike[i] for i in rng.choice(len(unlike), MOST_WITHOUT, replace=False)]


def _drawn(ruled_out: RuledOut) -> Iterator[tuple[Role | None, Counts]]:
    """Below cuts drawn at random, fewer machines of a kind drawn at random."""
    rng = np.random.default_rng(0)
    cut_from = ruled_out.cut_from
    for number in rng.integers(len(cut_from), size=SPOT_CHECKS) if cut_from else ():
        role, largest = cut_from[number]
        used = [j for j, count in enumerate(largest) if count]
        if used:
            j = used[rng.integers(len(used))]
            yield role, (*largest[:j], int(rng.integers(largest[j])), *largest[j + 1 :])


def violation_note(number: int) -> str:
    """What it means that some violations were found."""
    return (
        f"{number} of the smaller clusters that were tried pass where a larger one fails, so what "
        "failed rules out nothing but itself, and a better cluster may exist"
    )


def _passing(
    ruled_out: RuledOut, role: Role | None, counts: Counts, best: Counts | None
) -> Iterator[Counts]:
    """The cluster where it passes; a role alone, or beside the other role of the best cluster."""
    if role is None:
        if ruled_out.trials.passes(counts):
            yield counts
        return
    if ruled_out.trials.role_passes(role, counts):
        yield counts
    elif best is not None:
        own = set(ruled_out.members(role))
        whole = tuple(
            n if j in own else other for j, (n, other) in enumerate(zip(counts, best, strict=True))
        )
        if ruled_out.trials.passes(whole):
            yield whole
