"""Throughput per dollar of rent [requests/s per USD/h]."""

from __future__ import annotations

from provisioner.planning.objectives import cost, throughput
from provisioner.planning.problem import Problem, Solution

NAME = "throughput_per_usd"
MAXIMIZE = True
PER = cost
expression = throughput.expression


def value(problem: Problem, solution: Solution) -> float:
    """Ratio of throughput to cost; infinite where something is served for nothing."""
    served, spent = throughput.value(problem, solution), cost.value(problem, solution)
    if spent <= 0:
        return float("inf") if served > 0 else 0.0
    return served / spent
