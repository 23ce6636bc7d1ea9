"""Scenarios from YAML, and dotted ``key=value`` changes to them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.domain.scenario import Scenario
from provisioner.errors import InputError, unknown_name
from provisioner.inputs import catalogue
from provisioner.inputs.hardware import SLOS
from provisioner.inputs.yaml_files import describe, load, parse, read_mapping

PROVENANCE = "provenance"
"""Key of a saved run's `inputs.yaml` that records files and versions; not part of the question."""
EXAMPLE = "example"
_SCENARIOS = "workloads/scenarios"


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

    A list of named things is addressed by name (``hardware.dgx-h100.usd_per_hour``), any list by
    position (``slo.limits.0.at_most_slowdown``).
    """
    changed = copy.deepcopy(dict(data))
    for key, value in changes.items():
        _put(changed, key.split("."), value, key)
    return changed


def _put(node: Any, path: list[str], value: Any, key: str) -> None:
    if isinstance(node, list):
        _put_in_list(node, path, value, key)
        return
    if not isinstance(node, dict):
        raise InputError(f"{key}: there is nothing below {describe(node)}")
    head, rest = path[0], path[1:]
    if not rest:
        node[head] = value
        return
    node[head] = _opened(head, node.get(head))
    _put(node[head], rest, value, key)


def _put_in_list(items: list[Any], path: list[str], value: Any, key: str) -> None:
    """Descend into a list; a name may itself contain dots, so the longest one is tried first."""
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    for length in range(len(path), 0, -1):
        name = ".".join(path[:length])
        if name in names:
            at = names.index(name)
        elif name.isdigit() and int(name) < len(items):
            at = int(name)
        else:
            continue
        if length == len(path):
            items[at] = value
        else:
            items[at] = items[at] if isinstance(items[at], dict) else {"name": items[at]}
            _put(items[at], path[length:], value, key)
        return
    raise unknown_name("name", path[0], [str(name) for name in names], key)


def _opened(head: str, value: Any) -> Any:
    """Turn a name into the record whose fields are about to change."""
    if value is None:
        return {}
    if isinstance(value, str):
        if head == "slo":
            return read_mapping(catalogue.find(SLOS, "SLO", value, head))
        return {"name": value}
    return value
