"""Constraints, one file each.

A constraint is a module with ``NAME``, ``rows(problem, variables)`` for the solver and
``violations(problem, solution)``: the same rule as a plain check of a finished solution.
"""

from __future__ import annotations

from types import ModuleType

from provisioner.planning.constraints import (
    availability,
    batch_limit,
    failed_before,
    kv_room,
    machine_limit,
    money,
    network,
    one_level,
    ownership,
    pool_size,
    power_budget,
    prompt_time,
    rack_space,
    served,
    spare_machines,
    staffed,
    token_time,
    types_per_role,
)

CONSTRAINTS: tuple[ModuleType, ...] = (
    served,
    staffed,
    pool_size,
    prompt_time,
    token_time,
    kv_room,
    batch_limit,
    network,
    one_level,
    ownership,
    spare_machines,
    types_per_role,
    money,
    power_budget,
    machine_limit,
    rack_space,
    availability,
    failed_before,
)
