"""How certain it is that nothing better passes.

Where the better clusters are few, every one of them is tried: *exhaustive*. Otherwise the cuts
stand for them, which is right as long as more machines never hurt: *monotone*, provided that a
sample of smaller clusters fails as the cuts say.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from provisioner.domain.base import Role
from provisioner.search.hunt import Hunt
from provisioner.search.trials import Counts

MOST_BETTER = 150
"""Better clusters that are tried one by one, at most."""
SPOT_CHECKS = 12
"""Smaller clusters that are tried for every design."""


def better_clusters(hunt: Hunt, value: float, most: int = MOST_BETTER) -> list[Counts] | None:
    """Every cluster within the limits of a better value; None where there are more than asked."""
    found: list[Counts] = []
    for counts in _below(hunt, value, (), len(hunt.weights)):
        found.append(counts)
        if len(found) > most:
            return None
    return found


def _below(hunt: Hunt, value: float, head: Counts, length: int) -> Iterator[Counts]:
    """Clusters that begin with these counts; more machines are never better or more allowed."""
    if len(head) == length:
        if hunt.trials.staffed(head):
            yield head
        return
    number = 0
    while True:
        counts = (*head, number, *(0 for _ in range(length - len(head) - 1)))
        if not hunt.allowed(counts) or (any(counts) and not hunt.beats(counts, value)):
            return
        yield from _below(hunt, value, (*head, number), length)
        number += 1


def violations(hunt: Hunt, checks: int = SPOT_CHECKS) -> int:
    """Smaller clusters that pass though the cuts say that they fail, among a sample."""
    rng = np.random.default_rng(0)
    found = 0
    if not hunt.cuts:
        return 0
    for number in rng.integers(len(hunt.cuts), size=checks):
        role, largest = hunt.cut_from[number]
        used = [j for j, count in enumerate(largest) if count]
        if not used:
            continue
        j = used[rng.integers(len(used))]
        fewer = (*largest[:j], int(rng.integers(largest[j])), *largest[j + 1 :])
        found += _passes(hunt, role, fewer) or _passes_beside(hunt, role, fewer)
    return found


def _passes(hunt: Hunt, role: Role | None, counts: Counts) -> bool:
    if role is None:
        return hunt.trials.passes(counts)
    return hunt.trials.role_passes(role, counts)


def _passes_beside(hunt: Hunt, role: Role | None, counts: Counts) -> bool:
    """Whether a failing role passes beside the other role of the best cluster."""
    if role is None or hunt.best is None:
        return False
    own = set(hunt.problem.of_role(role))
    whole = tuple(
        n if j in own else other for j, (n, other) in enumerate(zip(counts, hunt.best, strict=True))
    )
    return hunt.trials.passes(whole)
