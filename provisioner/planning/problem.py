"""Data of one integer program, and a solution of it in plain numbers.

The guide and the bounding program are both of this shape; they differ in the coefficients of
their candidates only.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property

from provisioner.capacity.candidate import Candidate
from provisioner.capacity.demand import Demand
from provisioner.domain.base import Role
from provisioner.domain.machine import Machine
from provisioner.domain.scenario import Limits
from provisioner.domain.workload import FloatArray

TOLERANCE = 1e-6
"""Relative amount by which a plain-number check may be exceeded: the solver's own tolerance."""


@dataclass(frozen=True)
class Cut:
    """Pools and counts, as (candidate, machines), that failed and with them all that have fewer."""

    counts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Problem:
    """What may be bought, what must be served, and what is allowed.

    ``scale_demand`` makes the demand multiplier theta a decision instead of 1. ``cuts`` are
    clusters known to fail; ``most`` then is, per candidate, what a better cluster never exceeds.
    """

    demand: Demand
    candidates: tuple[Candidate, ...]
    limits: Limits = field(default_factory=Limits)
    existing: tuple[tuple[str, int], ...] = ()
    spares: tuple[tuple[Role, int], ...] = ()
    max_types_per_role: int | None = None
    scale_demand: bool = False
    cuts: tuple[Cut, ...] = ()
    most: tuple[int, ...] | None = None

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Machine types of the candidates, in order of first appearance."""
        return tuple({c.machine.name: c.machine for c in self.candidates}.values())

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles of the candidates, in order of first appearance."""
        return tuple(dict.fromkeys(c.role for c in self.candidates))

    def spares_of(self, role: Role) -> int:
        """Spare machines asked for in a role."""
        return dict(self.spares).get(role, 0)

    def of_machine(self, machine: Machine) -> list[int]:
        """Indices of the candidates of a machine type."""
        return [i for i, c in enumerate(self.candidates) if c.machine.name == machine.name]

    def of_role(self, role: Role) -> list[int]:
        """Indices of the candidates of a role."""
        return [i for i, c in enumerate(self.candidates) if c.role is role]


@dataclass(frozen=True)
class Solution:
    """A point of the program in plain numbers.

    Attributes
    ----------
    machines : tuple of int
        Working machines per candidate, spares excluded.
    spares : tuple of int
        Spare machines per candidate.
    owned : dict
        Existing machines used, by machine type.
    serve : float array, candidates x classes
        Share of each class that a candidate's pool serves in its role.
    theta : float
        Demand multiplier.
    """

    machines: tuple[int, ...]
    spares: tuple[int, ...]
    owned: dict[str, int]
    serve: FloatArray
    theta: float

    def total(self, index: int) -> int:
        """Machines of a candidate, spares included."""
        return self.machines[index] + self.spares[index]

    def scaled(self, factor: float) -> Solution:
        """The same solution where the demand that theta multiplies is ``1 / factor`` as large."""
        return dataclasses.replace(self, serve=self.serve * factor, theta=self.theta * factor)


def per_request(problem: Problem) -> Problem:
    """The problem at a demand of one request per second in all.

    Where theta is free this changes nothing but its unit, and keeps the solver's tolerances off it.
    """
    demand, total = problem.demand, problem.demand.total_rate_per_s
    workloads = tuple(
        dataclasses.replace(w, rate_per_s=w.rate_per_s / total) for w in demand.workloads
    )
    rates = demand.rate_per_s / total
    scaled = dataclasses.replace(demand, rate_per_s=rates, workloads=workloads)
    return dataclasses.replace(problem, demand=scaled)


def prompt_work(problem: Problem, solution: Solution, index: int) -> float:
    """Instance-seconds of prompt work per second in a pool."""
    candidate = problem.candidates[index]
    return float(problem.demand.rate_per_s * candidate.prompt_s @ solution.serve[index])


def token_iterations(problem: Problem, solution: Solution, index: int) -> float:
    """L: token iterations per second in a pool."""
    demand = problem.demand
    return float(demand.rate_per_s * demand.iterations @ solution.serve[index])


def kv_token_iterations(problem: Problem, solution: Solution, index: int) -> float:
    """M: KV-tokens summed over iterations, per second, in a pool."""
    demand = problem.demand
    return float(demand.rate_per_s * demand.kv_token_iterations @ solution.serve[index])


def exceeds(value: float, limit: float) -> bool:
    """Whether a value is above a limit by more than the solver's tolerance."""
    return value > limit + TOLERANCE * max(1.0, abs(limit))
