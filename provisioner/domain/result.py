"""The answer to a scenario: a plan with its latencies and bound, or the reasons there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from provisioner.domain.base import Phase
from provisioner.domain.plan import Plan

Status = Literal["ok", "infeasible"]


@dataclass(frozen=True)
class MetricValue:
    """One SLO limit and the value reached, in the limit's unit; ``low`` to ``high`` is 95 %."""

    workload: str
    metric: str
    percentile: float
    unit: str
    limit: float
    value: float
    low: float | None
    high: float | None

    @property
    def ok(self) -> bool:
        """Whether the value is at or below the limit."""
        return self.value <= self.limit


@dataclass(frozen=True)
class SloVerdict:
    """All limits of a scenario with their values; ``source`` says how they were obtained."""

    name: str
    reference: str | None
    source: Literal["estimated", "simulated"]
    metrics: tuple[MetricValue, ...]

    @property
    def ok(self) -> bool:
        """Whether every limit holds."""
        return all(metric.ok for metric in self.metrics)


@dataclass(frozen=True)
class Reason:
    """Why nothing is feasible: the limit to move, its value, and the smallest that would do.

    ``needed`` is None where no value of this limit helps by itself. ``alone`` is False where the
    other reasons' limits have to move as well.
    """

    limit: str
    value: float | None
    needed: float | None
    alone: bool
    sentence: str


@dataclass(frozen=True)
class Binding:
    """A limit that the plan uses (nearly) fully: where, which, and the share in use."""

    where: str
    limit: str
    used: float


@dataclass(frozen=True)
class UnitCost:
    """What one machine type makes of one phase at the SLO, alone and fully used.

    ``tokens_per_s`` counts prompt tokens in the prompt phase and output tokens in the token
    phase, per machine. Null values: the type cannot meet the SLO in this phase, see ``note``.
    """

    machine: str
    tensor_parallel: int
    phase: Phase
    tokens_per_s: float | None
    usd_per_million_tokens: float | None
    wh_per_thousand_tokens: float | None
    machines_if_alone: int | None
    note: str


@dataclass(frozen=True)
class PlanResult:
    """Everything a run found; plain data, without files or printing.

    ``bound`` is a value of the objective that no passing cluster beats; ``gap`` is the relative
    distance between it and the plan. ``proof`` tells what was simulated to get there.
    ``points`` are the rates [requests/s] at which the plan was tried, and whether it passed.
    """

    status: Status
    exit_code: int
    model: str
    objective: str
    prices: str
    scheduler: str | None
    router: str
    workloads: tuple[tuple[str, float], ...]
    plan: Plan | None = None
    slo: SloVerdict | None = None
    reasons: tuple[Reason, ...] = ()
    proof: Literal["exhaustive", "monotone", "none"] = "none"
    bound: float | None = None
    gap: float | None = None
    seeds: tuple[int, ...] = ()
    holdout_pass_fraction: float | None = None
    simulations: int = 0
    wall_s: float = 0.0
    binding: tuple[Binding, ...] = ()
    unit_costs: tuple[UnitCost, ...] = ()
    estimated: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    model_lp: str = ""
    points: tuple[tuple[float, bool], ...] = ()

    @property
    def proved(self) -> bool:
        """Whether no better plan within the limits passes."""
        return self.proof != "none"
