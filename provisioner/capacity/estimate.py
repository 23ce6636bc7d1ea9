"""Latency percentiles of a finished plan by the analytic estimate of `latency`.

Every pool is taken to serve the whole mix of the workloads that it may serve, in proportion to
its share: that is what a router does that does not look at request sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from provisioner.capacity import latency, queueing
from provisioner.capacity.guide import Guide
from provisioner.capacity.latency import TokenState
from provisioner.capacity.quantile import least_value
from provisioner.capacity.targets import E2eLimit, Limit, Targets
from provisioner.capacity.usage import PoolLoad
from provisioner.domain.base import Role
from provisioner.domain.result import MetricValue
from provisioner.domain.slo import SloLimit
from provisioner.domain.workload import FloatArray


@dataclass(frozen=True)
class _Prompts:
    """A pool's part in one workload's TTFT."""

    share: float
    service: latency.Service
    wait: queueing.Wait


@dataclass(frozen=True)
class _Tokens:
    """A pool's part in one workload's TBT and E2E: mean and deviation per cell [s]."""

    role: Role
    share: float
    mean: FloatArray
    deviation: FloatArray


def estimate(guide: Guide, pools: tuple[PoolLoad, ...]) -> tuple[MetricValue, ...]:
    """Value of every SLO limit of every workload; infinite where a pool cannot keep up."""
    return tuple(
        value
        for index in range(len(guide.targets))
        for value in _workload_values(guide, pools, index)
    )


def _workload_values(guide: Guide, pools: tuple[PoolLoad, ...], index: int) -> list[MetricValue]:
    target = guide.targets[index]
    prompts = [_prompts(guide, pool, index) for pool in pools if pool.candidate.handles_prompts]
    tokens = [_tokens(guide, pool, index) for pool in pools if pool.candidate.handles_tokens]
    split = [p for p, role in prompts if role is Role.PROMPT and p.share > 0]
    mixed = [p for p, role in prompts if role is Role.MIXED and p.share > 0]
    tokens = [part for part in tokens if part.share > 0]
    every = {"ttft": iter(target.ttft), "tbt": iter(target.tbt), "e2e": iter(target.e2e)}
    values = []
    for wanted in target.workload.slo.limits:
        limit = next(every[wanted.metric])
        if wanted.metric == "ttft":
            value = _ttft(target, [*split, *mixed], limit)
        elif isinstance(limit, E2eLimit):
            value = _e2e(target, {Role.TOKEN: split, Role.MIXED: mixed}, tokens, limit)
        else:
            value = _tbt(target, tokens, limit)
        values.append(_metric(target, wanted, value))
    return values


def _metric(target: Targets, wanted: SloLimit, value: float) -> MetricValue:
    return MetricValue(
        workload=target.workload.name,
        metric=wanted.metric,
        percentile=wanted.percentile,
        unit=wanted.unit,
        limit=wanted.limit,
        value=value,
        low=None,
        high=None,
    )


def _served(guide: Guide, pool: PoolLoad) -> np.ndarray:
    """Which workloads a pool's candidate may serve."""
    serves = pool.candidate.serves
    return np.array(
        [bool(serves[guide.demand.workload == i].any()) for i in range(len(guide.targets))]
    )


def _prompts(guide: Guide, pool: PoolLoad, index: int) -> tuple[_Prompts, Role]:
    candidate, target = pool.candidate, guide.targets[index]
    batch = pool.batch(guide.demand) if candidate.role is Role.MIXED else 1.0
    served = _served(guide, pool)
    load = pool.prompt_utilization(guide.demand)
    share = pool.share_of(guide.demand, index)
    if not np.isfinite(batch) or load >= 1:
        batch, load = 1.0, 1 - 1e-9
    service = guide.service(candidate.role, candidate.deployment, served, target, batch)
    wait = queueing.wait(pool.servers, load, service.mean_s, service.mean_sq_s)
    return _Prompts(share, service, wait), candidate.role


def _tokens(guide: Guide, pool: PoolLoad, index: int) -> _Tokens:
    candidate, target = pool.candidate, guide.targets[index]
    mix = guide.mix(candidate.role, candidate.deployment, _served(guide, pool))
    batch = pool.batch(guide.demand)
    share = pool.share_of(guide.demand, index)
    transfer = None
    if candidate.role is Role.TOKEN:
        transfer = latency.added_s(candidate.deployment, target.lengths)
    state = (
        latency.token_state(candidate.deployment, mix, max(batch, 1.0))
        if np.isfinite(batch)
        else TokenState(np.inf, np.inf, np.inf, 0.0, 0.0)
    )
    mean, deviation = latency.generation(state, target.lengths, transfer)
    return _Tokens(candidate.role, share, mean, deviation)


def _ttft(target: Targets, parts: list[_Prompts], limit: Limit) -> float:
    total = sum(part.share for part in parts)

    def share(value: float) -> float:
        asked = Limit(limit.label, limit.quantile, value, limit.scale_s)
        met = (
            part.share * latency.ttft_share(part.service, target.prompt, part.wait, asked)
            for part in parts
        )
        return sum(met) / total

    return least_value(share, limit.quantile)


def _tbt(target: Targets, parts: list[_Tokens], limit: Limit) -> float:
    if not (target.lengths.iterations > 0).any():
        return 0.0
    total = sum(part.share for part in parts)

    def share(value: float) -> float:
        met = (
            part.share * latency.tbt_share(value, limit, target.lengths, part.mean, part.deviation)
            for part in parts
        )
        return sum(met) / total

    return least_value(share, limit.quantile)


def _e2e(
    target: Targets, prompts: dict[Role, list[_Prompts]], tokens: list[_Tokens], limit: E2eLimit
) -> float:
    """E2E with TTFT at the same percentile: of all prompt pools, or of the mixed pools."""
    budget = Limit(limit.label, limit.quantile, limit.value, limit.budget_prompt_scale_s)
    ttft = {role: _ttft(target, parts, budget) for role, parts in prompts.items() if parts}
    total = sum(part.share for part in tokens)

    def share(value: float) -> float:
        met = (
            part.share
            * latency.e2e_share(
                value, limit, ttft[part.role], target.lengths, part.mean, part.deviation
            )
            for part in tokens
        )
        return sum(met) / total

    return least_value(share, limit.quantile)
