"""Cost: rent of all machines that are not owned [USD/h], ``sum_m price_m (used_m - owned_m)``."""

from __future__ import annotations

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "cost"
MAXIMIZE = False


def expression(problem: Problem, variables: Variables) -> Variable:
    """Rent of the cluster, for the solver."""
    rent = pulp.lpSum(
        c.machine.price_usd_per_hour * variables.total(j) for j, c in enumerate(problem.candidates)
    )
    free = pulp.lpSum(
        m.price_usd_per_hour * variables.owned[m.name]
        for m in problem.machines
        if m.name in variables.owned
    )
    return rent - free


def value(problem: Problem, solution: Solution) -> float:
    """Rent of the cluster [USD/h]."""
    rent = 0.0
    for machine in problem.machines:
        used = sum(solution.total(j) for j in problem.of_machine(machine))
        rent += machine.price_usd_per_hour * (used - solution.owned.get(machine.name, 0))
    return rent
