"""Scenarios from YAML, and dotted ``key=value`` changes to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from provisioner.domain.scenario import Scenario
from provisioner.errors import InputError
from provisioner.inputs import catalogue
from provisioner.inputs.changes import plain, put
from provisioner.inputs.hardware import MACHINES, SLOS
from provisioner.inputs.workloads import WORKLOADS
from provisioner.inputs.yaml_files import load, parse, read_mapping

PROVENANCE = "provenance"
"""Key of a saved run's `inputs.yaml` that records files and versions; not part of the question."""
EXAMPLE = "example"
_SCENARIOS = "workloads/scenarios"
_BY_NAME = ("existing.", "limits.available.")
"""Mappings whose keys are names, which may hold dots."""
_STORED = {"hardware": (MACHINES, "--hardware"), "workloads": (WORKLOADS, "--workload")}
"""Lists of stored records: where those are, and the flag that chooses among them."""
_LISTS = ("workloads", "hardware", "designs", "tensor_parallel")


def read_scenario_data(path: Path | None) -> dict[str, Any]:
    """Read the keys of a scenario file, or of the built-in example where ``path`` is None.

    Trace paths become relative to the working directory instead of to the file.
    """
    if path is None:
        path = catalogue.find(_SCENARIOS, "scenario", EXAMPLE)
    data = read_mapping(path)
    workloads = data.get("workloads")
    if isinstance(workloads, list):
        data["workloads"] = [_from_here(entry, path.parent) for entry in workloads]
    return data


def _from_here(entry: Any, folder: Path) -> Any:
    if isinstance(entry, dict) and isinstance(entry.get("trace"), str):
        return {**entry, "trace": str(folder / entry["trace"])}
    return entry


def parse_scenario(data: Mapping[str, Any], where: str) -> Scenario:
    """Validate the keys of a scenario; a saved run's provenance is skipped."""
    return parse(Scenario, {k: v for k, v in data.items() if k != PROVENANCE}, where)


def parse_changes(texts: list[str]) -> dict[str, Any]:
    """Read ``dotted.key=value`` texts whose values are YAML."""
    changes: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {text!r}: must be dotted.key=value")
        changes[key.strip()] = load(value, f"--set {key.strip()}")
    return changes


def apply_changes(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a scenario's keys with dotted keys changed.

    Lists are addressed as in `provisioner.inputs.changes`. What the scenario leaves to its default
    can be changed like what it states.

    Raises
    ------
    InputError
        Where a key leads nowhere.
    """
    changed: dict[str, Any] = plain(data)
    for key, value in changes.items():
        path = _path(key)
        if len(path) > 1 and changed.get(path[0]) is None:
            changed[path[0]] = _default(path[0])
        _refuse_unchosen(key, path, changed.get(path[0]))
        put(changed, path, plain(value), key, _opened)
    return changed


def _path(key: str) -> list[str]:
    path = key.split(".")
    for prefix in _BY_NAME:
        if key.startswith(prefix):
            path = [*prefix[:-1].split("."), key.removeprefix(prefix)]
    if not all(path):
        raise InputError(f"{key!r}: must be dotted keys without empty parts")
    return path


def _refuse_unchosen(key: str, path: list[str], chosen: Any) -> None:
    """Refuse to change a stored record that the scenario does not use, and say how it would."""
    if path[0] not in _STORED:
        return
    folder, flag = _STORED[path[0]]
    entries = chosen if isinstance(chosen, list) else [chosen]
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]
    unused = _named(path[1:], list(catalogue.stored(folder)))
    if unused and not _named(path[1:], names):
        used = ", ".join(str(name) for name in names)
        raise InputError(
            f"{key}: {unused} is not in {path[0]} ({used}); add it there, or with {flag}"
        )


def _named(path: list[str], names: list[Any]) -> str:
    """The longest of the names that a path begins with; names may hold dots."""
    starts = [".".join(path[:length]) for length in range(len(path), 0, -1)]
    return next((start for start in starts if start in names), "")


def _default(name: str) -> Any:
    field = Scenario.model_fields.get(name)
    if field is None or field.is_required() or isinstance(field.default, BaseModel):
        return None
    return plain(field.default)


def _opened(key: str | int, value: Any) -> Any:
    """Turn a value that is about to be changed in part into a mapping or list."""
    if key == "slo" and value is None:
        raise InputError(
            "slo: none is set; name one before changing it, or list its limits: "
            "slo=[{metric: ttft, percentile: 90, at_most_s: 0.5}]"
        )
    if key == "slo" and isinstance(value, str):
        return read_mapping(catalogue.find(SLOS, "SLO", value, "slo"))
    if key in _LISTS and value is not None and not isinstance(value, list):
        return [value]
    if isinstance(value, str) and (key == "model" or isinstance(key, int)):
        return {"name": value}
    return {} if value is None else value
