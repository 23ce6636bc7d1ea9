"""The judge: a cluster and a trial in, a verdict out."""

from __future__ import annotations

import time

import numpy as np
from scipy.special import stdtrit

from provisioner.domain.result import MetricValue, SloVerdict
from provisioner.domain.slo import SloLimit
from provisioner.domain.verdict import LatencySummary, Verdict
from provisioner.domain.workload import FloatArray, Workload
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.pools import active_share, gap_summary, measure_pools
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import Run
from provisioner.simulation.trial import Trial, rank, run_all, values_of

_LATENCIES = ("ttft_s", "tbt_s", "e2e_s", "queue_s", "transfer_s")
_TWO_SIDED_95 = 0.975


def judge(
    trial: Trial, workloads: tuple[Workload, ...], pools: tuple[SimulatedPool, ...], rules: Rules
) -> Verdict:
    """Measure a cluster: every limit, every pool, and the latencies as a whole.

    Parameters
    ----------
    workloads : tuple of Workload
        Those that the trial was made for.
    """
    started = time.perf_counter()
    runs = [run for _, run in run_all(trial, pools, rules)]
    wall_s = time.perf_counter() - started
    values = [
        list(values_of(trial, traffic, run.records))
        for traffic, run in zip(trial.traffic, runs, strict=True)
    ]
    metrics = tuple(
        _metric(name, limit, [parts[i] for parts in values])
        for i, (name, limit) in enumerate(trial.limits)
    )
    judged = [run.records.finish_s[_judged(trial, run)] for run in runs]
    restarts = [run.records.restarts[_judged(trial, run)] for run in runs]
    from_s, until_s = trial.window_s
    return Verdict(
        slo=slo_verdict(workloads, metrics),
        pools=measure_pools(pools, runs),
        latency={name: _summary(trial, runs, name) for name in _LATENCIES}
        | {"gap_s": gap_summary(runs)},
        requests=sum(len(run.records.arrival_s) for run in runs),
        judged=sum(len(finish_s) for finish_s in judged),
        unfinished=sum(int(np.isinf(finish_s).sum()) for finish_s in judged),
        restarted=sum(int(np.count_nonzero(times)) for times in restarts),
        warmup_s=from_s,
        duration_s=until_s,
        seeds=trial.seeds,
        wall_s=wall_s,
        active_share=active_share(runs),
        borrowed={
            role: sum(run.counters[f"borrowed_{role}"] for run in runs)
            for role in ("prompt", "token")
        },
    )


def slo_verdict(workloads: tuple[Workload, ...], metrics: tuple[MetricValue, ...]) -> SloVerdict:
    """Gather measured limits under the names of their SLOs."""
    slos = {workload.slo.name: workload.slo for workload in workloads}
    references = {slo.reference for slo in slos.values() if slo.is_relative}
    return SloVerdict(
        name=", ".join(slos),
        reference=", ".join(sorted(r for r in references if r)) or None,
        source="simulated",
        metrics=metrics,
    )


def _metric(workload: str, limit: SloLimit, parts: list[FloatArray]) -> MetricValue:
    value = percentile(np.concatenate(parts), limit.quantile)
    low, high = _interval(value, [percentile(part, limit.quantile) for part in parts if len(part)])
    return MetricValue(
        workload=workload,
        metric=limit.metric,
        percentile=limit.percentile,
        unit=limit.unit,
        limit=limit.limit,
        value=value,
        low=low,
        high=high,
    )


def percentile(values: FloatArray, quantile: float) -> float:
    """Return the smallest value that this share of the values does not exceed; 0 of none."""
    if not len(values):
        return 0.0
    at = rank(quantile, len(values)) - 1
    return float(np.partition(values, at)[at])


def _interval(value: float, each: list[float]) -> tuple[float | None, float | None]:
    """95 % interval from the spread across seeds (Student's t); none for a single seed."""
    if len(each) < 2 or not np.isfinite([value, *each]).all():
        return None, None
    half = float(stdtrit(len(each) - 1, _TWO_SIDED_95) * np.std(each, ddof=1) / np.sqrt(len(each)))
    return max(value - half, 0.0), value + half


def _judged(trial: Trial, run: Run) -> slice:
    first, end = np.searchsorted(run.records.arrival_s, trial.window_s)
    return slice(int(first), int(end))


def _summary(trial: Trial, runs: list[Run], name: str) -> LatencySummary:
    values = np.concatenate(
        [np.asarray(getattr(run.records, name))[_judged(trial, run)] for run in runs]
    )
    values = values[~np.isnan(values)]
    if not len(values):
        return LatencySummary(*[float("nan")] * 4)
    return LatencySummary(float(values.mean()), *(percentile(values, q) for q in (0.5, 0.9, 0.99)))
