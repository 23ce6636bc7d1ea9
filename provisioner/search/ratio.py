"""Throughput per dollar or per watt within limits.

Where the clusters within the limits are few, all are tried. Otherwise the guide's plan is changed
one machine at a time, and then every design's demands are parted into intervals: from the least
that is spent at the lower end of one follows the best ratio that is possible in it. A hunt (see
`hunt`) bounds that least ever better. A step is taken in the interval that promises most, and an
interval whose hunt is over is parted, until none promises more than `CLOSE_ENOUGH`, or time is up.
Passing is taken to end once as the demand grows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from provisioner.planning.objectives import cost, throughput
from provisioner.planning.solve import solve, spent_by
from provisioner.search.ascent import Ascent
from provisioner.search.best import (
    INTERRUPT,
    TIME_LIMIT,
    Best,
    check_not_stopped,
    hunts_of,
)
from provisioner.search.certainty import MOST_BETTER, clusters_within
from provisioner.search.climb import allowed_problem
from provisioner.search.highest import LEAST_RATE_PER_S, STEP, Demands
from provisioner.search.hunt import Hunt
from provisioner.search.setting import Setting
from provisioner.search.start import by_guide
from provisioner.search.trials import OutOfTimeError
from provisioner.search.winner import Proof, Winner

CLOSE_ENOUGH = 0.01
"""Relative gap at which the search ends."""
FIRST_WIDTH = 1.2
"""Upper over lower end of the first intervals."""
_CLOSE = 1e-9
_CLIMB_SHARE = 0.4
"""Share of the time for changing a machine at a time; the rest is for the intervals."""


@dataclass(eq=False)
class Interval:
    """Demands of one design from ``least`` to below ``most``, in multiples of the scenario's.

    ``spent`` is a bound from below on what is spent at ``least``, by a ``hunt`` that goes on, or
    that is over (``hunted``).
    """

    ascent: Ascent
    least: float
    most: float
    spent: float = 0.0
    hunt: Hunt | None = None
    hunted: bool = False


def find(setting: Setting, designs: list[str]) -> tuple[Winner | None, Best]:
    """Search for the best ratio within the limits.

    Raises
    ------
    InputError
        Where a limit is missing without which there is no maximum.
    StoppedError
        Where the time limit comes before any plan.
    KeyboardInterrupt
        At Ctrl-C before any plan.
    """
    theta = LEAST_RATE_PER_S / setting.demand.total_rate_per_s
    small = hunts_of(setting, designs, cost, theta)
    ascents = [Ascent(setting, Demands(setting, space)) for space in small.spaces]
    complete, bound = False, None
    try:
        complete = _all_tried(ascents)
        if not complete:
            _climb(setting, ascents)
            bound = _Intervals(setting, ascents).search()
    except OutOfTimeError:
        small.stopped = TIME_LIMIT
    except KeyboardInterrupt:
        small.stopped = INTERRUPT
    leader = max(ascents, key=lambda ascent: ascent.value)
    if leader.best is None:
        check_not_stopped(small)
        return None, small
    if complete:
        bound = leader.value * (1 + STEP)
    return _winner(setting, leader, "exhaustive" if complete else "none", bound, small), small


def _all_tried(ascents: list[Ascent]) -> bool:
    """Try every cluster where they are few; whether they are.

    None then passes at the demand at which it would be a step better than the best.
    """
    within = []
    for ascent in ascents:
        clusters = clusters_within(allowed_problem(ascent.demands.space), MOST_BETTER)
        if clusters is None:
            return False
        within.append(clusters)
    if sum(map(len, within)) > MOST_BETTER:
        return False
    improved = True
    while improved:
        improved = False
        for ascent, clusters in zip(ascents, within, strict=True):
            for counts in clusters:
                ascent.to_beat = max(other.value for other in ascents)
                if math.isfinite(ascent.to_beat):
                    improved = ascent.beats(counts) or improved
    return True


def _climb(setting: Setting, ascents: list[Ascent]) -> None:
    """Change the guide's plan of every design, one machine at a time, for a part of the time."""
    deadline = setting.allowance.deadline
    setting.allowance.deadline -= (1 - _CLIMB_SHARE) * setting.allowance.left_s
    try:
        for ascent in ascents:
            setting.progress(f"{ascent.demands.space.design}: a first cluster")
            found = by_guide(setting, ascent.demands.space)
            if found is not None:
                ascent.tried(*found)
        for ascent in sorted(ascents, key=lambda ascent: -ascent.value):
            setting.progress(f"{ascent.demands.space.design}: one machine at a time")
            ascent.climb()
    except OutOfTimeError:
        pass
    finally:
        setting.allowance.deadline = deadline


@dataclass
class _Intervals:
    """The intervals of demand that may still hold a better ratio."""

    setting: Setting
    ascents: list[Ascent]
    open: list[Interval] = field(default_factory=list)

    @property
    def value(self) -> float:
        """The best ratio so far."""
        return max(ascent.value for ascent in self.ascents)

    def search(self) -> float | None:
        """Go on with the interval that promises most; a ratio that no cluster beats."""
        if not math.isfinite(self.value):
            return None
        try:
            for ascent in self.ascents:
                self.open += _parted(ascent, self._most_demand(ascent))
            while self._promise(interval := self._most_promising) > self._enough * (1 + _CLOSE):
                self._improve(interval)
        except (OutOfTimeError, KeyboardInterrupt):
            pass
        promised = max([self._enough, *map(self._promise, self.open)])
        return promised if math.isfinite(promised) else None

    @property
    def _enough(self) -> float:
        """A ratio that is not worth to be looked for."""
        return self.value * (1 + CLOSE_ENOUGH)

    @property
    def _most_promising(self) -> Interval:
        return max(self.open, key=self._promise)

    def _promise(self, interval: Interval) -> float:
        """The best ratio that may be in an interval."""
        most_per_s = interval.most * self.setting.demand.total_rate_per_s
        return most_per_s / interval.spent if interval.spent > 0 else math.inf

    def _most_demand(self, ascent: Ascent) -> float:
        """A demand that no cluster within the limits serves, by the bounding program."""
        problem = allowed_problem(ascent.demands.space)
        answer = solve(problem, throughput, max(self.setting.allowance.left_s, 1.0))
        if answer.bound is None:
            raise OutOfTimeError
        return answer.bound / self.setting.demand.total_rate_per_s

    def _improve(self, interval: Interval) -> None:
        """Take a step of the interval's hunt; where that is over, part the interval."""
        if interval.hunted:
            middle = math.sqrt(interval.least * interval.most)
            self.open.append(Interval(interval.ascent, middle, interval.most, interval.spent))
            interval.most = middle
            return
        self._say()
        if interval.hunt is None:
            interval.hunt = self._hunt(interval)
        hunt = interval.hunt
        hunt.to_beat(interval.most * self.setting.demand.total_rate_per_s / self._enough)
        hunt.step()
        if hunt.best is not None:
            interval.ascent.passed(hunt.best, interval.least)
        interval.spent = max(interval.spent, hunt.bound or 0.0)
        if hunt.done:
            interval.hunted, interval.hunt = True, None

    def _hunt(self, interval: Interval) -> Hunt:
        """A hunt for what is least spent at the lower end."""
        design = interval.ascent.demands.space.design
        spent = spent_by(self.setting.search.objective)
        return hunts_of(self.setting, [design], spent, interval.least).hunts[0]

    def _say(self) -> None:
        promised = self._promise(self._most_promising)
        none = f"none above {promised:,.6g}" if math.isfinite(promised) else "no bound yet"
        self.setting.progress(f"best {self.value:,.6g}, {none}")


def _parted(ascent: Ascent, most: float) -> list[Interval]:
    """Intervals up to a demand, none wider than `FIRST_WIDTH`."""
    least = LEAST_RATE_PER_S / ascent.setting.demand.total_rate_per_s
    most = max(most, least) * (1 + STEP)
    number = max(math.ceil(math.log(most / least) / math.log(FIRST_WIDTH)), 1)
    edges = [*(least * (most / least) ** (i / number) for i in range(number)), most]
    return [Interval(ascent, low, high) for low, high in itertools.pairwise(edges)]


def _winner(
    setting: Setting, leader: Ascent, proof: Proof, bound: float | None, small: Best
) -> Winner:
    assert leader.best is not None
    total = setting.demand.total_rate_per_s
    theta = leader.known[leader.best]
    notes = [f"throughput is found to {STEP:.1%}, with the same arrivals at every rate"]
    if proof == "none" and bound is not None:
        notes.append("the bound takes it that a cluster that fails at a demand fails at all higher")
    if small.stopped:
        notes.append(f"the search was ended by {small.stopped}; a better plan may exist")
    points = sorted(set(leader.demands.points.get(leader.best, [])))
    return Winner(
        space=leader.demands.space,
        counts=leader.best,
        trials=leader.demands.trials(theta),
        theta=theta,
        value=leader.value,
        bound=bound,
        proof=proof,
        notes=tuple(notes),
        points=tuple((theta * total, passed) for theta, passed in points),
    )
