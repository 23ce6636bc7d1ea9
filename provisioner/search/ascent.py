"""The best ratio of throughput to what is spent in one design, by changing a machine at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from provisioner.planning.counted import counted, within_limits
from provisioner.planning.solve import spent_by
from provisioner.search.highest import LEAST_RATE_PER_S, STEP, Demands
from provisioner.search.setting import Setting
from provisioner.search.trials import Counts

_CLOSE = 1e-9


@dataclass(eq=False)
class Ascent:
    """The best ratio in one design.

    ``value`` is the ratio of ``best``, ``to_beat`` that of a cluster of another design. ``known``
    is the highest demand of clusters that were tried, in multiples of the scenario's; 0 where one
    serves nothing.
    """

    setting: Setting
    demands: Demands
    best: Counts | None = None
    value: float = 0.0
    to_beat: float = 0.0
    known: dict[Counts, float] = field(default_factory=dict)

    def spent(self, counts: Counts) -> float:
        """What the ratio divides by."""
        problem = self.demands.space.problem
        per = spent_by(self.setting.search.objective)
        return per.value(problem, counted(problem, counts))

    def ratio(self, counts: Counts, theta: float) -> float:
        """Throughput per what is spent; infinite where something is served for nothing."""
        served, spent = theta * self.setting.demand.total_rate_per_s, self.spent(counts)
        if spent <= 0:
            return math.inf if served > 0 else 0.0
        return served / spent

    def allowed(self, counts: Counts) -> bool:
        """Whether the limits allow a cluster."""
        problem = self.demands.space.problem
        return within_limits(problem, counted(problem, counts))

    def tried(self, counts: Counts, guess: float) -> float:
        """The ratio of a cluster, which is taken for the best where it is."""
        if counts not in self.known:
            self.known[counts] = self.demands.highest(counts, guess) or 0.0
        self._take(counts)
        return self.ratio(counts, self.known[counts])

    def passed(self, counts: Counts, theta: float) -> None:
        """Note that a cluster passes at a demand, and find the highest one from there."""
        if theta > self.known.get(counts, 0.0):
            self.known[counts] = self.demands.highest(counts, theta) or theta
        self._take(counts)

    def _take(self, counts: Counts) -> None:
        ratio = self.ratio(counts, self.known[counts])
        if ratio > self.value * (1 + _CLOSE):
            self.best, self.value = counts, ratio

    def beats(self, counts: Counts) -> bool:
        """Whether a cluster passes at the demand at which it would be a step better.

        If so, it is taken for the best, at the highest demand from there.
        """
        least = LEAST_RATE_PER_S / self.setting.demand.total_rate_per_s
        served = max(self.value, self.to_beat) * (1 + STEP) * self.spent(counts)
        needed = max(served / self.setting.demand.total_rate_per_s, least)
        if not self.demands.passes(counts, needed):
            return False
        self.passed(counts, needed)
        return True

    def climb(self) -> None:
        """Change a machine at a time as long as the ratio grows."""
        improved = self.best is not None
        while improved and math.isfinite(self.value):
            assert self.best is not None
            around = filter(self.allowed, _neighbours(self.best))
            improved = any(self.beats(counts) for counts in around)


def _neighbours(counts: Counts) -> Iterator[Counts]:
    """Clusters with one or two machines more, fewer, or of another kind."""
    places = range(len(counts))
    for number in (1, 2):
        for j in places:
            for change in (-number, number):
                if counts[j] + change >= 0:
                    yield (*counts[:j], counts[j] + change, *counts[j + 1 :])
    for i, j in itertools.permutations(places, 2):
        if counts[i]:
            yield tuple(n - (k == i) + (k == j) for k, n in enumerate(counts))
