"""Machine types: one kind of server that can be bought or rented.

Not modelled: host processors, local disks, and failure rates.
"""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from provisioner.domain.base import (
    Count,
    Name,
    NonNegative,
    Noun,
    Phase,
    Positive,
    Quality,
    refuse_repeats,
)
from provisioner.errors import unknown_name

_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")


def _date(value: Any) -> Any:
    """Accept a year, a month or a day, also as the number or date that YAML makes of it."""
    text = str(value)
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        datetime.date.fromisoformat(f"{text}-01-01"[:10])
    except ValueError:
        raise ValueError("a date such as 2026-11-09, 2026-11 or 2026 is needed") from None
    return text


Date = Annotated[str, BeforeValidator(_date)]


class Provenance(Noun):
    """Where one figure comes from and how sure it is."""

    quality: Quality
    source: Annotated[str, Field(min_length=1)]


class StretchPoint(Provenance):
    """At this load the power cap makes a phase slower by this factor (1 = not at all)."""

    phase: Phase
    load: Annotated[Positive, Field(description="batch tokens (prompt) or requests (token)")]
    factor: Annotated[Positive, Field(ge=1)]


class PowerCap(Noun):
    """A capped machine names the hardware it caps and how the cap slows each phase."""

    of: Name
    stretch: Annotated[tuple[StretchPoint, ...], Field(min_length=1)]


_FIGURES = (
    "accelerators",
    "accelerator_memory_bytes",
    "accelerator_idle_power_w",
    "accelerator_max_power_w",
    "network_bytes_per_s",
    "host_link_bytes_per_s",
    "transfer_floor_s",
    "server_idle_power_w",
    "provisioned_power_w",
    "rack_units",
)
_UNSTATED = Provenance(quality=Quality.ESTIMATED, source="not stated")


class Machine(Noun):
    """One machine type; the smallest thing one can buy or rent.

    ``hardware`` is what availability and ownership count: a capped machine and the machine it
    caps are the same hardware. ``provisioned_power_w`` is what the site must reserve.
    """

    name: Name
    hardware: Name
    accelerator: Name
    accelerators: Count
    accelerator_memory_bytes: Positive
    accelerator_idle_power_w: NonNegative
    accelerator_max_power_w: Positive
    network_bytes_per_s: Positive
    host_link_bytes_per_s: Positive = 25e9
    transfer_floor_s: NonNegative
    server_idle_power_w: NonNegative
    provisioned_power_w: Positive
    rack_units: Positive
    usd_per_hour: NonNegative | None = None
    cap: PowerCap | None = None
    sources: dict[str, Provenance] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for key in self.sources:
            if key not in _FIGURES:
                raise ValueError(str(unknown_name("figure", key, _FIGURES, "sources")))
        if self.cap is not None and self.cap.of != self.hardware:
            raise ValueError(f"cap.of is {self.cap.of!r}, must be the hardware {self.hardware!r}")
        return self

    @property
    def origins(self) -> dict[str, Provenance]:
        """Where every figure comes from; one whose source is not stated counts as estimated."""
        return {key: self.sources.get(key, _UNSTATED) for key in _FIGURES}

    @property
    def price_usd_per_hour(self) -> float:
        """Rent of one machine [USD/h]; 0 where no price list was applied."""
        return self.usd_per_hour or 0.0


class Price(Noun):
    """Rent of one machine of a hardware, with the offer it was read from."""

    hardware: Name
    usd_per_hour: Positive
    sku: str = ""
    source: Annotated[str, Field(min_length=1)]
    date: Date | None = None
    certainty: Literal["H", "M", "L"] = "M"


class PowerBudget(Noun):
    """Power that a site reserves for a machine of a type, in place of the machine's own figure."""

    machine: Name
    provisioned_power_w: Positive
    source: Annotated[str, Field(min_length=1)]


class PriceList(Noun):
    """A named, dated list of prices in US dollars; the answer may flip with the list.

    ``powers`` goes with it where a published comparison has power budgets of its own.
    """

    name: Name
    date: Date
    currency: Literal["USD"]
    note: str = ""
    prices: Annotated[tuple[Price, ...], Field(min_length=1)]
    powers: tuple[PowerBudget, ...] = ()

    @model_validator(mode="after")
    def _one_price_each(self) -> Self:
        refuse_repeats("prices", [price.hardware for price in self.prices])
        refuse_repeats("powers", [power.machine for power in self.powers])
        return self
