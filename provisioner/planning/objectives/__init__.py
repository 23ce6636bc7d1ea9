"""Objectives, one file each.

An objective is a module with ``NAME``, ``MAXIMIZE``, ``expression(problem, variables)`` for the
solver and ``value(problem, solution)``: the same in plain numbers. A ratio also names ``PER``, the
objective that it divides by; its ``expression`` is the numerator (`planning.solve` does the rest).
"""

from __future__ import annotations

from types import ModuleType

from provisioner.planning.objectives import (
    cost,
    machines,
    power,
    throughput,
    throughput_per_usd,
    throughput_per_watt,
)

OBJECTIVES: tuple[ModuleType, ...] = (
    cost,
    power,
    machines,
    throughput,
    throughput_per_usd,
    throughput_per_watt,
)
BY_NAME: dict[str, ModuleType] = {objective.NAME: objective for objective in OBJECTIVES}
