"""The limits of a problem one by one: how much of each is used, and problems without one.

This is what explains an infeasible problem: the least use of a limit once it is dropped is the
smallest value that would do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import pulp

from provisioner.domain.machine import Machine
from provisioner.planning.objective import Objective
from provisioner.planning.objectives import cost, machines, power
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables


@dataclass(frozen=True)
class Weighted:
    """A weighted count of machines, spares and existing ones included.

    ``weights`` is per candidate; this is the shape of every limit but money.
    """

    NAME: str
    weights: tuple[float, ...]
    MAXIMIZE: bool = False

    def expression(self, problem: Problem, variables: Variables) -> Variable:
        """Weighted count for the solver."""
        return pulp.lpSum(
            weight * variables.total(j) for j, weight in enumerate(self.weights) if weight
        )

    def value(self, problem: Problem, solution: Solution) -> float:
        """Weighted count in plain numbers."""
        return sum(weight * solution.total(j) for j, weight in enumerate(self.weights))


@dataclass(frozen=True)
class Total:
    """Sum of the uses of several limits, each relative to its value."""

    parts: tuple[Limit, ...]
    NAME: str = "total"
    MAXIMIZE: bool = False

    def expression(self, problem: Problem, variables: Variables) -> Variable:
        """Sum for the solver."""
        return pulp.lpSum(
            part.use.expression(problem, variables) * (1 / max(part.value, 1.0))
            for part in self.parts
        )

    def value(self, problem: Problem, solution: Solution) -> float:
        """Sum in plain numbers."""
        return sum(part.used(problem, solution) / max(part.value, 1.0) for part in self.parts)


@dataclass(frozen=True)
class Limit:
    """One limit of a problem: its key in a scenario, its value, and what it counts."""

    key: str
    value: float
    unit: str
    use: Objective

    def used(self, problem: Problem, solution: Solution) -> float:
        """How much of it a solution uses, in its unit."""
        return self.use.value(problem, solution)

    def dropped(self, problem: Problem) -> Problem:
        """The problem without this limit."""
        limits = problem.limits
        field, _, hardware = self.key.partition(".")
        if hardware:
            left = {name: n for name, n in limits.available.items() if name != hardware}
            changed = limits.model_copy(update={"available": left})
        else:
            changed = limits.model_copy(update={field: None})
        return dataclasses.replace(problem, limits=changed)


def rack_units(problem: Problem) -> Weighted:
    """Rack units of the cluster."""
    return _weighted(problem, "rack_units", lambda machine: machine.rack_units)


def hardware_count(problem: Problem, hardware: str) -> Weighted:
    """Machines of one hardware, capped or not."""
    return _weighted(problem, hardware, lambda machine: float(machine.hardware == hardware))


def _weighted(problem: Problem, name: str, weight: Callable[[Machine], float]) -> Weighted:
    return Weighted(name, tuple(weight(c.machine) for c in problem.candidates))


def limits_of(problem: Problem) -> list[Limit]:
    """Every limit that a problem sets."""
    limits = problem.limits
    scalars: list[tuple[str, float | None, str, Objective]] = [
        ("usd_per_hour", limits.usd_per_hour, "USD/h", cost),
        ("power_w", limits.power_w, "W", power),
        ("machines", limits.machines, "machines", machines),
        ("rack_units", limits.rack_units, "rack units", rack_units(problem)),
    ]
    found = [Limit(key, value, unit, use) for key, value, unit, use in scalars if value is not None]
    for hardware, available in limits.available.items():
        use = hardware_count(problem, hardware)
        found.append(Limit(f"available.{hardware}", available, "machines", use))
    return found
