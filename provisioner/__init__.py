"""Plan which machines to buy or rent for large-language-model inference.

    import provisioner as pv

    outcome = pv.plan(pv.load_scenario("scenario.yaml"))

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from provisioner.api import (
        Judgement,
        Outcome,
        SideBySide,
        compare,
        load_scenario,
        plan,
        simulate,
    )
    from provisioner.domain.failure import Failure
    from provisioner.domain.scenario import Scenario
    from provisioner.errors import InputError, ProvisionerError, UsageError

__version__ = "0.1.0"
__all__ = [
    "Failure",
    "InputError",
    "Judgement",
    "Outcome",
    "ProvisionerError",
    "Scenario",
    "SideBySide",
    "UsageError",
    "compare",
    "load_scenario",
    "plan",
    "simulate",
]

_HOMES = {
    "Judgement": "provisioner.api",
    "Outcome": "provisioner.api",
    "SideBySide": "provisioner.api",
    "compare": "provisioner.api",
    "load_scenario": "provisioner.api",
    "plan": "provisioner.api",
    "simulate": "provisioner.api",
    "Failure": "provisioner.domain.failure",
    "Scenario": "provisioner.domain.scenario",
    "InputError": "provisioner.errors",
    "ProvisionerError": "provisioner.errors",
    "UsageError": "provisioner.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'provisioner' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
