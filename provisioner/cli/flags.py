"""Flags to the keys of a scenario: every scenario field has one.

Values stay text here: a scenario's own validation reads them, so that a wrong one leads to the
same message whether a file, a flag or ``--set`` holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeGuard

from provisioner.errors import InputError, UsageError, unknown_name

Data = dict[str, Any]

_SCALARS = (
    "model",
    "growth",
    "prices",
    "minimize",
    "maximize",
    "max_types_per_role",
    "scheduler",
    "router",
    "time_limit_s",
)
_LISTS = ("hardware", "designs")
_COUNTS = ("existing", "spares")
_LIMITS = ("usd_per_hour", "power_w", "machines", "rack_units")
_SIMULATION = ("duration_s", "warmup_s", "seeds", "arrivals")
_LENGTHS = ("prompt_tokens", "output_tokens")
_TRACE_NAME_LENGTH = 60


def scenario_changes(flags: Data, base: Data) -> Data:
    """Return a scenario's keys with flags applied.

    Parameters
    ----------
    flags : dict
        Values by the parameter names of ``provisioner plan``; None means not given.
    base : dict
        The keys of a scenario file, not validated yet.

    Raises
    ------
    InputError
        Where a value is not even of the right form.
    UsageError
        Where flags contradict each other, or would change nothing.
    """
    given = {key: value for key, value in flags.items() if value not in (None, [])}
    data = dict(base)
    data |= _workloads(given, base)
    if "minimize" in given or "maximize" in given:
        data.pop("minimize", None)
        data.pop("maximize", None)
    data |= {key: given[key] for key in _SCALARS if key in given}
    data |= {key: _names(given[key]) for key in _LISTS if key in given}
    data |= {key: _pairs(f"--{key}", given[key]) for key in _COUNTS if key in given}
    if "tensor_parallel" in given:
        data["tensor_parallel"] = _sizes(given["tensor_parallel"])
    limits = {key: given[key] for key in _LIMITS if key in given}
    if "available" in given:
        limits["available"] = _pairs("--available", given["available"])
    _merge(data, "limits", limits)
    _merge(data, "simulation", {key: given[key] for key in _SIMULATION if key in given})
    return _with_slos(data, given.get("slo", []))


def _merge(data: Data, group: str, changes: Data) -> None:
    """Change keys of a nested mapping; one of the wrong kind is left to the validation."""
    stated = data.get(group) or {}
    if changes and isinstance(stated, dict):
        data[group] = {**stated, **changes}


def _names(texts: Iterable[str]) -> list[str]:
    """Items of a flag that may be repeated and may hold several, separated by commas."""
    return [name.strip() for text in texts for name in text.split(",")]


def _pairs(flag: str, texts: Iterable[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in _names(texts):
        name, equals, count = (part.strip() for part in text.partition("="))
        if not (name and equals and count):
            raise InputError(f"{flag}: NAME=COUNT is needed, found {text!r}")
        if name in pairs:
            raise InputError(f"{flag}: {name} is given twice")
        pairs[name] = count
    return pairs


def _sizes(texts: list[str]) -> str | list[str]:
    sizes = _names(texts)
    if sizes == ["auto"]:
        return "auto"
    if not all(size.isdecimal() for size in sizes):
        found = ",".join(texts)
        raise InputError(f"--tensor-parallel: auto or whole numbers are needed, found {found!r}")
    return sizes


def _workloads(given: Data, base: Data) -> Data:
    """The key ``workloads`` where a flag states or changes any; the pace goes to a single one."""
    entries = _stated(given, base)
    if not entries and _are_records(base.get("workloads")):
        entries = base["workloads"]
    pace = {key: given[key] for key in ("rate", "speedup", *_LENGTHS) if key in given}
    if pace and len(entries) > 1:
        names = ", ".join(f"--{flag.replace('_', '-')}" for flag in pace)
        raise UsageError(f"{names} needs a single workload; use --workload NAME=RATE for several")
    if pace.keys() & {"rate", "speedup"} and any("=" in text for text in given.get("workload", [])):
        raise UsageError("--workload NAME=RATE states the rate already; leave --rate and --speedup")
    return {"workloads": [_paced(entry, pace) for entry in entries]} if entries else {}


def _are_records(entries: Any) -> TypeGuard[list[Data]]:
    return isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)


def _stated(given: Data, base: Data) -> list[Data]:
    """Entries that flags make anew; none where they change those of the file, if any."""
    kinds = {
        "--workload": [_named(text) for text in _names(given.get("workload", []))],
        "--trace": [{"name": _trace_name(path), "trace": path} for path in given.get("trace", [])],
        "--prompt-tokens with --output-tokens": _fixed(given, base),
    }
    used = [kind for kind, entries in kinds.items() if entries]
    if len(used) > 1:
        raise UsageError(f"{' and '.join(used)} are workloads of their own: give one of them")
    return kinds[used[0]] if used else []


def _fixed(given: Data, base: Data) -> list[Data]:
    """A workload of fixed lengths, unless the file's only one is such, to be changed."""
    stated = base.get("workloads")
    if not given.keys() >= set(_LENGTHS):
        return []
    is_fixed = _are_records(stated) and len(stated) == 1 and stated[0].keys() >= set(_LENGTHS)
    return [] if is_fixed and not given.keys() & {"workload", "trace"} else [{"name": "fixed"}]


def _named(text: str) -> Data:
    name, equals, rate = (part.strip() for part in text.partition("="))
    return {"name": name, "rate_per_s": rate} if equals else {"name": name}


def _trace_name(path: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).name.split(".")[0]).strip("-_")
    return stem[:_TRACE_NAME_LENGTH] or "trace"


def _paced(entry: Data, pace: Data) -> Data:
    """An entry at another pace; a rate takes the place of the file's speed-up and vice versa."""
    changed = dict(entry)
    if "rate" in pace or "speedup" in pace:
        for key in ("rate", "rate_per_s", "speedup"):
            changed.pop(key, None)
    for key, value in pace.items():
        is_number = key == "rate" and not value.strip().startswith("peak")
        changed["rate_per_s" if is_number else key] = value
    return changed


def _with_slos(data: Data, texts: list[str]) -> Data:
    """Set the scenario's SLO (``NAME``) and those of single workloads (``WORKLOAD=NAME``)."""
    pairs = [[part.strip() for part in text.rpartition("=")] for text in _names(texts)]
    own = {workload: name for workload, equals, name in pairs if equals}
    common = [name for _, equals, name in pairs if not equals]
    if len(common) + len(own) < len(pairs) or len(common) > 1:
        raise UsageError("--slo: give one for all, or one for each workload as WORKLOAD=NAME")
    entries = data.get("workloads")
    changed = {**data, "slo": common[0]} if common else data
    if not pairs or not _are_records(entries):
        return changed
    names = [str(entry.get("name")) for entry in entries]
    for workload in own:
        if workload not in names:
            raise unknown_name("workload", workload, names, "--slo")
    entries = [
        {**entry, "slo": own[name]} if name in own else entry
        for name, entry in zip(names, entries, strict=True)
    ]
    if common and all(entry.get("slo") for entry in entries):
        raise UsageError("--slo changes nothing: every workload has its own; use WORKLOAD=NAME")
    return {**changed, "workloads": entries}
