"""Ownership: existing machines are used at most once each, and only where they are used.

``owned_m <= used_m`` per machine type and ``sum_{m of h} owned_m <= existing_h`` per hardware: a
machine that is owned runs capped or not. Unused ones are neither powered nor counted.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "ownership"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per owned machine type and one per owned hardware."""
    for machine in problem.machines:
        if machine.name in variables.owned:
            used = pulp.lpSum(variables.total(j) for j in problem.of_machine(machine))
            owned = variables.owned[machine.name]
            yield f"owned_is_used__{machine.name}".replace("-", "_"), used >= owned
    for hardware, existing in problem.existing:
        members = [
            variables.owned[m.name]
            for m in problem.machines
            if m.hardware == hardware and m.name in variables.owned
        ]
        if members:
            yield f"existing__{hardware}".replace("-", "_"), pulp.lpSum(members) <= existing


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per machine type or hardware that is owned more than it is."""
    existing = dict(problem.existing)
    by_hardware: dict[str, int] = {}
    for machine in problem.machines:
        owned = solution.owned.get(machine.name, 0)
        used = sum(solution.total(j) for j in problem.of_machine(machine))
        if owned > used:
            yield f"{machine.name}: {owned} owned, {used} used"
        by_hardware[machine.hardware] = by_hardware.get(machine.hardware, 0) + owned
    for hardware, owned in by_hardware.items():
        if owned > existing.get(hardware, 0):
            yield f"{hardware}: {owned} owned machines, {existing.get(hardware, 0)} exist"
