"""Throughput per dollar or per watt within limits: a local search, and a bound.

The start is the guide's plan and the cluster of most throughput; then machines are added, taken
away and exchanged one at a time as long as the ratio grows, every cluster at the highest demand at
which it passes. Where the clusters within the limits are few, all are tried. Otherwise nothing is
proved: the bound is the bounding program's ratio.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from provisioner.planning.counted import counted, within_limits
from provisioner.planning.objectives import cost
from provisioner.planning.solve import solve, spent_by
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
from provisioner.search.trials import Counts, OutOfTimeError
from provisioner.search.winner import Proof, Winner

_CLOSE = 1e-9
_SEARCH_SHARE = 0.8
"""Share of the time for the local search; the rest is for the bound."""
_BOUND_AT = (0.2, 1.0, 1.3)
"""Demands whose traffic the bound is made from, in multiples of the best cluster's."""
_LEAST_BOUND_S = 1.0


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
        ratio = self.ratio(counts, self.known[counts])
        if ratio > self.value * (1 + _CLOSE):
            self.best, self.value = counts, ratio
        return ratio

    def beats(self, counts: Counts) -> bool:
        """Whether a cluster passes at the demand at which it would be a step better.

        If so, it is taken for the best, at the highest demand from there.
        """
        least = LEAST_RATE_PER_S / self.setting.demand.total_rate_per_s
        served = max(self.value, self.to_beat) * (1 + STEP) * self.spent(counts)
        needed = max(served / self.setting.demand.total_rate_per_s, least)
        if not self.demands.passes(counts, needed):
            return False
        self.known[counts] = self.demands.highest(counts, needed) or needed
        self.best, self.value = counts, self.ratio(counts, self.known[counts])
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
    complete = False
    deadline = setting.allowance.deadline
    setting.allowance.deadline -= (1 - _SEARCH_SHARE) * setting.allowance.left_s
    try:
        complete = _search(setting, ascents)
    except OutOfTimeError:
        small.stopped = TIME_LIMIT
    except KeyboardInterrupt:
        small.stopped = INTERRUPT
    setting.allowance.deadline = deadline
    leader = max(ascents, key=lambda ascent: ascent.value)
    if leader.best is None:
        check_not_stopped(small)
        return None, small
    return _winner(setting, ascents, leader, "exhaustive" if complete else "none", small), small


def _search(setting: Setting, ascents: list[Ascent]) -> bool:
    """Try every cluster where they are few, else climb; whether all were tried."""
    within = []
    for ascent in ascents:
        within.append(clusters_within(allowed_problem(ascent.demands.space), MOST_BETTER))
    if None not in within and sum(len(clusters or []) for clusters in within) <= MOST_BETTER:
        _try_all(ascents, [clusters or [] for clusters in within])
        return True
    for ascent in ascents:
        setting.progress(f"{ascent.demands.space.design}: a first cluster")
        found = by_guide(setting, ascent.demands.space)
        if found is not None:
            ascent.tried(*found)
    for ascent in sorted(ascents, key=lambda ascent: -ascent.value):
        setting.progress(f"{ascent.demands.space.design}: one machine at a time")
        ascent.climb()
    return False


def _try_all(ascents: list[Ascent], within: list[list[Counts]]) -> None:
    """Try every cluster, until none passes at a demand at which it would be a step better."""
    improved = True
    while improved:
        improved = False
        for ascent, clusters in zip(ascents, within, strict=True):
            for counts in clusters:
                ascent.to_beat = max(other.value for other in ascents)
                if math.isfinite(ascent.to_beat):
                    improved = ascent.beats(counts) or improved


def _winner(
    setting: Setting, ascents: list[Ascent], leader: Ascent, proof: Proof, small: Best
) -> Winner:
    assert leader.best is not None
    total = setting.demand.total_rate_per_s
    theta = leader.known[leader.best]
    notes = [f"throughput is found to {STEP:.1%}, with the same arrivals at every rate"]
    if small.stopped:
        notes.append(f"the search was ended by {small.stopped}; a better plan may exist")
    bound = leader.value * (1 + STEP) if proof == "exhaustive" else _bound(setting, leader, ascents)
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


def _bound(setting: Setting, leader: Ascent, ascents: list[Ascent]) -> float | None:
    """The best ratio of the bounding program over all designs; None where it is not known.

    Its coefficients are those of the traffic at one demand, so it is solved at several.
    """
    objective = setting.search.objective
    bounds = [leader.value]
    theta = leader.known[leader.best or ()]
    for ascent in ascents:
        for level in (theta * share for share in _BOUND_AT):
            space = setting.space(ascent.demands.space.design, setting.trial(level), level)
            limit_s = max(setting.allowance.left_s, _LEAST_BOUND_S)
            answer = solve(allowed_problem(space), objective, limit_s)
            if answer.bound is None:
                return None
            bounds.append(answer.bound)
    return max(bounds)
