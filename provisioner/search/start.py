"""A first cluster that passes, so that an interrupted search has an answer, and a good one.

By the guide's estimate, then with more machines until the judge passes it, then with fewer as
long as it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from provisioner.search.frontier import last_true
from provisioner.search.hunt import Hunt
from provisioner.search.trials import Counts

_GROWTH = 0.08
_MOST_STEPS = 30


def alone_by_role(hunt: Hunt) -> Counts:
    """One kind of machine per role, that which serves the demand at the best value."""
    counts = [0] * len(hunt.weights)
    for role in hunt.problem.roles:
        members = hunt.problem.of_role(role)
        enough = {j: math.ceil(1 / hunt.weights[j]) for j in members}
        best = min(members, key=lambda j: hunt.worth(_only(len(counts), j, enough[j])))
        counts[best] = enough[best]
    return tuple(counts)


def _only(length: int, j: int, number: int) -> Counts:
    return tuple(number if i == j else 0 for i in range(length))


def settle(hunt: Hunt, counts: Counts) -> None:
    """Grow a cluster until it passes, then shrink it; the hunt is offered what is found."""
    grown = _grown(hunt, counts)
    if grown is not None:
        hunt.offer(grown)
        hunt.offer(_shrunk(hunt, grown))


def _grown(hunt: Hunt, counts: Counts) -> Counts | None:
    """The cluster with more machines, role by role where roles can be told apart."""
    for _ in range(_MOST_STEPS):
        if not hunt.allowed(counts):
            return None
        failed = hunt.failed_roles(counts)
        if not failed:
            if hunt.trials.passes(counts):
                return counts
            failed = list(hunt.problem.roles)
        growing = [j for role in failed for j in hunt.problem.of_role(role)]
        counts = tuple(
            n + math.ceil(n * _GROWTH) if j in growing else n for j, n in enumerate(counts)
        )
    return None


def _shrunk(hunt: Hunt, counts: Counts) -> Counts:
    """Take away machines of each kind, the dearest pools first, as long as the cluster passes."""
    value = [hunt.worth(_only(len(counts), j, number)) for j, number in enumerate(counts)]
    for j in sorted(range(len(counts)), key=lambda j: -value[j]):
        spared = last_true(counts[j], 1, _without(hunt, counts, j))
        counts = _less(counts, j, spared)
    return counts


def _without(hunt: Hunt, counts: Counts, j: int) -> Callable[[int], bool]:
    return lambda number: hunt.trials.passes(_less(counts, j, number))


def _less(counts: Counts, j: int, number: int) -> Counts:
    return (*counts[:j], counts[j] - number, *counts[j + 1 :])
