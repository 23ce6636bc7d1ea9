"""Whether the plan holds for traffic that it was not chosen on.

It is judged again on ten seeds held out, each alone: a plan that just passes three seeds together
may fail on the next one.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from provisioner.domain.result import MetricValue
from provisioner.domain.slo import percentile_label
from provisioner.search.setting import Setting
from provisioner.search.winner import Winner

SEEDS = 10
ENOUGH = 0.9
"""Share of the seeds that a plan should pass; below it a warning says which limits fail."""


@dataclass(frozen=True)
class Holdout:
    """Share of the held-out seeds that pass; None where there was no time for any."""

    pass_fraction: float | None
    notes: tuple[str, ...]


def hold_out(setting: Setting, winner: Winner, deadline: float) -> Holdout:
    """Judge a plan on seeds held out, until a deadline in monotonic time [s]."""
    passed = tried = 0
    missed: Counter[str] = Counter()
    first = setting.seeds.stop
    for seed in range(first, first + SEEDS):
        if time.monotonic() > deadline:
            break
        trials = setting.trials(winner.space.places, setting.trial(winner.theta, [seed]))
        broken = _missed(trials.verdict(winner.counts).slo.metrics)
        tried += 1
        passed += not broken
        missed.update(broken)
    notes = _notes(passed, tried, missed)
    return Holdout(passed / tried if tried else None, tuple(notes))


def _missed(metrics: tuple[MetricValue, ...]) -> list[str]:
    return [
        f"{m.workload}: {m.metric} {percentile_label(m.percentile)}" for m in metrics if not m.ok
    ]


def _notes(passed: int, tried: int, missed: Counter[str]) -> list[str]:
    notes = []
    if tried and passed / tried < ENOUGH:
        which = ", ".join(f"{label} in {n}" for label, n in missed.most_common())
        notes.append(
            f"of {tried} seeds held out, each alone, the plan passes {passed}: it misses {which}; "
            "more seeds or a longer simulation would ask for more machines"
        )
    if tried < SEEDS:
        notes.append(f"there was time for {tried} of {SEEDS} seeds held out")
    return notes
