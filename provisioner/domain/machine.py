"""Machine types: one kind of server that can be bought or rented.

Not modelled: host processors, local disks, and failure rates.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from provisioner.domain.base import Count, Name, NonNegative, Noun, Phase, Positive, Quality


class Provenance(Noun):
    """Where one figure comes from and how sure it is."""

    quality: Quality
    source: Annotated[str, Field(min_length=1)]


class StretchPoint(Provenance):
    """At this load the power cap makes a phase slower by this factor (1 = not at all)."""

    phase: Phase
    load: Annotated[Positive, Field(description="batch tokens (prompt) or requests (token)")]
    factor: Annotated[float, Field(ge=1)]


class PowerCap(Noun):
    """A capped machine names the hardware it caps and how the cap slows each phase."""

    of: Name
    stretch: Annotated[tuple[StretchPoint, ...], Field(min_length=1)]


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
    sources: dict[str, Provenance]

    @property
    def price_usd_per_hour(self) -> float:
        """Rent of one machine [USD/h]; 0 where no price list was applied."""
        return self.usd_per_hour or 0.0


class Price(Noun):
    """Rent of one machine of a hardware, with the offer it was read from."""

    hardware: Name
    usd_per_hour: Positive
    sku: str
    source: Annotated[str, Field(min_length=1)]
    date: Annotated[str, Field(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")]
    certainty: Annotated[str, Field(pattern=r"^[HML]$")]


class PriceList(Noun):
    """A named, dated list of prices in US dollars; the answer may flip with the list."""

    name: Name
    date: Annotated[str, Field(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")]
    currency: Annotated[str, Field(pattern=r"^USD$")]
    note: str = ""
    prices: Annotated[tuple[Price, ...], Field(min_length=1)]
