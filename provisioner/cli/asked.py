"""What a command asks: a scenario file with the command's changes, resolved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from provisioner.cli.flags import scenario_changes
from provisioner.cli.output import say
from provisioner.domain.case import Case
from provisioner.inputs import scenarios
from provisioner.inputs.resolve import changed_files, resolve
from provisioner.simulation.compilation import COMPILING, compiled


def case_of(
    path: Path | None, flags: dict[str, Any], changes: list[str]
) -> tuple[Case, tuple[str, ...]]:
    """The case, and notes on files that are others than a saved run's.

    Parameters
    ----------
    flags : dict
        Values of the flags that name fields of a scenario.
    changes : list of str
        ``KEY=VALUE`` texts.

    Raises
    ------
    InputError, UsageError
        Where any of them is wrong.
    """
    stored = scenarios.read_scenario_data(path)
    data = scenarios.apply_changes(
        scenario_changes(flags, stored), scenarios.parse_changes(changes)
    )
    case = resolve(scenarios.parse_scenario(data, _place(path, flags, changes)))
    if not compiled():
        say(COMPILING)
    return case, tuple(changed_files(stored, case.files))


def _place(path: Path | None, flags: dict[str, Any], changes: list[str]) -> str:
    """Say in an error where the scenario was read from."""
    if path is None:
        return "scenario"
    changed = bool(changes) or any(value is not None for value in flags.values())
    return f"{path}, with the command's changes" if changed else str(path)
