"""The highest demand at which one cluster passes, by common random numbers.

The demand is a multiple of the scenario's; it is found to a relative step. Passing is taken to end
once as the demand grows; points below the answer are tried to see whether it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from provisioner.search.setting import Setting
from provisioner.search.space import Space
from provisioner.search.trials import Counts, Trials

STEP = 1e-3
"""Relative step to which a demand is found."""
LEAST_RATE_PER_S = 0.05
"""Demand below which a cluster is taken to serve nothing [requests/s]."""
_LEAST_GROWTH, _MOST_GROWTH = 1.02, 2.0
_CHECKED = (0.99, 0.97, 0.9)
"""Shares of the answer at which it is checked that the cluster passes."""
_MOST_RATE_PER_S = 1e6
_KEPT = 8
"""Judges that are kept; each holds its traffic."""


@dataclass
class Demands:
    """The judges of one design at every demand that was tried, and what they said.

    ``points`` are (theta, passed) by counts.
    """

    setting: Setting
    space: Space
    points: dict[Counts, list[tuple[float, bool]]] = field(default_factory=dict)
    _trials: dict[float, Trials] = field(default_factory=dict)

    def trials(self, theta: float) -> Trials:
        """The judge at a demand."""
        if theta not in self._trials:
            if len(self._trials) >= _KEPT:
                self._trials.pop(next(iter(self._trials)))
            trial = self.setting.trial(theta)
            self._trials[theta] = self.setting.trials(self.space.places, trial)
        return self._trials[theta]

    def passes(self, counts: Counts, theta: float) -> bool:
        """Whether a cluster passes at a demand."""
        passed = self.trials(theta).passes(counts)
        self.points.setdefault(counts, []).append((theta, passed))
        return passed

    def highest(self, counts: Counts, guess: float) -> float | None:
        """Largest demand at which a cluster passes; None where it serves nothing."""
        total = self.setting.demand.total_rate_per_s
        least, most = LEAST_RATE_PER_S / total, _MOST_RATE_PER_S / total
        low, high = self._bracket(counts, min(max(guess, least), most), least, most)
        if low is None:
            return None
        while high is not None and high / low > 1 + STEP:
            middle = math.sqrt(low * high)
            if self.passes(counts, middle):
                low = middle
            else:
                high = middle
        return low

    def _bracket(
        self, counts: Counts, guess: float, least: float, most: float
    ) -> tuple[float | None, float | None]:
        """A demand that passes and a higher one that does not, by growing steps from a guess."""
        growth = _LEAST_GROWTH
        theta = guess
        if self.passes(counts, theta):
            while theta < most:
                higher = min(theta * growth, most)
                if not self.passes(counts, higher):
                    return theta, higher
                theta, growth = higher, min(growth**2, _MOST_GROWTH)
            return theta, None
        while theta > least:
            lower = max(theta / growth, least)
            if self.passes(counts, lower):
                return lower, theta
            theta, growth = lower, min(growth**2, _MOST_GROWTH)
        return None, None

    def monotone(self, counts: Counts, theta: float) -> bool:
        """Whether a cluster passes at samples of lower demands too."""
        passed = [self.passes(counts, theta * share) for share in _CHECKED]
        return all(passed)
