"""Service-level objectives: limits on percentiles of TTFT, TBT and E2E."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from provisioner.domain.base import Name, Noun, Number, Positive

MetricName = Literal["ttft", "tbt", "e2e"]


def percentile_label(percentile: object) -> str:
    """Write a percentile with all its digits, for example ``p99.99``: rounded it is another."""
    return f"p{percentile}".removesuffix(".0")


class SloLimit(Noun):
    """One limit: a percentile of a metric is at most so many seconds, or so many times alone."""

    metric: MetricName
    percentile: Annotated[float, Number, Field(ge=1, lt=100)]  # 0.99 means 99: refused
    at_most_s: Positive | None = None
    at_most_slowdown: Positive | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.at_most_s is None) == (self.at_most_slowdown is None):
            raise ValueError("give exactly one of at_most_s and at_most_slowdown")
        return self

    @property
    def unit(self) -> Literal["s", "slowdown"]:
        """What ``limit`` counts: seconds, or multiples of the latency alone."""
        return "s" if self.at_most_s is not None else "slowdown"

    @property
    def limit(self) -> float:
        """The largest value that passes, in ``unit``."""
        return self.at_most_s if self.at_most_s is not None else self.at_most_slowdown or 0.0

    @property
    def quantile(self) -> float:
        """The percentile as a share, between 0 and 1."""
        return self.percentile / 100

    @property
    def label(self) -> str:
        """Short name for tables and reasons, for example ``ttft p99``."""
        return f"{self.metric} {percentile_label(self.percentile)}"


class Slo(Noun):
    """A named set of limits; ``reference`` is the machine that slowdowns are relative to."""

    name: Name
    limits: Annotated[tuple[SloLimit, ...], Field(min_length=1)]
    reference: Name | None = None
    source: str = ""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        seen = set()
        for limit in self.limits:
            key = (limit.metric, limit.percentile, limit.unit)
            if key in seen:
                raise ValueError(f"{limit.label} [{limit.unit}] is limited twice")
            seen.add(key)
        return self

    @property
    def is_relative(self) -> bool:
        """Whether any limit is a slowdown, so that a reference machine is needed."""
        return any(limit.unit == "slowdown" for limit in self.limits)
