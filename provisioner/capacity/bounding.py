"""The bounding program's candidates: never exclude a cluster that could pass (DESIGN 4).

- Prompt work at the best packed seconds per token up to the batch limit, ``t_p(p)`` above it;
  the largest prompts that the highest TTFT or E2E percentile leaves free cost nothing.
- Machine time of a judged window plus the longest TTFT that the SLO allows.
- Token work without the largest share that the limits leave free, in machine time of the window
  plus the longest time in which the SLO wants it done; no target, only time and KV room.
- Prompt and token work of mixed machines in separate rows.

Every relaxation is of a guide's row, so no plan of the guide beats the bound either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from provisioner.capacity.candidate import Candidate, Tier, candidate_name
from provisioner.capacity.demand import Demand, classify
from provisioner.capacity.targets import Limit, Targets
from provisioner.domain.base import Role
from provisioner.domain.workload import FloatArray, IntArray, LengthHistogram
from provisioner.performance.deployment import Deployment
from provisioner.performance.prompt import BATCH_TOKENS
from provisioner.performance.token import MAX_BATCH

_ASIDE = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Shares of the longest requests that may be left aside to shorten the latest deadline."""


def bounding_candidates(
    targets: tuple[Targets, ...],
    deployments: tuple[Deployment, ...],
    roles: tuple[Role, ...],
    window_s: float,
) -> tuple[Demand, tuple[Candidate, ...]]:
    """Candidates of all deployments in these roles, loosest coefficients that are still true.

    Parameters
    ----------
    window_s : float
        Length of the judged window [s].

    Returns
    -------
    demand : Demand
        All prompts, and the token work that no passing cluster can do without.
    candidates : tuple of Candidate
    """
    chosen = [_most_urgent_tokens(target, window_s) for target in targets]
    demand = classify(
        tuple(
            dataclasses.replace(target.workload, histogram=_generating(target.lengths, part.kept))
            for target, part in zip(targets, chosen, strict=True)
        )
    )
    stretch = max(1 + part.deadline_s / window_s for part in chosen)
    candidates = tuple(
        _candidate(demand, targets, deployment, role, window_s, stretch)
        for role in roles
        for deployment in deployments
    )
    return demand, candidates


def _candidate(
    demand: Demand,
    targets: tuple[Targets, ...],
    deployment: Deployment,
    role: Role,
    window_s: float,
    stretch: float,
) -> Candidate:
    intercepts, slopes = deployment.token.segments
    return Candidate(
        name=candidate_name(role, deployment, 0, 1),
        role=role,
        deployment=deployment,
        serves=np.ones(len(demand.names), dtype=bool),  # what fits no room may be left free
        prompt_s=least_prompt_s(demand, targets, deployment, window_s),
        tiers=(Tier(1, 1.0),),
        intercepts_s=intercepts / stretch,
        slopes_s=slopes / stretch,
        context_s=deployment.token.context_s / stretch,
        target_s=np.inf,
        kv_room_tokens=deployment.kv_room_tokens,
        batch_limit=float(MAX_BATCH),
        phases_share_time=False,
    )


def least_prompt_s(
    demand: Demand, targets: tuple[Targets, ...], deployment: Deployment, window_s: float
) -> FloatArray:
    """Prompt seconds per request of each class that no passing cluster can do without.

    Work is per second of the window, in machine time that lasts until the latest deadline of any
    workload: one common factor, since the workloads share the machines.
    """
    urgent = [_most_urgent(target, deployment, window_s) for target in targets]
    factor = max(1 + part.deadline_s / window_s for part in urgent)
    means = []
    for which, cells in zip(demand.workload, demand.cells, strict=True):
        weights = targets[which].lengths.requests[cells]
        means.append(float(urgent[which].work_s[cells] @ weights / weights.sum()))
    return np.array(means) / factor


@dataclass(frozen=True)
class _Urgent:
    """Prompt seconds per request of each cell that must be done by a deadline [s]."""

    work_s: FloatArray
    deadline_s: float


def _most_urgent(target: Targets, deployment: Deployment, window_s: float) -> _Urgent:
    """The choice of limit and of prompts left aside that leaves the most work per time.

    Each choice is true by itself: of the requests outside the longest ``aside`` share, all but
    the free share of the limit finish their prompts by the longest deadline among them.
    """
    packed = _packed_s(target, deployment)
    best = _Urgent(np.zeros(len(packed)), 0.0)
    best_rate = 0.0
    for limit, deadline_s in _deadlines(target):
        for aside in _ASIDE:
            inside = _kept(target.lengths.share, deadline_s, aside) > 0
            work = packed * _kept(target.lengths.share, packed, aside + 1 - limit.quantile)
            part = _Urgent(work, float(deadline_s[inside].max(initial=0.0)))
            rate = float(target.lengths.share @ work) / (1 + part.deadline_s / window_s)
            if rate > best_rate:
                best, best_rate = part, rate
    return best


@dataclass(frozen=True)
class _UrgentTokens:
    """Share of each cell's requests whose tokens must be made by a deadline [s]."""

    kept: FloatArray
    deadline_s: float


def _most_urgent_tokens(target: Targets, window_s: float) -> _UrgentTokens:
    """The choice of limits and of requests left aside that leaves the most tokens per time."""
    lengths = target.lengths
    best = _UrgentTokens(np.zeros(len(lengths.share)), 0.0)
    best_rate = 0.0
    for free, done_s in _token_deadlines(target):
        for aside in _ASIDE:
            kept = _kept(lengths.share, done_s, aside)
            deadline_s = float(done_s[kept > 0].max(initial=0.0))
            kept = _kept(lengths.share, lengths.iterations, min(aside + free, 1.0))
            rate = float(lengths.share * kept @ lengths.iterations) / (1 + deadline_s / window_s)
            if rate > best_rate:
                best, best_rate = _UrgentTokens(kept, deadline_s), rate
    return best


def _token_deadlines(target: Targets) -> Iterator[tuple[float, FloatArray]]:
    """Shares that limits leave free, and when the others must be done, per joint cell [s]."""
    for e2e in target.e2e:
        yield 1 - e2e.quantile, e2e.value * e2e.scale_s
    cell = np.searchsorted(np.unique(target.lengths.prompt_from), target.lengths.prompt_from)
    for ttft in target.ttft:
        first_s = ttft.value * ttft.scale_s[cell]
        for tbt in target.tbt:
            generating_s = tbt.value * tbt.scale_s * target.lengths.iterations
            # A percentile of TBT is over the requests that have one, which are not more.
            yield 1 - ttft.quantile + 1 - tbt.quantile, first_s + generating_s


def _generating(lengths: LengthHistogram, kept: FloatArray) -> LengthHistogram:
    """The lengths where only a share of each cell makes more than its first token."""
    rest = 1 - kept

    def part(values: IntArray, without: IntArray) -> Any:
        return values * kept + without * rest

    return dataclasses.replace(
        lengths,
        output_sum=part(lengths.output_sum, lengths.requests),
        product_sum=part(lengths.product_sum, lengths.prompt_sum),
        output_sq_sum=part(lengths.output_sq_sum, lengths.requests),
    )


def _deadlines(target: Targets) -> Iterator[tuple[Limit, FloatArray]]:
    """Limits that bound TTFT, with the latest TTFT that each allows, per joint cell [s]."""
    cell = np.searchsorted(np.unique(target.lengths.prompt_from), target.lengths.prompt_from)
    for limit in target.ttft:
        yield limit, limit.value * limit.scale_s[cell]
    for e2e in target.e2e:
        yield e2e, e2e.value * e2e.scale_s


def _packed_s(target: Targets, deployment: Deployment) -> FloatArray:
    """Least prompt seconds of a request per cell: packed with others, or alone if too long.

    The quadratic term is each request's own, whatever it is packed with.
    """
    lengths = target.lengths
    curve = deployment.prompt
    attention = curve.quadratic_s * lengths.prompt_sq
    packed = lengths.prompt_tokens * curve.best_seconds_per_token + attention
    alone = deployment.prompt_s(lengths.prompt_tokens, lengths.prompt_sq)
    return np.where(lengths.prompt_tokens > BATCH_TOKENS, alone, packed)


def _kept(share: FloatArray, order: FloatArray, left_out: float) -> FloatArray:
    """Share of each cell's requests that stays when the largest by ``order`` are left out."""
    largest_first = np.argsort(-order, kind="stable")
    before = np.cumsum(share[largest_first]) - share[largest_first]
    taken = np.clip(left_out - before, 0.0, share[largest_first])
    kept = np.ones(len(share))
    kept[largest_first] -= taken / share[largest_first]
    return np.maximum(kept, 0.0)
