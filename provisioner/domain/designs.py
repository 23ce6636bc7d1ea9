"""Designs: the roles that the machines of a cluster may take, and of which types they may be.

The named designs are those of the Splitwise paper (ISCA 2024, table V and its baselines).
"""

from __future__ import annotations

from typing import Literal

from provisioner.domain.base import Role

Design = Literal[
    "split",
    "mixed",
    "hybrid",
    "baseline-a100",
    "baseline-h100",
    "splitwise-aa",
    "splitwise-hh",
    "splitwise-ha",
    "splitwise-hhcap",
]

_DESIGNS: dict[str, dict[Role, str | None]] = {
    "split": {Role.PROMPT: None, Role.TOKEN: None},
    "mixed": {Role.MIXED: None},
    "hybrid": {Role.PROMPT: None, Role.TOKEN: None, Role.MIXED: None},
    "baseline-a100": {Role.MIXED: "dgx-a100"},
    "baseline-h100": {Role.MIXED: "dgx-h100"},
    "splitwise-aa": {Role.PROMPT: "dgx-a100", Role.TOKEN: "dgx-a100"},
    "splitwise-hh": {Role.PROMPT: "dgx-h100", Role.TOKEN: "dgx-h100"},
    "splitwise-ha": {Role.PROMPT: "dgx-h100", Role.TOKEN: "dgx-a100"},
    "splitwise-hhcap": {Role.PROMPT: "dgx-h100", Role.TOKEN: "dgx-h100-cap70"},
}
"""Machine type by role; None stands for any."""

NAMED_DESIGNS = tuple(name for name, types in _DESIGNS.items() if any(types.values()))
"""Designs that prescribe machine types, baselines first."""


def roles_of(design: str) -> tuple[Role, ...]:
    """Roles that the machines of a design may take."""
    return tuple(_DESIGNS[design])


def types_of(design: str) -> tuple[str, ...]:
    """Machine types that a design prescribes, each once; none where it prescribes none."""
    return tuple(dict.fromkeys(name for name in _DESIGNS[design].values() if name))


def allows(design: str, role: Role, machine: str) -> bool:
    """Whether a machine type may take a role in a design."""
    types = _DESIGNS[design]
    return role in types and types[role] in (None, machine)


def machine_of(design: str, role: Role) -> str:
    """Machine type that a named design prescribes for a role."""
    machine = _DESIGNS[design][role]
    assert machine is not None, f"{design} prescribes none"
    return machine
