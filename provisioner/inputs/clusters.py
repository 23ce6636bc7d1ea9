"""Clusters that somebody names: on the command line, from Python, or as a saved run."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from provisioner.domain.base import LARGEST_COUNT, Role
from provisioner.domain.case import Case
from provisioner.domain.cluster import NamedCluster, NamedPool
from provisioner.domain.plan import RoutingShare
from provisioner.domain.scenario import Limits, Scenario
from provisioner.errors import InputError, unknown_name
from provisioner.inputs import hardware
from provisioner.inputs.explain import OTHER_WORDS, describe
from provisioner.inputs.tables import Row
from provisioner.inputs.text_files import read_text

INPUTS = "inputs.yaml"
"""The scenario of a saved run."""
_POOL_FILES = ("plan.csv", "pools.csv")
"""Pools of a saved plan, and of a saved simulation."""
_ROUTING = "routing.csv"
_POOL_COLUMNS = ("role", "machine", "tensor_parallel", "machines", "spares", "existing")
_ROUTING_COLUMNS = ("workload", "request_class", "role", "machine", "tensor_parallel", "share")
_SHAPE = re.compile(r"(?P<role>[^:=]*):(?P<machine>[^:=/]+)(?:/tp(?P<size>[^:=/]*))?=(?P<count>.*)")
_ROLES = tuple(role.value for role in Role)


def parse_pools(texts: Iterable[str], flag: str = "--machines") -> NamedCluster:
    """Read ``ROLE:MACHINE[/tpN]=COUNT`` texts, each one or several separated by commas.

    Raises
    ------
    InputError
        Where one has another form, or names a role, machine type or count that cannot be.
    """
    items = [item.strip() for text in texts for item in text.split(",")]
    return NamedCluster(tuple(_parsed(item, f"{flag} {item}") for item in items))


def _parsed(item: str, where: str) -> NamedPool:
    match = _SHAPE.fullmatch(item)
    if match is None:
        raise InputError(
            f"{where}: ROLE:MACHINE[/tpN]=COUNT is needed, such as prompt:dgx-h100=25 or "
            "token:dgx-a100/tp8=26"
        )
    role, machine, size, count = (
        None if part is None else part.strip() for part in match.group(*_SHAPE.groupindex)
    )
    return _named(role, machine, None if size is None else _whole(size), _whole(count), where)


def _whole(text: str | None) -> Any:
    """A whole number where a text is one; else the text, to be refused with the rest."""
    return int(text) if text and re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII) else text


def _named(role: Any, machine: Any, size: Any, count: Any, where: str) -> NamedPool:
    if role not in _ROLES:
        raise _unknown_role(role, where)
    names = hardware.machine_names()
    if machine not in names:
        raise unknown_name("machine type", machine, names, where)
    if size is not None:
        size = _number(size, f"{where}: tensor parallelism")
    return NamedPool(Role(role), machine, size, _number(count, f"{where}: machines"), where=where)


def _unknown_role(role: object, where: str) -> InputError:
    meant = OTHER_WORDS.get(str(role).lower())
    if meant not in _ROLES:
        return unknown_name("role", role, _ROLES, where)
    return InputError(
        f"{where}: unknown role {role!r}; did you mean {meant!r}? (allowed: "
        f"{', '.join(sorted(_ROLES))})"
    )


def _number(value: Any, where: str) -> int:
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not is_whole or not 0 < int(value) <= LARGEST_COUNT:
        raise InputError(f"{where}: a whole number above 0 is needed, found {describe(value)}")
    return int(value)


def pools_of(machines: object) -> NamedCluster:
    """Read ``(role, machine)`` or ``(role, machine, tensor parallelism)`` to numbers of machines.

    Raises
    ------
    InputError
        Where a key or number cannot be.
    """
    if not isinstance(machines, Mapping):
        raise InputError(
            "machines: a mapping of (role, machine) or (role, machine, tensor parallelism) to "
            f"counts is needed, found {describe(machines)}"
        )
    pools = []
    for key, count in machines.items():
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise InputError(
                "machines: a key (role, machine) or (role, machine, tensor parallelism) is needed, "
                f"found {describe(key)}"
            )
        where = f"machines {describe(key)}"
        pools.append(_named(key[0], key[1], key[2] if len(key) == 3 else None, count, where))
    return NamedCluster(tuple(pools))


def read_saved(folder: Path) -> NamedCluster:
    """Read the cluster of a saved run: its pools, and the shares of its plan.

    Raises
    ------
    InputError
        Where the folder holds no plan, or a file of it is wrong.
    """
    path = next((folder / name for name in _POOL_FILES if (folder / name).is_file()), None)
    if path is None:
        raise InputError(
            f"{folder}: no plan.csv, so there is no cluster to simulate; name one with --machines"
        )
    pools = tuple(_saved_pool(row) for row in _rows(path, _POOL_COLUMNS))
    routing = folder / _ROUTING
    shares = tuple(_share(row) for row in _rows(routing, _ROUTING_COLUMNS)) * routing.is_file()
    return NamedCluster(tuple(pool for pool in pools if pool.machines > pool.spares), shares)


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[Row]:
    """Rows of a file that has at least these columns; none where there is no file."""
    if not path.is_file():
        return
    reader = csv.DictReader(io.StringIO(read_text(path)))
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise InputError(f"{path}: column {missing[0]} is missing")
    for cells in reader:
        if None in cells or None in cells.values():
            raise InputError(f"{path}: row {reader.line_num}: another number of cells is needed")
        yield Row(path, reader.line_num, cells)


def _saved_pool(row: Row) -> NamedPool:
    where = f"{row.path}: row {row.number}"
    total, spares = row.whole("machines"), row.whole("spares", 0)
    pool = _named(
        row.text("role", _ROLES), row.text("machine"), row.whole("tensor_parallel"), total, where
    )
    existing = row.whole("existing", 0)
    if spares > total or existing > total:
        raise row.fail("machines", "no fewer than spares and existing are needed")
    return replace(pool, spares=spares, existing=existing)


def _share(row: Row) -> RoutingShare:
    return RoutingShare(
        workload=row.text("workload"),
        request_class=row.text("request_class"),
        role=Role(row.text("role", _ROLES)),
        machine=row.text("machine"),
        tensor_parallel=row.whole("tensor_parallel"),
        share=row.number_of("share"),
    )


def with_hardware(data: Mapping[str, Any], cluster: NamedCluster) -> dict[str, Any]:
    """Keys of a scenario whose ``hardware`` names all machine types of a cluster."""
    hardware_ = data.get("hardware", list(Scenario.model_fields["hardware"].default))
    entries = hardware_ if isinstance(hardware_, list) else [hardware_]
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]
    added = dict.fromkeys(p.machine for p in cluster.pools if p.machine not in names)
    return {**data, "hardware": [*entries, *added]}


def scenario_for(scenario: Scenario, cluster: NamedCluster) -> Scenario:
    """A scenario with the machine types of a cluster and no others, and nothing to be chosen.

    Raises
    ------
    InputError
        Where a phase has no machines.
    """
    _check_phases(cluster)
    stated = dict(zip(scenario.hardware_names, scenario.hardware, strict=True))
    used = dict.fromkeys(pool.machine for pool in cluster.pools)
    changes: dict[str, Any] = {
        "hardware": tuple(stated.get(name, name) for name in used),
        "tensor_parallel": "auto",
        "minimize": None,
        "maximize": None,
        "limits": Limits(),
        "spares": {},
        "max_types_per_role": None,
    }
    return scenario.model_copy(update=changes)


def _check_phases(cluster: NamedCluster) -> None:
    roles = {pool.role for pool in cluster.pools}
    if not roles:
        raise InputError("machines: none are named; at least one is needed")
    if Role.MIXED in roles or {Role.PROMPT, Role.TOKEN} <= roles:
        return
    (given,) = roles
    missing = Role.TOKEN if given is Role.PROMPT else Role.PROMPT
    raise InputError(
        f"machines: {given.value} machines but none for the {missing.value} phase; add "
        f"{missing.value} or mixed machines"
    )


def completed(case: Case, cluster: NamedCluster) -> NamedCluster:
    """The cluster with every tensor parallelism and owned machine filled in, in a fixed order.

    Raises
    ------
    InputError
        Where a tensor parallelism is not measured, or two pools are one.
    """
    owned = dict(case.scenario.existing)
    kinds = {machine.name: machine.hardware for machine in case.machines}
    order = list(Role)
    sized = [replace(pool, tensor_parallel=_size(case, pool)) for pool in cluster.pools]
    seen: dict[tuple[object, ...], NamedPool] = {}
    pools = []
    for pool in sorted(sized, key=lambda p: (order.index(p.role), p.machine, p.tensor_parallel)):
        key = (pool.role, pool.machine, pool.tensor_parallel)
        if key in seen:
            raise InputError(
                f"{pool.where}: {pool.role.value}:{pool.machine}/tp{pool.tensor_parallel} is given "
                f"twice, also by {seen[key].where}"
            )
        seen[key] = pool
        existing = pool.existing
        if existing is None:
            existing = min(owned.get(kinds[pool.machine], 0), pool.machines)
            owned[kinds[pool.machine]] = owned.get(kinds[pool.machine], 0) - existing
        pools.append(replace(pool, existing=existing))
    return replace(cluster, pools=tuple(pools))


def _size(case: Case, pool: NamedPool) -> int:
    measured = sorted(size for name, size in case.profiles if name == pool.machine)
    if pool.tensor_parallel is None:
        return measured[-1]
    if pool.tensor_parallel not in measured:
        raise InputError(
            f"{pool.where}: tensor parallelism {pool.tensor_parallel} is not measured for "
            f"{case.model.name} on {pool.machine} (measured: {', '.join(map(str, measured))})"
        )
    return pool.tensor_parallel
