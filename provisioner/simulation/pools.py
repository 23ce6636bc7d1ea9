"""What a run shows of each pool: how busy, how full, and what power it drew.

An instance that failed neither works nor idles, and draws no power.
"""

from __future__ import annotations

import numpy as np

from provisioner.domain.verdict import LatencySummary, PoolMeasure
from provisioner.domain.workload import FloatArray
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.engine.state import GAP_BINS, GAP_LOW_S, GAP_PER_DECADE
from provisioner.simulation.simulate import Run


def measure_pools(pools: tuple[SimulatedPool, ...], runs: list[Run]) -> tuple[PoolMeasure, ...]:
    """Mean over the runs of every pool's utilisation, batch, KV occupancy and power."""
    parts = [[_measure(pool, run, home) for run in runs] for home, pool in enumerate(pools)]
    return tuple(PoolMeasure(*np.mean(part, axis=0).tolist()) for part in parts)


def _measure(pool: SimulatedPool, run: Run, home: int) -> tuple[float, float, float, float]:
    instances = run.state.instances
    own = instances[instances["home"] == home]
    from_s, until_s = run.window_s
    if not np.isfinite(until_s):
        finish_s = run.records.finish_s
        until_s = float(finish_s[np.isfinite(finish_s)].max(initial=from_s))
    available_s = float((np.clip(own["failed_s"], from_s, until_s) - from_s).sum())
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
