"""Machines: how many there are, spares and owned ones included."""

from __future__ import annotations

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "machines"
MAXIMIZE = False


def expression(problem: Problem, variables: Variables) -> Variable:
    """Number of machines, for the solver."""
    return pulp.lpSum(variables.total(j) for j in range(len(problem.candidates)))


def value(problem: Problem, solution: Solution) -> float:
    """Number of machines."""
    return float(sum(solution.total(j) for j in range(len(problem.candidates))))
