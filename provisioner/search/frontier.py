"""The frontier between clusters that fail and clusters that pass.

From one failed cluster machines of one kind after the other are added, as many as still fail: a
cut there rules out more than one at the first. What is known of smaller and larger clusters is
not tried again, which takes it that more machines never hurt, as the cuts themselves do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from provisioner.search.trials import Counts

_TINY = 1e-9
_HELD = 0.03
"""Trust in the first guess of the weights against one cluster of the frontier."""


@dataclass
class Frontier:
    """What is known of the clusters of some kinds.

    ``weights`` are the shares of the demand that one machine of each kind serves; they start as
    guesses and are fitted to the largest failed clusters, which serve just about all of it.
    """

    members: tuple[int, ...]
    weights: tuple[float, ...]
    failed: list[Counts] = field(default_factory=list)
    passed: list[Counts] = field(default_factory=list)
    largest: list[Counts] = field(default_factory=list)

    def at_more(self, ratio: float) -> Frontier:
        """What is known at ``ratio`` times the demand, of at least 1: what failed fails there."""
        weights = tuple(weight / ratio for weight in self.weights)
        return Frontier(self.members, weights, failed=[*self.failed])

    def note(self, counts: Counts, *, passed: bool) -> None:
        """Remember a cluster that was tried."""
        (self.passed if passed else self.failed).append(counts)

    def known(self, counts: Counts) -> bool | None:
        """Whether a cluster passes, where smaller or larger ones tell."""
        if any(self._within(counts, failed) for failed in self.failed):
            return False
        if any(self._within(passed, counts) for passed in self.passed):
            return True
        return None

    def _within(self, small: Counts, large: Counts) -> bool:
        return all(small[j] <= large[j] for j in self.members)

    def fit(self, largest: Counts) -> None:
        """Learn from one more of the largest failed clusters."""
        self.largest.append(largest)
        own = list(self.members)
        guess = np.array([self.weights[j] for j in own])
        rows = np.array(self.largest, dtype=float)[:, own]
        scale = 1 / np.maximum(guess, _TINY)
        # In units of the guess, and held to it where the clusters do not tell.
        matrix = np.vstack([rows / scale, _HELD * np.eye(len(own))])
        right = np.concatenate([np.ones(len(rows)), _HELD * np.ones(len(own))])
        fitted = np.linalg.lstsq(matrix, right)[0] / scale
        weights = list(self.weights)
        for j, weight in zip(own, fitted, strict=True):
            weights[j] = max(float(weight), _TINY)
        self.weights = tuple(weights)

    def lacking(self, counts: Counts, j: int) -> int:
        """Guess how many machines of a kind a cluster lacks to pass."""
        served = sum(counts[i] * self.weights[i] for i in self.members)
        return math.floor((1 - served) / self.weights[j] + 0.5) + 1


def largest_failing(
    start: Counts,
    order: Sequence[int],
    most: Counts,
    fails: Callable[[Counts], bool],
    expected: Callable[[Counts, int], int],
) -> Counts:
    """Add machines while the cluster fails, kind by kind.

    Parameters
    ----------
    start : tuple of int
        A cluster that fails.
    order : sequence of int
        Kinds to add, first first.
    most : tuple of int
        Counts that are not exceeded.
    fails : callable
    expected : callable
        Guess of how many machines of a kind a cluster lacks to pass; it costs time where it is
        wrong, and nothing else.
    """
    counts = start
    for j in order:
        room = most[j] - counts[j]
        if room <= 0:
            continue
        guess = min(max(expected(counts, j) - 1, 1), room)
        counts = _more(counts, j, last_true(room, guess, _along(counts, j, fails)))
    return counts


def _along(counts: Counts, j: int, fails: Callable[[Counts], bool]) -> Callable[[int], bool]:
    return lambda extra: fails(_more(counts, j, extra))


def _more(counts: Counts, j: int, extra: int) -> Counts:
    return (*counts[:j], counts[j] + extra, *counts[j + 1 :])


def last_true(room: int, guess: int, holds: Callable[[int], bool]) -> int:
    """Largest k up to ``room`` for which something holds, where it does for 0 and ends once."""
    low, high = 0, room + 1
    at, step = guess, 1
    while low + 1 < high:
        if holds(at):
            low = at
            at = low + step
        else:
            high = at
            at = high - step
        step *= 2
        if not low < at < high:
            at = (low + high) // 2
    return low
