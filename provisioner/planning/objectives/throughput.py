"""Throughput: the demand that is served [requests/s], all workloads growing in proportion."""

from __future__ import annotations

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "throughput"
MAXIMIZE = True


def expression(problem: Problem, variables: Variables) -> Variable:
    """Requests per second, for the solver."""
    theta: Variable = variables.theta
    return pulp.lpSum([problem.demand.total_rate_per_s * theta])


def value(problem: Problem, solution: Solution) -> float:
    """Requests per second."""
    return problem.demand.total_rate_per_s * solution.theta
