"""A cluster that somebody names, to be judged as it is; and what a simulation says of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from provisioner.domain.base import Role
from provisioner.domain.failure import Failure
from provisioner.domain.plan import Pool, RoutingShare
from provisioner.domain.verdict import Verdict
from provisioner.units import SECONDS_PER_HOUR, WATTS_PER_KW


@dataclass(frozen=True)
class NamedPool:
    """Machines of one type in one role, as somebody names them.

    Attributes
    ----------
    tensor_parallel : int, optional
        The largest that is measured, where it is not given.
    machines : int
        All of them; ``spares`` of them do not work.
    existing : int, optional
        Owned ones, free of rent; None where the scenario says which machines are owned.
    where : str
        What named it, for error messages.
    """

    role: Role
    machine: str
    tensor_parallel: int | None
    machines: int
    spares: int = 0
    existing: int | None = None
    where: str = "machines"


@dataclass(frozen=True)
class NamedCluster:
    """Pools, and the shares of a plan where there is one."""

    pools: tuple[NamedPool, ...]
    routing: tuple[RoutingShare, ...] = ()


@dataclass(frozen=True)
class Simulated:
    """What was simulated, and what was measured.

    Attributes
    ----------
    pools : tuple of Pool
        With measured utilisation and power, spares idling; in the order of the verdict's.
    workloads : tuple of (str, float)
        Names and rates [requests/s].
    compatible : str, optional
        The simulator whose rules were followed instead of our own.
    estimated : tuple of str
        Results that were not measured.
    """

    model: str
    prices: str
    workloads: tuple[tuple[str, float], ...]
    scheduler: str
    router: str
    pools: tuple[Pool, ...]
    verdict: Verdict
    warnings: tuple[str, ...]
    estimated: tuple[str, ...] = ()
    compatible: str | None = None
    chunk_tokens: int | None = None
    failures: tuple[Failure, ...] = ()

    @property
    def rate_per_s(self) -> float:
        """Requests per second of all workloads."""
        return sum(rate for _, rate in self.workloads)

    @property
    def machines(self) -> int:
        """Machines in all pools, spares included."""
        return sum(pool.machines for pool in self.pools)

    @property
    def usd_per_hour(self) -> float:
        """Rent of all pools [USD/h]."""
        return sum(pool.usd_per_hour for pool in self.pools)

    @property
    def provisioned_power_w(self) -> float:
        """Power the site must reserve [W]."""
        return sum(pool.provisioned_power_w for pool in self.pools)

    @property
    def rack_units(self) -> float:
        """Rack units of all pools."""
        return sum(pool.rack_units for pool in self.pools)

    @property
    def mean_power_w(self) -> float:
        """Mean power of all pools, idle spares included [W]; NaN where not measured."""
        powers = (pool.mean_power_w for pool in self.pools)
        return sum(math.nan if power is None else power for power in powers)

    @property
    def requests_per_kwh(self) -> float:
        """Judged requests that were served per energy drawn from first to last of them."""
        verdict = self.verdict
        judged_s = len(verdict.seeds) * (verdict.duration_s - verdict.warmup_s)
        kwh = self.mean_power_w / WATTS_PER_KW * judged_s / SECONDS_PER_HOUR
        return (verdict.judged - verdict.unfinished) / kwh if kwh else math.nan
