"""A plan: how many machines of which type in which role, and which requests they serve."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner.domain.base import Role


@dataclass(frozen=True)
class Pool:
    """All machines of one deployment in one role.

    ``machines`` includes ``spares`` (paid and powered, not counted on for work) and ``existing``
    (already owned, free of rent). ``usd_per_hour`` is the rent of the others.
    ``utilization`` is the share of time its working machines are busy; ``mean_power_w`` is drawn by
    all of them, idle spares included.
    """

    role: Role
    machine: str
    hardware: str
    tensor_parallel: int
    instances_per_machine: int
    machines: int
    spares: int
    existing: int
    utilization: float
    usd_per_hour: float
    provisioned_power_w: float
    rack_units: float
    mean_power_w: float | None = None

    @property
    def label(self) -> str:
        """Short name for tables, for example ``prompt dgx-h100/tp8``."""
        return f"{self.role.value} {self.machine}/tp{self.tensor_parallel}"


@dataclass(frozen=True)
class RoutingShare:
    """Share of one request class that one pool serves; a class's prompt shares add up to 1."""

    workload: str
    request_class: str
    role: Role
    machine: str
    tensor_parallel: int
    share: float


@dataclass(frozen=True)
class Plan:
    """Pools and routing of one design; ``rate_per_s`` is the demand it serves."""

    design: str
    rate_per_s: float
    pools: tuple[Pool, ...]
    routing: tuple[RoutingShare, ...]

    @property
    def machines(self) -> int:
        """Machines in all pools, spares and existing ones included."""
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
    def mean_power_w(self) -> float | None:
        """Mean power of all pools [W]; None where it is not measured."""
        powers = [pool.mean_power_w for pool in self.pools]
        return None if None in powers else sum(power or 0.0 for power in powers)
