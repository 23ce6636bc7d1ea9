"""SLO limits resolved against a workload's lengths: what the latency estimate is checked against.

A TTFT limit is a limit on the prompt role and a TBT limit one on the token role; an E2E limit
couples them. The planner decouples it by a *TTFT budget*: the prompt role must stay within the
budget, the token role may take it for granted. Several budgets are tried, each on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from provisioner.capacity.demand import PromptLengths, prompt_lengths
from provisioner.domain.case import Case
from provisioner.domain.slo import SloLimit
from provisioner.domain.workload import FloatArray, LengthHistogram, Workload
from provisioner.metrics import BY_NAME, e2e, tbt, ttft
from provisioner.performance.deployment import Deployment, deploy

BUDGETS = (
    (0.10, 0.05),
    (0.15, 0.10),
    (0.20, 0.20),
    (0.25, 0.30),
    (0.30, 0.50),
    (0.35, 0.75),
    (0.40, 1.00),
    (0.50, 1.50),
    (0.60, 2.00),
    (0.75, 3.00),
    (1.00, 5.00),
    (1.50, 10.0),
    (2.00, 20.0),
    (3.00, 40.0),
    (5.00, 80.0),
    (10.0, 160.0),
    (20.0, 320.0),
    (50.0, 640.0),
    (1e2, 1280.0),
    (1e3, 5000.0),
    (1e4, 20000.0),
)
"""TTFT budgets tried where E2E is limited: times the shape below for slowdowns, or seconds.

They depend on nothing else, so that a tighter limit never widens a choice.
"""
_SHAPE_AT = (-np.log10(0.5), 1.0, 2.0)
_SHAPE = (2.0, 3.0, 6.0)


def budget_shape(quantile: float) -> float:
    """TTFT slowdown that a budget of 1 allows at a quantile.

    The Splitwise limits at p50, p90 and p99, between them linear in the logarithm of the share
    left over.
    """
    return float(np.interp(-np.log10(1 - quantile), _SHAPE_AT, _SHAPE))


@dataclass(frozen=True)
class Limit:
    """A share ``quantile`` of requests must have ``latency <= value * scale_s`` of their cell."""

    label: str
    quantile: float
    value: float
    scale_s: FloatArray


@dataclass(frozen=True)
class E2eLimit(Limit):
    """An E2E limit and the normaliser of its TTFT budget, per prompt cell and per joint cell."""

    relative: bool
    budget_prompt_scale_s: FloatArray
    budget_scale_s: FloatArray

    def budget(self, index: int) -> float:
        """Largest TTFT that the prompt role may use, in units of the budget's scale."""
        slowdown, seconds = BUDGETS[index]
        return slowdown * budget_shape(self.quantile) if self.relative else seconds

    def prompt_limit(self, index: int) -> Limit:
        """The budget as a limit on TTFT."""
        label = f"{self.label} (its share of TTFT)"
        return Limit(label, self.quantile, self.budget(index), self.budget_prompt_scale_s)


@dataclass(frozen=True)
class Targets:
    """One workload's limits; scales of ``ttft`` are per prompt cell, the others per joint cell."""

    workload: Workload
    prompt: PromptLengths
    ttft: tuple[Limit, ...]
    tbt: tuple[Limit, ...]
    e2e: tuple[E2eLimit, ...]

    @property
    def lengths(self) -> LengthHistogram:
        """Joint histogram of the workload."""
        return self.workload.histogram


def references_of(case: Case) -> dict[str, Deployment]:
    """Fit the reference machines that slowdowns are relative to, by name."""
    return {
        name: deploy(case.model, machine, profile)
        for name, (machine, profile) in case.references.items()
    }


def resolve_targets(case: Case) -> tuple[Targets, ...]:
    """Resolve every workload's SLO against its own lengths and reference."""
    references = references_of(case)
    return tuple(
        _targets(workload, references.get(workload.slo.reference or ""))
        for workload in case.workloads
    )


def _targets(workload: Workload, reference: Deployment | None) -> Targets:
    prompt = prompt_lengths(workload.histogram)
    by_metric: dict[str, list[SloLimit]] = {name: [] for name in BY_NAME}
    for limit in workload.slo.limits:
        by_metric[limit.metric].append(limit)
    return Targets(
        workload=workload,
        prompt=prompt,
        ttft=tuple(_limit(x, _prompt_scale(x, prompt, reference)) for x in by_metric[ttft.NAME]),
        tbt=tuple(_limit(x, _scale(x, workload.histogram, reference)) for x in by_metric[tbt.NAME]),
        e2e=tuple(_e2e_limit(x, workload, prompt, reference) for x in by_metric[e2e.NAME]),
    )


def _limit(limit: SloLimit, scale_s: FloatArray) -> Limit:
    return Limit(limit.label, limit.quantile, limit.limit, scale_s)


def _scale(limit: SloLimit, lengths: LengthHistogram, reference: Deployment | None) -> FloatArray:
    if limit.unit == "s" or reference is None:
        return np.ones(len(lengths.requests))
    alone: FloatArray = BY_NAME[limit.metric].alone_s(reference, lengths)
    return alone


def _prompt_scale(
    limit: SloLimit, prompt: PromptLengths, reference: Deployment | None
) -> FloatArray:
    if limit.unit == "s" or reference is None:
        return np.ones(len(prompt.share))
    return reference.alone_ttft_s(prompt.tokens, prompt.squared)


def _e2e_limit(
    limit: SloLimit, workload: Workload, prompt: PromptLengths, reference: Deployment | None
) -> E2eLimit:
    lengths = workload.histogram
    relative = limit.unit == "slowdown" and reference is not None
    return E2eLimit(
        label=limit.label,
        quantile=limit.quantile,
        value=limit.limit,
        scale_s=_scale(limit, lengths, reference),
        relative=relative,
        budget_prompt_scale_s=_prompt_scale(limit, prompt, reference),
        budget_scale_s=(
            ttft.alone_s(reference, lengths)
            if relative and reference is not None
            else np.ones(len(lengths.requests))
        ),
    )
