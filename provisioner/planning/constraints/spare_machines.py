"""Spare machines: a role in use has its spares, in the cheapest machine type that it uses.

Per role with S spares: ``sum_j spare_j = S`` where the role is used, ``spare_j <= S u_j``, and
``spare_j <= S (1 - u_i)`` for every candidate i of a cheaper machine type in the role; u_j is the
sum over sizes in `pool_size`. Spares are paid and powered; they do no work. Rent decides which is
cheapest, then power, then the name.

Not modelled: how long a spare takes to stand in.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.domain.machine import Machine
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "spare_machines"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield the rows of every role that asks for spares."""
    for role, wanted in problem.spares:
        members = problem.of_role(role)
        if not wanted or not members:
            continue
        spares = [variables.spare[j] for j in members]
        yield f"spares__{role.value}", pulp.lpSum(spares) <= wanted
        for j in members:
            candidate = problem.candidates[j]
            used = pulp.lpSum(variables.size[j].values())
            yield f"spares__{candidate.name}", pulp.lpSum(spares) >= wanted * used
            yield f"spare_in_use__{candidate.name}", variables.spare[j] <= wanted * used
            for i in members:
                other = problem.candidates[i].machine
                if rank(other) < rank(candidate.machine):
                    left = wanted * (1 - pulp.lpSum(variables.size[i].values()))
                    name = f"spare_is_cheapest__{candidate.name}__than__{i}"
                    yield name, variables.spare[j] <= left


def rank(machine: Machine) -> tuple[float, float, str]:
    """Order in which machine types are taken as spares."""
    return machine.price_usd_per_hour, machine.provisioned_power_w, machine.name


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per role whose spares are not as many as asked or in the wrong pool."""
    for role in problem.roles:
        members = problem.of_role(role)
        used = [j for j in members if solution.machines[j] > 0]
        wanted = problem.spares_of(role) if used else 0
        spares = sum(solution.spares[j] for j in members)
        if spares != wanted:
            yield f"{role.value} role: {spares} spares of {wanted}"
        cheapest = min((rank(problem.candidates[j].machine) for j in used), default=None)
        for j in members:
            own = rank(problem.candidates[j].machine)
            if solution.spares[j] and (j not in used or own != cheapest):
                yield f"{problem.candidates[j].name}: a spare, though not the cheapest in use"
