"""YAML files to validated nouns, with errors that name the file and the key."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from provisioner.errors import InputError

Record = TypeVar("Record", bound=BaseModel)

_MAX_BYTES = 16 * 2**20


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that refuses a key given twice instead of keeping the last."""


def _mapping(loader: _UniqueKeyLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, Hashable) and key in seen:
            line = key_node.start_mark.line + 1
            raise yaml.constructor.ConstructorError(
                None, None, f"key {key!r} is given twice (line {line})", None
            )
        seen.add(key)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_text(path: Path) -> str:
    """Read a text file; a missing, unreadable or undecodable one is an `InputError`."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path}: larger than 16 MiB, which no such file is")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: cannot be read: {reason}") from None


def load(text: str, where: str) -> Any:
    """Parse YAML text; syntax errors and repeated keys name ``where`` and the line."""
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a subclass of SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from None


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping."""
    data = load(read_text(path), str(path))
    if not isinstance(data, dict):
        raise InputError(f"{path}: a mapping of keys is needed, found {describe(data)}")
    return data


def read_record(path: Path, kind: type[Record]) -> Record:
    """Read a YAML file as a validated record whose name is the file's."""
    record = parse(kind, read_mapping(path), str(path))
    name = getattr(record, "name", path.stem)
    if name != path.stem:
        raise InputError(f"{path}: name is {name!r}, must be {path.stem!r} as the file")
    return record


def parse(kind: type[Record], data: Mapping[str, Any], where: str) -> Record:
    """Validate data as a record.

    Raises
    ------
    InputError
        One message with every wrong key: where, what was found, what is allowed, and for an
        unknown key the nearest one.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        problems = [_explain(item, kind) for item in error.errors(include_url=False)]
        raise InputError("\n".join(f"{where}: {problem}" for problem in problems)) from None


def describe(value: Any) -> str:
    """Say briefly what was found, for an error message."""
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _explain(item: Any, kind: type[BaseModel]) -> str:
    keys = [str(part) for part in item["loc"] if not str(part).startswith("<")]
    key = ".".join(keys)
    if item["type"] == "extra_forbidden":
        allowed = _fields_at(kind, [part for part in item["loc"][:-1]])
        nearest = difflib.get_close_matches(keys[-1], allowed, n=1, cutoff=0.5)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        names = f" (allowed: {', '.join(allowed)})" if allowed else ""
        return f"unknown key {key!r}{hint}{names}"
    if item["type"] == "missing":
        return f"{key} is missing"
    message = item["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if not key:
        return message
    return f"{key}: {message}, found {describe(item.get('input'))}"


def _fields_at(kind: type[BaseModel], loc: list[Any]) -> list[str]:
    """Names of the fields of the record that an error location leads to, as far as known."""
    schema = kind.model_json_schema()
    node: Any = schema
    for part in [None, *loc]:
        node = _step(node, part, schema)
        if node is None:
            return []
    return list(node.get("properties", {}))


def _step(node: Any, part: Any, schema: dict[str, Any]) -> Any:
    if isinstance(part, str) and not part.startswith("<"):
        node = node.get("properties", {}).get(part) or node.get("additionalProperties")
    elif isinstance(part, int):
        node = node.get("items")
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
