"""What a run shows of each pool: how busy, how full, and what power it drew.

An instance that failed neither works nor idles, and draws no power.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from provisioner.domain.verdict import ACTIVE_LEVELS, LatencySummary, PoolMeasure
from provisioner.domain.workload import FloatArray
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.engine.state import GAP_BINS, GAP_LOW_S, GAP_PER_DECADE, Array
from provisioner.simulation.simulate import Run


def measure_pools(pools: tuple[SimulatedPool, ...], runs: list[Run]) -> tuple[PoolMeasure, ...]:
    """Mean over the runs of every pool's utilisation, batch, KV occupancy and power."""
    parts = [[_measure(pool, run, home) for run in runs] for home, pool in enumerate(pools)]
    return tuple(PoolMeasure(*np.mean(part, axis=0).tolist()) for part in parts)


def _measure(pool: SimulatedPool, run: Run, home: int) -> tuple[float, float, float, float]:
    instances = run.state.instances
    own = instances[instances["home"] == home]
    from_s, until_s = _window_s(run)
    available_s = _available_s(own, from_s, until_s)
    if available_s <= 0:
        return 0.0, 0.0, 0.0, 0.0
    busy_s = float(own["prompt_busy_s"].sum() + own["token_busy_s"].sum())
    working_s = max(busy_s, np.finfo(float).tiny)
    room = np.floor(pool.deployment.kv_room_tokens)
    idle_w = pool.deployment.power.idle_w / pool.deployment.instances_per_machine
    energy_j = float(own["energy_j"].sum()) + idle_w * (available_s - busy_s)
    return (
        busy_s / available_s,
        float(own["batch_s"].sum()) / working_s,
        float(own["kv_token_s"].sum()) / (working_s * room),
        energy_j / (until_s - from_s),
    )


def _window_s(run: Run) -> tuple[float, float]:
    """The measured window; to the last request's end where it has none."""
    from_s, until_s = run.window_s
    if not np.isfinite(until_s):
        finish_s = run.records.finish_s
        until_s = float(finish_s[np.isfinite(finish_s)].max(initial=from_s))
    return from_s, until_s


def _available_s(instances: Array, from_s: float, until_s: float) -> float:
    return float((np.clip(instances["failed_s"], from_s, until_s) - from_s).sum())


def active_share(runs: list[Run]) -> tuple[float, ...]:
    """Share of all instances' time with at most `ACTIVE_LEVELS` active tokens."""
    busy_s = np.sum([run.state.groups["active_s"].sum(axis=0) for run in runs], axis=0)
    return share_at_most(
        np.flatnonzero(busy_s),
        busy_s[busy_s > 0],
        sum(_available_s(run.state.instances, *_window_s(run)) for run in runs),
    )


def share_at_most(tokens: ArrayLike, busy_s: ArrayLike, all_s: float) -> tuple[float, ...]:
    """Share of a time with at most `ACTIVE_LEVELS` active tokens.

    Parameters
    ----------
    tokens, busy_s : arrays
        Active tokens, and the time with so many [s]; the rest of ``all_s`` has none.
    """
    if all_s <= 0:
        return ()
    at, times = np.asarray(tokens), np.asarray(busy_s)
    idle_s = all_s - float(times.sum())
    return tuple((idle_s + float(times[at <= level].sum())) / all_s for level in ACTIVE_LEVELS)


def gap_summary(runs: list[Run]) -> LatencySummary:
    """Gaps between the tokens of all requests, to the width of a histogram's bin (5 %)."""
    weights = np.sum([run.state.groups["gaps"].sum(axis=0) for run in runs], axis=0)
    edges_s = GAP_LOW_S * 10 ** (np.arange(GAP_BINS + 1) / GAP_PER_DECADE)
    middle_s = np.sqrt(edges_s[:-1] * edges_s[1:])
    if not weights.any():
        return LatencySummary(*[float("nan")] * 4)
    mean = float(weights @ middle_s / weights.sum())
    return LatencySummary(mean, *(_weighted(middle_s, weights, q) for q in (0.5, 0.9, 0.99)))


def _weighted(values: FloatArray, weights: FloatArray, quantile: float) -> float:
    below = np.cumsum(weights)
    return float(values[np.searchsorted(below, quantile * below[-1])])
