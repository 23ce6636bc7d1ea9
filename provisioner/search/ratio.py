"""Throughput per dollar or per watt within limits.

Where the clusters within the limits are few, all are tried. Otherwise the guide's plan is changed
one machine at a time, and then demands are parted into intervals: from the least spent at the
lower end of one (a hunt, see `hunt`) follows the best ratio that is possible in it. The interval
that promises most is parted next, until none promises more than `CLOSE_ENOUGH`, or time is up.
Passing is taken to end once as the demand grows.
"""

from __future__ import annotations

import heapq
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
from provisioner.search.setting import Setting
from provisioner.search.start import by_guide
from provisioner.search.trials import OutOfTimeError
from provisioner.search.winner import Proof, Winner

CLOSE_ENOUGH = 0.01
"""Relative gap at which the search ends."""
_CLIMB_SHARE = 0.4
"""Share of the time for changing a machine at a time; the rest is for the intervals."""


@dataclass(order=True)
class Interval:
    """Demands from ``least`` to below ``most``, in multiples of the scenario's.

    ``promise`` is minus the best ratio that may be there; ``spent`` the least that is spent at
    ``least``, None where it is not known yet.
    """

    promise: float
    least: float = field(compare=False)
    most: float = field(compare=False)
    spent: float | None = field(compare=False, default=None)


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
    known: dict[float, Best] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The best ratio so far."""
        return max(ascent.value for ascent in self.ascents)

    @property
    def total_per_s(self) -> float:
        """The scenario's demand [requests/s]."""
        return self.setting.demand.total_rate_per_s

    def search(self) -> float | None:
        """Part intervals until none promises more; a ratio that no cluster beats."""
        most = self._most_demand()
        if most is None or not math.isfinite(self.value):
            return None
        least = LEAST_RATE_PER_S / self.total_per_s
        self.open = [Interval(-math.inf, least, max(most, least) * (1 + STEP))]
        try:
            while self._promised() > self.value * (1 + CLOSE_ENOUGH):
                self._part(heapq.heappop(self.open))
        except (OutOfTimeError, KeyboardInterrupt):
            pass
        promised = max(self._promised(), self.value * (1 + CLOSE_ENOUGH))
        return promised if math.isfinite(promised) else None

    def _promised(self) -> float:
        """The best ratio that may be anywhere."""
        return max(self.value, *(-interval.promise for interval in self.open), 0.0)

    def _most_demand(self) -> float | None:
        """A demand that no cluster within the limits serves, by the bounding program."""
        most = 0.0
        for ascent in self.ascents:
            problem = allowed_problem(ascent.demands.space)
            answer = solve(problem, throughput, max(self.setting.allowance.left_s, 1.0))
            if answer.bound is None:
                return None
            most = max(most, answer.bound / self.total_per_s)
        return most

    def _part(self, interval: Interval) -> None:
        """Find what is least spent at the lower end; where that is known, part the interval."""
        self.setting.progress(
            f"best {self.value:,.6g}, none above {self._promised_with(interval):,.6g}"
        )
        try:
            if interval.spent is None:
                self._measure(interval)
                return
            middle = math.sqrt(interval.least * interval.most)
            self._open(Interval(0.0, interval.least, middle, interval.spent))
            self._measure(Interval(interval.promise, middle, interval.most))
        except (OutOfTimeError, KeyboardInterrupt):
            heapq.heappush(self.open, interval)
            raise

    def _promised_with(self, interval: Interval) -> float:
        return max(self._promised(), -interval.promise)

    def _open(self, interval: Interval) -> None:
        """Keep an interval with a known least spent, where it may hold a better ratio."""
        assert interval.spent is not None
        best = interval.most * self.total_per_s / interval.spent if interval.spent else math.inf
        if best > self.value * (1 + CLOSE_ENOUGH):
            heapq.heappush(
                self.open, Interval(-best, interval.least, interval.most, interval.spent)
            )

    def _measure(self, interval: Interval) -> None:
        """Hunt for what is least spent at the lower end, below what would promise anything."""
        beaten = self.value * (1 + CLOSE_ENOUGH)
        most_spent = interval.most * self.total_per_s / beaten if beaten else math.inf
        best = hunts_of(
            self.setting,
            [ascent.demands.space.design for ascent in self.ascents],
            spent_by(self.setting.search.objective),
            interval.least,
        )
        self._reuse_failures(best, interval.least)
        for hunt, ascent in zip(best.hunts, self.ascents, strict=True):
            hunt.to_beat(min(most_spent, best.value or math.inf))
            hunt.run()
            if hunt.best is not None:
                ascent.tried(hunt.best, interval.least)
        self.known[interval.least] = best
        if best.value is not None:
            self._open(Interval(0.0, interval.least, interval.most, best.value))

    def _reuse_failures(self, best: Best, theta: float) -> None:
        """What failed at the next lower demand fails at this one."""
        lower = max((known for known in self.known if known <= theta), default=None)
        if lower is None:
            return
        for hunt, former in zip(best.hunts, self.known[lower].hunts, strict=True):
            hunt.ruled_out = former.ruled_out.at_more(hunt.trials, theta / lower)


def _winner(
    setting: Setting, leader: Ascent, proof: Proof, bound: float | None, small: Best
) -> Winner:
    assert leader.best is not None
    total = setting.demand.total_rate_per_s
    theta = leader.known[leader.best]
    notes = [f"throughput is found to {STEP:.1%}, with the same arrivals at every rate"]
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
