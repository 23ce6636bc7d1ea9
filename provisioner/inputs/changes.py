"""Changes to nested data, by dotted keys or by nested mappings.

A list of named things is addressed by name (``hardware.dgx-h100.usd_per_hour``), latency limits by
metric and percentile (``slo.ttft.p90.at_most_slowdown``), any list by position
(``slo.limits.0.at_most_slowdown``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from provisioner.domain.slo import MetricName, percentile_label
from provisioner.errors import InputError, unknown_name
from provisioner.inputs.explain import describe

_METRICS = get_args(MetricName)
_INSTEAD: dict[str | int, str] = {
    "at_most_s": "at_most_slowdown",
    "at_most_slowdown": "at_most_s",
}
"""A limit is in one unit: naming one takes the other's place."""


def plain(data: Any) -> Any:
    """Copy nested data; tuples become lists."""
    if isinstance(data, Mapping):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(value) for value in data]
    return data


def merge(data: Any, change: Any, where: str) -> Any:
    """Copy data with a nested change: mappings are merged, anything else is replaced.

    Raises
    ------
    InputError
        Where the change is to an item that a list does not have.
    """
    if not isinstance(change, Mapping):
        return plain(change)
    if isinstance(data, list):
        items = plain(data)
        for name, value in change.items():
            at, _ = find(items, [str(name)], where)
            items[at] = merge(items[at], value, f"{where}.{name}")
        return items
    merged = plain(data) if isinstance(data, Mapping) else {}
    for key, value in change.items():
        merged[key] = merge(merged.get(key), value, f"{where}.{key}")
    return merged


def find(items: list[Any], path: list[str], where: str) -> tuple[int, int]:
    """Find (position of an item, how many parts of the path name it).

    A name may itself contain dots, so the longest one is tried first.
    """
    names = [_name(item) for item in items]
    for length in range(len(path), 0, -1):
        name = ".".join(path[:length])
        if name in names:
            return names.index(name), length
    if path[0].isdecimal() and int(path[0]) < len(items):
        return int(path[0]), 1
    allowed = [str(at if name is None else name) for at, name in enumerate(names)]
    raise unknown_name("name or position", path[0], allowed, where)


def _name(item: Any) -> Any:
    """What addresses an item of a list, beside its position."""
    if not isinstance(item, Mapping):
        return item
    if "metric" in item and "percentile" in item:
        return f"{item['metric']}.{percentile_label(item['percentile'])}"
    return item.get("name")


def put(
    node: Any, path: list[str], value: Any, where: str, opened: Callable[[str | int, Any], Any]
) -> None:
    """Set what a path leads to, in place.

    Parameters
    ----------
    node : mapping or list
    path : list of str
    value : Any
    where : str
        The dotted key, for error messages.
    opened : callable
        From (key or position, value found there) to the mapping or list to go on in.

    Raises
    ------
    InputError
        Where the path leads through a plain value, or a list has no such item.
    """
    key: str | int
    if isinstance(node, list):
        key, length = find(node, path, where)
        below = node[key]
    elif isinstance(node, dict):
        if path[0] in _METRICS and isinstance(node.get("limits"), list):
            path = ["limits", *path]
        key, length = path[0], 1
        below = node.get(key)
    else:
        raise InputError(f"{where}: there is nothing below {describe(node)}")
    if length == len(path):
        node[key] = value
        if isinstance(node, dict) and key in _INSTEAD:
            node.pop(_INSTEAD[key], None)
    else:
        node[key] = opened(key, below)
        put(node[key], path[length:], value, where, opened)
