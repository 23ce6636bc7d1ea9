"""The scenario: everything a planner states, as written in YAML, flags or Python.

A scenario holds names; `provisioner.inputs.resolve` turns it into machines, profiles and
workloads. Field names and meanings are a contract (DESIGN 7.1).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, Tag, model_validator

from provisioner.domain.base import (
    NAME_SHAPE,
    RECORD_SHAPE,
    Count,
    CountOrZero,
    Name,
    NonNegative,
    Noun,
    Positive,
    Role,
    by_shape,
    refuse_repeats,
)
from provisioner.domain.designs import Design
from provisioner.domain.slo import Slo
from provisioner.domain.workload import MAX_LENGTH

DEFAULT_PRICES = "aws-2026-11"

PEAK_RATE = re.compile(r"^peak_([1-9]\d{0,5})s$")


class Override(Noun):
    """A name together with the fields that differ from the stored record."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: Name


def _listed(value: Any) -> Any:
    """Accept one thing where a list of them is meant."""
    return [value] if isinstance(value, (str, dict, int, float)) else value


def _peak(value: Any) -> Any:
    if not isinstance(value, str) or not PEAK_RATE.fullmatch(value):
        raise ValueError("peak_<seconds>s is needed, such as peak_60s; a number goes to rate_per_s")
    return value


def _limits_as_slo(value: Any) -> Any:
    return {"name": "custom", "limits": value} if isinstance(value, (list, tuple)) else value


NameOrOverride = Annotated[
    Annotated[Name, Tag(NAME_SHAPE)] | Annotated[Override, Tag(RECORD_SHAPE)], by_shape
]
SloChoice = Annotated[
    Annotated[Name, Tag(NAME_SHAPE)] | Annotated[Slo, Tag(RECORD_SHAPE)],
    by_shape,
    BeforeValidator(_limits_as_slo),
]
TensorParallel = Annotated[
    Annotated[Literal["auto"], Tag(NAME_SHAPE)]
    | Annotated[
        tuple[Count, ...], Field(min_length=1), BeforeValidator(_listed), Tag(RECORD_SHAPE)
    ],
    by_shape,
]


Length = Annotated[Count, Field(le=MAX_LENGTH)]


class WorkloadEntry(Noun):
    """One stream of requests: a stored histogram, a trace, or fixed lengths."""

    name: Name
    trace: Annotated[str, Field(min_length=1)] | None = None
    prompt_tokens: Length | None = None
    output_tokens: Length | None = None
    rate_per_s: Positive | None = None
    rate: Annotated[str, BeforeValidator(_peak)] | None = None
    speedup: Positive | None = None
    slo: SloChoice | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.prompt_tokens is None) != (self.output_tokens is None):
            raise ValueError("prompt_tokens and output_tokens go together")
        if self.trace is not None and self.prompt_tokens is not None:
            raise ValueError("give a trace or fixed lengths, not both")
        if self.rate_per_s is not None and (self.rate is not None or self.speedup is not None):
            raise ValueError("give rate_per_s, or rate and speedup, not both")
        if self.prompt_tokens is not None and (self.rate is not None or self.speedup is not None):
            raise ValueError("fixed lengths have no rate of their own; give rate_per_s")
        return self


class Limits(Noun):
    """What the site or the purse allows; absent means unlimited."""

    usd_per_hour: Positive | None = None
    power_w: Positive | None = None
    machines: Count | None = None
    rack_units: Positive | None = None
    available: dict[Name, CountOrZero] = {}

    @property
    def bounds_size(self) -> bool:
        """Whether anything keeps the cluster from growing for ever."""
        scalars = (self.usd_per_hour, self.power_w, self.machines, self.rack_units)
        return any(value is not None for value in scalars) or bool(self.available)


class Simulation(Noun):
    """How a plan is judged: length of the judged run, what is cut from it, and its seeds."""

    duration_s: Positive = 120.0
    warmup_s: NonNegative = 10.0
    seeds: Count = 3
    arrivals: Literal["poisson", "replay"] = "poisson"

    @model_validator(mode="after")
    def _something_left(self) -> Self:
        if self.warmup_s >= self.duration_s:
            raise ValueError("warmup_s must be shorter than duration_s")
        return self


class Scenario(Noun):
    """A question to the planner (DESIGN 7.1). Defaults are the built-in example's.

    Raises
    ------
    pydantic.ValidationError
        Where a key is unknown or a value impossible; `provisioner.inputs` turns it into an
        `InputError` that names the file and the key.
    """

    model: NameOrOverride = "bloom-176b"
    workloads: Annotated[tuple[WorkloadEntry, ...], Field(min_length=1)]
    growth: Positive = 1.0
    slo: SloChoice | None = None
    hardware: Annotated[
        tuple[NameOrOverride, ...], Field(min_length=1), BeforeValidator(_listed)
    ] = ("dgx-a100", "dgx-h100", "dgx-h100-cap70")
    tensor_parallel: TensorParallel = "auto"
    prices: Name = DEFAULT_PRICES
    designs: Annotated[tuple[Design, ...], Field(min_length=1), BeforeValidator(_listed)] = (
        "split",
        "mixed",
    )
    minimize: Literal["cost", "power", "machines"] | None = None
    maximize: Literal["throughput", "throughput_per_usd", "throughput_per_watt"] | None = None
    limits: Limits = Limits()
    existing: dict[Name, CountOrZero] = {}
    spares: dict[Role, CountOrZero] = {}
    max_types_per_role: Count | None = None
    scheduler: Literal["auto", "colocated", "split", "mixed-pool"] = "auto"
    router: Literal["expected-finish", "shortest-queue", "plan-shares"] = "expected-finish"
    simulation: Simulation = Simulation()
    time_limit_s: Positive = 60.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.minimize and self.maximize:
            raise ValueError("give minimize or maximize, not both")
        if self.maximize and not self.limits.bounds_size:
            raise ValueError(
                f"maximize {self.maximize} has no maximum without a limit: give at least one of "
                "limits.usd_per_hour, power_w, machines, rack_units, available"
            )
        refuse_repeats("workloads", [entry.name for entry in self.workloads])
        refuse_repeats("hardware", self.hardware_names)
        refuse_repeats("designs", self.designs)
        if self.tensor_parallel != "auto":
            refuse_repeats("tensor_parallel", self.tensor_parallel)
        return self

    @property
    def objective(self) -> str:
        """Name of the objective; cost when nothing was asked."""
        return self.maximize or self.minimize or "cost"

    @property
    def hardware_names(self) -> list[str]:
        """Names of the machine types, without what is overridden."""
        return [entry if isinstance(entry, str) else entry.name for entry in self.hardware]
