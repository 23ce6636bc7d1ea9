"""Flags to the keys of a scenario: every scenario field has one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from provisioner.errors import InputError, UsageError


def scenario_changes(flags: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario's keys with the given flags applied; None means not given."""
    given = {key: value for key, value in flags.items() if value is not None}
    data = dict(base)
    workloads = _workloads(given, base)
    if workloads is not None:
        data["workloads"] = workloads
    if "minimize" in given or "maximize" in given:
        data.pop("minimize", None)
        data.pop("maximize", None)
    for key in ("model", "growth", "slo", "prices", "minimize", "maximize", "max_types_per_role"):
        if key in given:
            data[key] = given[key]
    for key in ("scheduler", "router", "time_limit_s"):
        if key in given:
            data[key] = given[key]
    for key in ("hardware", "designs"):
        if key in given:
            data[key] = _names(given[key])
    if "tensor_parallel" in given:
        data["tensor_parallel"] = _sizes(given["tensor_parallel"])
    _nested(data, given, "limits", ("usd_per_hour", "power_w", "machines", "rack_units"))
    _nested(data, given, "simulation", ("duration_s", "warmup_s", "seeds", "arrivals"))
    _counts(data, given)
    return data


def _nested(data: dict[str, Any], given: dict[str, Any], group: str, keys: tuple[str, ...]) -> None:
    changes = {key: given[key] for key in keys if key in given}
    if changes:
        data[group] = {**(data.get(group) or {}), **changes}


def _counts(data: dict[str, Any], given: dict[str, Any]) -> None:
    if "available" in given:
        limits = data.get("limits") or {}
        data["limits"] = {**limits, "available": _pairs("--available", given["available"])}
    for key in ("existing", "spares"):
        if key in given:
            data[key] = _pairs(f"--{key}", given[key])


def _pairs(flag: str, texts: list[str]) -> dict[str, int]:
    """``NAME=COUNT`` texts, also several in one, separated by commas."""
    counts: dict[str, int] = {}
    for text in _names(",".join(texts)):
        name, equals, count = text.partition("=")
        if not equals or not count.strip().isdecimal():
            raise InputError(f"{flag}: must be NAME=COUNT, found {text!r}")
        if name.strip() in counts:
            raise InputError(f"{flag}: {name.strip()} is given twice")
        counts[name.strip()] = int(count)
    return counts


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _sizes(text: str) -> str | list[int]:
    if text == "auto":
        return text
    sizes = _names(text)
    if not sizes or not all(size.isdecimal() for size in sizes):
        raise InputError(f"--tensor-parallel: must be auto or whole numbers, found {text!r}")
    return [int(size) for size in sizes]


def _workloads(given: dict[str, Any], base: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The workloads that the flags state, or None where they state none."""
    named, trace = given.get("workload"), given.get("trace")
    if named and trace:
        raise UsageError("--trace is a workload: give it or --workload, not both")
    if named:
        entries = [_named(text) for text in named]
    elif trace:
        entries = [{"name": _trace_name(trace), "trace": trace}]
    elif {"prompt_tokens", "output_tokens"} & given.keys():
        entries = [{"name": "fixed"}]
    elif {"rate", "speedup"} & given.keys():
        stated = base.get("workloads")
        entries = [dict(x) for x in stated if isinstance(x, dict)] if stated else []
    else:
        return None
    return [_paced(entry, given, len(entries)) for entry in entries]


def _named(text: str) -> dict[str, Any]:
    name, equals, rate = text.partition("=")
    if not equals:
        return {"name": name}
    return {"name": name, "rate_per_s": _rate("--workload", rate)}


def _trace_name(path: str) -> str:
    stem = Path(path).name.split(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_") or "trace"


def _paced(entry: dict[str, Any], given: dict[str, Any], entries: int) -> dict[str, Any]:
    """An entry with the flags of a single workload applied."""
    flags = {"rate", "speedup", "prompt_tokens", "output_tokens"} & given.keys()
    if flags and entries > 1:
        names = ", ".join(f"--{flag.replace('_', '-')}" for flag in sorted(flags))
        raise UsageError(f"{names} needs a single workload; use --workload NAME=RATE for several")
    changed = dict(entry)
    if "rate" in given:
        for key in ("rate", "rate_per_s"):
            changed.pop(key, None)
        text = given["rate"]
        if text.startswith("peak"):
            changed["rate"] = text
        else:
            changed["rate_per_s"] = _rate("--rate", text)
    for key in ("speedup", "prompt_tokens", "output_tokens"):
        if key in given:
            changed[key] = given[key]
    return changed


def _rate(flag: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"{flag}: a number of requests per second is needed, found {text!r}"
        ) from None
