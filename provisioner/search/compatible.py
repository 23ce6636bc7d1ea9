"""A named cluster by the rules of the simulator published with Splitwise, to compare with it.

Everything is as there (`provisioner.simulation.published`): every request counts, TBT divides by
all output tokens, percentiles are linear between ranks, and a limit is kept from below only.
Nothing is known of power, of how busy pools are, and of single gaps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.domain.cluster import NamedCluster, NamedPool, Simulated
from provisioner.domain.result import MetricValue
from provisioner.domain.slo import SloLimit
from provisioner.domain.verdict import LatencySummary, PoolMeasure, Verdict
from provisioner.domain.workload import FloatArray
from provisioner.errors import InputError, UsageError
from provisioner.search.judged import Traffic, offered_requests, pool_of, window_s
from provisioner.search.notes import few_notes
from provisioner.simulation.arrivals import Offered
from provisioner.simulation.judge import slo_verdict
from provisioner.simulation.pools import share_at_most
from provisioner.simulation.published import (
    PublishedMachine,
    PublishedPools,
    PublishedRecords,
    simulate_published,
)
from provisioner.simulation.published_machine import Kind
from provisioner.simulation.published_metrics import PublishedLatency, alone_s, latency_s, slowdown
from provisioner.simulation.published_profile import published_machine, transfer_s_per_token

NAME = "splitwise-sim"
ESTIMATED = ("utilization", "mean_power_w", "requests_per_kwh", "mean_batch", "kv_occupancy")
_BORROWED: tuple[Kind, ...] = ("prompt", "token")
_UNKNOWN = PoolMeasure(*[math.nan] * 4)
LEAST_OUTPUT = 2
"""Fewest output tokens that a request of that simulator may have."""


@dataclass(frozen=True)
class StrictMetricValue(MetricValue):
    """A limit that is kept from below only."""

    @property
    def ok(self) -> bool:
        """Whether the value is below the limit."""
        return self.value < self.limit


@dataclass(frozen=True)
class _Served:
    """One seed's requests and what became of them."""

    offered: Offered
    records: PublishedRecords
    raised: int


def simulate_compatible(
    case: Case, cluster: NamedCluster, traffic: Traffic = "scenario"
) -> Simulated:
    """Judge a cluster as the published simulator does.

    Parameters
    ----------
    case, cluster, traffic
        As for `provisioner.search.judged.simulate_cluster`.

    Raises
    ------
    InputError
        Where a machine holds several instances, a request is none for that simulator, or traces
        are to be replayed and a workload has none.
    UsageError
        Where the cluster is of no published design, or the scheduler another than the design's.
    """
    scheduler = _scheduler(case, cluster)
    machines, pools = machines_of(case, cluster)
    until_s = window_s(case, traffic)[1]
    offered = offered_requests(case, traffic)
    started = time.perf_counter()
    served = [_served(requests, machines, pools) for requests in offered.values()]
    wall_s = time.perf_counter() - started
    counts = [len(one.offered) for one in served]
    verdict = Verdict(
        slo=slo_verdict(case.workloads, tuple(_metrics(case, served))),
        pools=tuple(_UNKNOWN for _ in cluster.pools),
        latency=_latencies(served),
        requests=sum(counts),
        judged=sum(counts),
        restarted=0,
        unfinished=sum(int(np.isnan(one.records.finish_s).sum()) for one in served),
        warmup_s=0.0,
        duration_s=until_s,
        seeds=tuple(offered),
        wall_s=wall_s,
        active_share=_active_share(served, len(machines)),
        borrowed={
            role: sum(one.records.counters.borrowed[role] for one in served) for role in _BORROWED
        },
    )
    return Simulated(
        model=case.model.name,
        prices=case.price_list.name,
        workloads=tuple((w.name, w.rate_per_s) for w in case.workloads),
        scheduler=scheduler,
        router="shortest-queue",
        pools=tuple(
            replace(pool_of(case, pool, _UNKNOWN, 0.0), mean_power_w=None) for pool in cluster.pools
        ),
        verdict=verdict,
        warnings=tuple(dict.fromkeys(_warnings(case, served, verdict))),
        estimated=ESTIMATED,
        compatible=NAME,
    )


def _scheduler(case: Case, cluster: NamedCluster) -> str:
    roles = {pool.role for pool in cluster.pools}
    if Role.MIXED in roles and len(roles) > 1:
        raise UsageError(
            f"{NAME} has mixed machines alone, or prompt and token machines, not all in one cluster"
        )
    own = "colocated" if Role.MIXED in roles else "mixed-pool"
    if case.scenario.scheduler not in ("auto", own):
        raise UsageError(
            f"scheduler: {case.scenario.scheduler} is not what {NAME} does with these machines; "
            f"leave it, or say {own}"
        )
    return own


def machines_of(case: Case, cluster: NamedCluster) -> tuple[list[PublishedMachine], PublishedPools]:
    """The machines of a completed cluster as that simulator knows them, and their pools."""
    machines: list[PublishedMachine] = []
    places: dict[Role, tuple[int, ...]] = dict.fromkeys(Role, ())
    for pool in cluster.pools:
        working = pool.machines - pool.spares
        first = len(machines)
        machines += [_machine(case, pool)] * working
        places[pool.role] += tuple(range(first, first + working))
    return machines, PublishedPools(
        places[Role.PROMPT],
        places[Role.TOKEN],
        places[Role.MIXED],
        transfer_s_per_token(case.model),
    )


def _machine(case: Case, pool: NamedPool) -> PublishedMachine:
    machine = next(m for m in case.machines if m.name == pool.machine)
    assert pool.tensor_parallel is not None
    if pool.tensor_parallel != machine.accelerators:
        raise InputError(
            f"{pool.where}: {NAME} has one instance on a machine: tensor parallelism "
            f"{machine.accelerators} is needed, found {pool.tensor_parallel}"
        )
    return published_machine(case.model, machine, case.profiles[machine.name, pool.tensor_parallel])


def _served(offered: Offered, machines: list[PublishedMachine], pools: PublishedPools) -> _Served:
    requests = offered.requests
    outputs = np.maximum(requests.output_tokens, LEAST_OUTPUT)
    raised = int(np.count_nonzero(outputs != requests.output_tokens))
    try:
        records = simulate_published(
            requests.arrival_s, requests.prompt_tokens, outputs, machines, pools
        )
    except ValueError as error:
        raise InputError(f"{NAME}: {error}") from None
    return _Served(
        replace(offered, requests=replace(requests, output_tokens=outputs)), records, raised
    )


def _active_share(served: list[_Served], machines: int) -> tuple[float, ...]:
    """Of the time from the first arrival to the last request's end."""
    busy = [part for one in served for part in one.records.counters.active_s.items()]
    ends = [one.records.finish_s[~np.isnan(one.records.finish_s)] for one in served]
    all_s = machines * sum(float(end_s.max(initial=0.0)) for end_s in ends)
    return share_at_most([tokens for tokens, _ in busy], [time_s for _, time_s in busy], all_s)


def _metrics(case: Case, served: list[_Served]) -> Iterator[MetricValue]:
    references = {
        name: published_machine(case.model, machine, profile)
        for name, (machine, profile) in case.references.items()
    }
    seconds = _joined([latency_s(one.records) for one in served])
    workload = np.concatenate([one.offered.workload for one in served])
    prompts = np.concatenate([one.offered.requests.prompt_tokens for one in served])
    outputs = np.concatenate([one.offered.requests.output_tokens for one in served])
    for index, asked in enumerate(case.workloads):
        own = workload == index
        measured = _only(seconds, own)
        reference = references.get(asked.slo.reference or "")
        ratios = measured
        if reference is not None:
            ratios = slowdown(measured, alone_s(reference, prompts[own], outputs[own]))
        for limit in asked.slo.limits:
            yield _metric(asked.name, limit, measured if limit.unit == "s" else ratios)


def _metric(workload: str, limit: SloLimit, latency: PublishedLatency) -> MetricValue:
    values: FloatArray = getattr(latency, limit.metric)
    known = not np.isnan(values).all() if len(values) else False
    return StrictMetricValue(
        workload=workload,
        metric=limit.metric,
        percentile=limit.percentile,
        unit=limit.unit,
        limit=limit.limit,
        value=latency.percentile(limit.metric, limit.percentile) if known else math.inf,
        low=None,
        high=None,
    )


def _joined(parts: list[PublishedLatency]) -> PublishedLatency:
    return PublishedLatency(
        *(np.concatenate([getattr(p, name) for p in parts]) for name in ("ttft", "tbt", "e2e"))
    )


def _only(latency: PublishedLatency, chosen: np.ndarray) -> PublishedLatency:
    return PublishedLatency(latency.ttft[chosen], latency.tbt[chosen], latency.e2e[chosen])


def _latencies(served: list[_Served]) -> dict[str, LatencySummary]:
    """Latencies of all requests that were served."""
    seconds = _joined([latency_s(one.records) for one in served])
    queue_s = np.concatenate([r.records.prompt_start_s - r.records.arrival_s for r in served])
    unknown = np.empty(0)
    return {
        "ttft_s": _summary(seconds.ttft),
        "tbt_s": _summary(seconds.tbt),
        "e2e_s": _summary(seconds.e2e),
        "queue_s": _summary(queue_s),
        "transfer_s": _summary(unknown),
        "gap_s": _summary(unknown),
    }


def _summary(values: FloatArray) -> LatencySummary:
    values = values[~np.isnan(values)]
    if not len(values):
        return LatencySummary(*[math.nan] * 4)
    return LatencySummary(
        float(values.mean()), *(float(np.percentile(values, p)) for p in (50, 90, 99))
    )


def _warnings(case: Case, served: list[_Served], verdict: Verdict) -> Iterator[str]:
    yield from case.notes
    yield (
        f"by the rules of {NAME}, whose token time does not grow with the batch: to compare with "
        "figures made with it, and for nothing else"
    )
    raised = sum(one.raised for one in served)
    if raised:
        yield f"{raised:,} outputs of one token were made two: {NAME} fails on one"
    if verdict.unfinished:
        yield f"{verdict.unfinished:,} of {verdict.requests:,} requests never finish"
    yield from few_notes(verdict)
