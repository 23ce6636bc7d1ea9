"""What pydantic found wrong, in plain sentences: the key, what is needed, what was found.

An unknown key or value comes with the nearest known one, also when it is another tool's word.
"""

from __future__ import annotations

import datetime
import difflib
import functools
import re
import reprlib
from typing import Any

from pydantic import BaseModel, ValidationError

from provisioner.domain.base import NAME_SHAPE, RECORD_SHAPE

OTHER_WORDS = {
    "aggregated": "mixed",
    "arrival_rate": "rate_per_s",
    "decode": "token",
    "disaggregated": "split",
    "input_tokens": "prompt_tokens",
    "isl": "prompt_tokens",
    "itl": "tbt",
    "osl": "output_tokens",
    "prefill": "prompt",
    "qps": "rate_per_s",
    "rps": "rate_per_s",
    "tpot": "tbt",
}
"""What others call our things (DESIGN 2), by our word."""

_NEEDED = {
    "dict_type": "a mapping of names to numbers is needed",
    "finite_number": "a finite number is needed",
    "float_parsing": "a number is needed",
    "float_type": "a number is needed",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "int_from_float": "a whole number is needed",
    "int_parsing": "a whole number is needed",
    "int_parsing_size": "a whole number of ordinary size is needed",
    "int_type": "a whole number is needed",
    "less_than": "must be below {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "model_type": "a mapping of keys is needed",
    "string_too_long": "at most {max_length} characters are needed",
    "string_too_short": "must not be empty",
    "string_unicode": "text of whole characters is needed",
    "too_short": "at least {min_length} is needed",
    "tuple_type": "a list is needed",
}
_ABOUT_KEYS = {
    "enum",
    "string_pattern_mismatch",
    "string_too_long",
    "string_type",
    "string_unicode",
}
_SHAPES = {
    "slo": "a name, a list of limits or a mapping of keys",
    "tensor_parallel": "auto, a number or a list",
}
_NAME = "a letter or digit, then letters, digits, '.', '_' and '-' are needed"
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3  # a few aliases in YAML can stand for gigabytes
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def describe(value: Any) -> str:
    """Say briefly what was found, for an error message."""
    if value is None:
        return "nothing"
    try:
        text = _SHORT.repr(value)
    except ValueError:
        return "an enormous number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(found: str, allowed: list[str]) -> str:
    """Make the hint at the nearest allowed word; empty where none is near."""
    word = found.lower()
    known = [OTHER_WORDS[word]] if OTHER_WORDS.get(word) in allowed else []
    close = known or difflib.get_close_matches(word, allowed, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def explain(error: ValidationError, kind: type[BaseModel]) -> list[str]:
    """Explain everything that is wrong with the data of a record."""
    items = error.errors(include_url=False)
    return [_explain(item, kind) for item in items if not _follows(item)]


def _follows(item: Any) -> bool:
    """Whether a list seems too short only because of its wrong items, which are listed too."""
    return item["type"] == "too_short" and bool(item["input"])


def _explain(item: Any, kind: type[BaseModel]) -> str:
    *path, last = item["loc"] or [""]
    keys = [str(part) for part in path if part not in {NAME_SHAPE, RECORD_SHAPE}]
    if last == "[key]" and item["type"] in _ABOUT_KEYS:
        return _unknown_entry(keys, item)
    if item["type"] == "extra_forbidden" or last not in {"", NAME_SHAPE, RECORD_SHAPE}:
        keys.append(str(last))
    key = ".".join(keys)
    if item["type"] == "extra_forbidden":
        return _unknown("key", repr(key), keys[-1], fields_at(kind, path))
    if item["type"] == "missing":
        return f"{key} is missing"
    if item["type"] == "invalid_key":
        return f"{key}: keys must be text; put quotes around this one"
    if item["type"] in {"literal_error", "enum"}:
        return _unknown("value", describe(item["input"]), str(item["input"]), _allowed(item), key)
    found = "" if isinstance(item["input"], dict) else f", found {describe(item['input'])}"
    return f"{key}: {_needed(item)}{found}" if key else _needed(item)


def _needed(item: Any) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_pattern_mismatch":
        return _NAME
    if kind == "string_type":
        quoted = isinstance(item["input"], (bool, int, float, datetime.date))
        return "text is needed" + ("; put quotes around it" if quoted else "")
    if item["loc"][-1:] == (RECORD_SHAPE,) and kind in {"model_type", "tuple_type"}:
        return f"{_SHAPES.get(item['loc'][-2], 'a name or a mapping of keys')} is needed"
    return _NEEDED[kind].format(**context) if kind in _NEEDED else str(item["msg"])


def _unknown_entry(keys: list[str], item: Any) -> str:
    """Explain a wrong key of a mapping from names to values."""
    key = ".".join(keys)
    if item["type"] == "enum":
        return _unknown("key", repr(key), keys[-1], _allowed(item))
    return f"{key}: {_needed(item)}"


def _allowed(item: Any) -> list[str]:
    return re.findall(r"'([^']*)'", item["ctx"]["expected"])


def _unknown(what: str, shown: str, found: str, allowed: list[str], key: str = "") -> str:
    place = f"{key}: " if key else ""
    names = f" (allowed: {', '.join(allowed)})" if allowed else ""
    return f"{place}unknown {what} {shown}{nearest(found, allowed)}{names}"


def fields_at(kind: type[BaseModel], path: list[Any]) -> list[str]:
    """Names of the fields of the record that an error's path leads to, as far as known."""
    schema = _schema(kind)
    node: Any = schema
    for part in [None, *path]:
        node = _step(node, part, schema)
        if node is None:
            return []
    return list(node.get("properties", {}))


@functools.cache
def _schema(kind: type[BaseModel]) -> dict[str, Any]:
    return kind.model_json_schema()


def _step(node: Any, part: Any, schema: dict[str, Any]) -> Any:
    if isinstance(part, int):
        node = node.get("items")
    elif part is not None and part not in {NAME_SHAPE, RECORD_SHAPE}:
        node = node.get("properties", {}).get(part) or node.get("additionalProperties")
    return _dereference(node, schema)


def _dereference(node: Any, schema: dict[str, Any]) -> Any:
    if not isinstance(node, dict):
        return None
    if "$ref" in node:
        return _dereference(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], schema)
    for choice in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        found = _dereference(choice, schema)
        if found and ("properties" in found or "items" in found):
            return found
    return node
