"""Throughput per watt provisioned [requests/s per W]."""

from __future__ import annotations

from provisioner.planning.objectives import power, throughput
from provisioner.planning.problem import Problem, Solution

NAME = "throughput_per_watt"
MAXIMIZE = True
PER = power
expression = throughput.expression


def value(problem: Problem, solution: Solution) -> float:
    """Ratio of throughput to power; infinite where something is served for nothing."""
    served, spent = throughput.value(problem, solution), power.value(problem, solution)
    if spent <= 0:
        return float("inf") if served > 0 else 0.0
    return served / spent
