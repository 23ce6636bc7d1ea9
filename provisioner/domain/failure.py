"""Failures of machines: what somebody asks to see a cluster go through."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner.domain.base import Role


@dataclass(frozen=True)
class Failure:
    """Machines of one pool that are gone from one moment on, for good.

    Attributes
    ----------
    role : Role
    machine : str
        Machine type.
    time_s : float
        Since the start of the run, warm-up included [s].
    machines : int
        How many fail together.
    tensor_parallel : int, optional
        Needed only where the role has several pools of the machine type.
    """

    role: Role
    machine: str
    time_s: float
    machines: int = 1
    tensor_parallel: int | None = None

    def __str__(self) -> str:
        """Return the form of the command line."""
        size = "" if self.tensor_parallel is None else f"/tp{self.tensor_parallel}"
        return f"{self.role.value}:{self.machine}{size}={self.machines}@{self.time_s!r}"
