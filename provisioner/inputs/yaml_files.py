"""YAML files to validated nouns, with errors that name the file and the key."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from provisioner.errors import InputError
from provisioner.inputs.explain import describe, explain
from provisioner.inputs.text_files import read_text

Record = TypeVar("Record", bound=BaseModel)

_MAX_BYTES = 2**20
_MERGE = "tag:yaml.org,2002:merge"
# What PyYAML lets slip, apart from its own errors: a tag on a value of another type
# (`!!int x`, `!!bool x`, `!!timestamp x`) and nesting without end.
_YAML_ERRORS = (ValueError, LookupError, AttributeError, TypeError, RecursionError)


_MOST_ALIASES = 20
"""Aliases of aliases grow like powers of their number; no file of ours needs as many."""
_SURPRISING = re.compile(r"[-+]?(0[0-9_]+|[0-9_]+(:[0-5]?[0-9])+(\.[0-9_]*)?)")
"""Numbers that YAML 1.1 reads as octal or in base 60."""


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that refuses a key given twice instead of keeping the last."""

    aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node; too many aliases are refused before anything is made of them."""
        if self.check_event(yaml.AliasEvent):
            self.aliases += 1
        if self.aliases > _MOST_ALIASES:
            raise yaml.YAMLError(f"more than {_MOST_ALIASES} aliases")
        return super().compose_node(parent, index)


def _number(loader: _UniqueKeyLoader, node: yaml.ScalarNode) -> Any:
    """Construct a number; one that YAML reads in another base than ten is refused."""
    if _SURPRISING.fullmatch(node.value):
        raise _error(f"{node.value} is no plain decimal number", node)
    is_whole = node.tag == "tag:yaml.org,2002:int"
    make = loader.construct_yaml_int if is_whole else loader.construct_yaml_float
    return make(node)


def _mapping(loader: _UniqueKeyLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    """Construct a mapping; keys merged with ``<<`` give way to the mapping's own.

    Merged mappings are constructed once and shared, where PyYAML copies their keys into every
    user, which a few lines can drive out of all bounds.
    """
    own: dict[Hashable, Any] = {}
    merged: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        if key_node.tag == _MERGE:
            for base in _bases(loader, value_node):
                merged = {**base, **merged}
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise _error("a key must be a single value", key_node)
        if key in own:
            raise _error(f"key {key!r} is given twice", key_node)
        own[key] = loader.construct_object(value_node, deep=True)
    return {**merged, **own}


def _bases(loader: _UniqueKeyLoader, node: yaml.Node) -> list[dict[Hashable, Any]]:
    value = loader.construct_object(node, deep=True)
    bases = value if isinstance(value, list) else [value]
    if not all(isinstance(base, dict) for base in bases):
        raise _error("'<<' needs a mapping or a list of them", node)
    return bases


def _error(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:int", _number)
_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:float", _number)
_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load(text: str, where: str) -> Any:
    """Parse YAML text; syntax errors and repeated keys name ``where`` and the row."""
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        row = f"row {mark.line + 1}: " if mark else ""
        raise InputError(f"{where}: {row}not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, *_YAML_ERRORS) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{where}: not valid YAML: {' '.join(str(problem).split())}") from None


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping."""
    data = load(read_text(path, _MAX_BYTES), str(path))
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
        raise InputError("\n".join(f"{where}: {it}" for it in explain(error, kind))) from None
