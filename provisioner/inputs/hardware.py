"""Machine types, models, price lists, SLOs and measured profiles from their files."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from provisioner.domain.base import Phase, Quality
from provisioner.domain.machine import Machine, PowerBudget, PriceList, Provenance
from provisioner.domain.model import Model
from provisioner.domain.profile import PowerPoint, Profile, PromptPoint, TokenPoint
from provisioner.domain.scenario import Override
from provisioner.domain.slo import Slo
from provisioner.errors import InputError
from provisioner.inputs import catalogue
from provisioner.inputs.changes import merge
from provisioner.inputs.tables import Row, read_rows
from provisioner.inputs.yaml_files import parse, read_mapping, read_record

MACHINES = "hardware_profiles/machines"
MODELS = "hardware_profiles/models"
PRICES = "hardware_profiles/prices"
SLOS = "workloads/slos"
_POINTS = "hardware_profiles/points"
_POWER = "hardware_profiles/power"

POINT_COLUMNS = (
    "phase",
    "tensor_parallel",
    "prompt_tokens",
    "batch",
    "output_tokens",
    "time_s",
    "quality",
    "source",
)
OPTIONAL_POINT_COLUMNS = ("generated_tokens", "runs", "repeats_s", "dropped")
POWER_COLUMNS = ("model", "tensor_parallel", "phase", "load", "power_w", "quality", "source")
_ANY = "any"
MachineOrModel = TypeVar("MachineOrModel", Machine, Model)


def machine_names() -> list[str]:
    """Names of all stored machine types."""
    return list(catalogue.stored(MACHINES))


def model_names() -> list[str]:
    """Names of all stored models."""
    return list(catalogue.stored(MODELS))


def price_list_names() -> list[str]:
    """Names of all stored price lists."""
    return list(catalogue.stored(PRICES))


def read_machine(entry: str | Override, where: str = "") -> Machine:
    """Read a machine type by name, with the fields that the entry overrides."""
    return _read(MACHINES, "machine type", entry, Machine, where)


def place_of(entry: str | Override, key: str) -> str:
    """Where a figure of a machine type is stated: the scenario's key, or the file and its key."""
    if isinstance(entry, Override) and key in (entry.model_extra or {}):
        return f"hardware.{entry.name}.{key}"
    name = entry if isinstance(entry, str) else entry.name
    return f"{catalogue.find(MACHINES, 'machine type', name)}: {key}"


def read_model(entry: str | Override, where: str = "") -> Model:
    """Read a model by name, with the fields that the entry overrides."""
    return _read(MODELS, "model", entry, Model, where)


def read_price_list(name: str, where: str = "") -> PriceList:
    """Read a named, dated price list."""
    return read_record(catalogue.find(PRICES, "price list", name, where), PriceList)


def read_slo(name: str, where: str = "") -> Slo:
    """Read a named set of limits."""
    return read_record(catalogue.find(SLOS, "SLO", name, where), Slo)


def _read(
    folder: str, kind: str, entry: str | Override, record: type[MachineOrModel], where: str
) -> MachineOrModel:
    name = entry if isinstance(entry, str) else entry.name
    path = catalogue.find(folder, kind, name, where)
    stored = read_record(path, record)
    changes: dict[str, Any] = {} if isinstance(entry, str) else (entry.model_extra or {})
    if changes:
        where = f"{where}.{name}".lstrip(".")
        stored = parse(record, merge(read_mapping(path), changes, where), where)
    _refuse_wrong_units(stored, where if changes else str(path))
    return stored


_UNITS = {
    "accelerator_memory_bytes": (1e9, math.inf, "bytes"),
    "network_bytes_per_s": (1e8, math.inf, "bytes per second"),
    "host_link_bytes_per_s": (1e8, math.inf, "bytes per second"),
    "transfer_floor_s": (0.0, 10.0, "seconds"),
    "weight_bytes": (1e7, math.inf, "bytes"),
    "bytes_per_value": (0.0, 8.0, "bytes, not bits"),
}
"""Ranges outside of which a figure must have been written in another unit."""
_LONGEST_TOKEN_S = 10.0
_SHORTEST_S = 1e-4


def _refuse_wrong_units(record: Machine | Model, where: str) -> None:
    for key, (low, high, unit) in _UNITS.items():
        value = getattr(record, key, low)
        if not low <= value <= high:
            raise InputError(f"{where}: {key}: {value:g} cannot be {unit}; check the unit")
    if isinstance(record, Machine):
        idle = record.server_idle_power_w + record.accelerators * record.accelerator_idle_power_w
        if record.provisioned_power_w < idle:
            raise InputError(
                f"{where}: provisioned_power_w: {record.provisioned_power_w:g} W is less than the "
                f"machine draws when idle ({idle:g} W); check the unit"
            )


def price_machines(machines: tuple[Machine, ...], prices: PriceList) -> tuple[Machine, ...]:
    """Fill in the rent of every machine that does not state its own.

    Raises
    ------
    InputError
        Where the list has no price for a machine's hardware.
    """
    rents = {price.hardware: price.usd_per_hour for price in prices.prices}
    missing = [m.name for m in machines if m.usd_per_hour is None and m.hardware not in rents]
    if missing:
        raise InputError(
            f"price list {prices.name!r} has no price for {', '.join(missing)} (it has "
            f"{', '.join(sorted(rents))}); choose another with prices, or state "
            f"hardware.{missing[0]}.usd_per_hour"
        )
    return tuple(
        m
        if m.usd_per_hour is not None
        else m.model_copy(update={"usd_per_hour": rents[m.hardware]})
        for m in machines
    )


def with_budgets(
    machines: tuple[Machine, ...], prices: PriceList, entries: Iterable[str | Override]
) -> tuple[Machine, ...]:
    """Machine types with a price list's power budgets, where entries do not state their power."""
    stated = {
        entry.name
        for entry in entries
        if isinstance(entry, Override) and "provisioned_power_w" in (entry.model_extra or {})
    }
    budgets = {power.machine: power for power in prices.powers if power.machine not in stated}
    return tuple(_budgeted(m, budgets[m.name]) if m.name in budgets else m for m in machines)


def _budgeted(machine: Machine, power: PowerBudget) -> Machine:
    origin = Provenance(quality=Quality.PUBLISHED, source=power.source)
    changes = {
        "provisioned_power_w": power.provisioned_power_w,
        "sources": {**machine.sources, "provisioned_power_w": origin},
    }
    return machine.model_copy(update=changes)


def profile_paths(model: str, accelerator: str) -> tuple[Path, Path] | None:
    """Files of measured points and of power for a model on an accelerator, if both exist."""
    points = catalogue.stored(f"{_POINTS}/{model}", "*.csv").get(accelerator)
    power = catalogue.stored(_POWER, "*.csv").get(accelerator)
    return (points, power) if points and power else None


def profiled_accelerators(model: str) -> list[str]:
    """Accelerators on which a model has measured points."""
    return list(catalogue.stored(f"{_POINTS}/{model}", "*.csv"))


def read_profiles(model: str, accelerator: str, where: str = "") -> dict[int, Profile]:
    """Read the profiles of a model on an accelerator, one per measured tensor parallelism.

    ``where`` is the key that asks for them, for error messages.

    Raises
    ------
    InputError
        Where there is no profile, or a file is wrong.
    """
    paths = profile_paths(model, accelerator)
    if paths is None:
        lacking = "power" if accelerator in profiled_accelerators(model) else "measured points"
        place = f"{where}: " if where else ""
        raise InputError(
            f"{place}no {lacking} of {model} on {accelerator} (measured: "
            f"{', '.join(profiled_accelerators(model)) or 'none'})"
        )
    rows = list(read_rows(paths[0], POINT_COLUMNS, OPTIONAL_POINT_COLUMNS))
    _refuse_repeated_cells(rows)
    power_rows = list(read_rows(paths[1], POWER_COLUMNS))
    sizes = sorted({row.whole("tensor_parallel") for row in rows})
    return {
        size: _profile(
            model, accelerator, size, [r for r in rows if _has_size(r, size)], power_rows
        )
        for size in sizes
    }


def _has_size(row: Row, size: int) -> bool:
    return row.whole("tensor_parallel") == size


def _profile(
    model: str, accelerator: str, size: int, rows: list[Row], power_rows: list[Row]
) -> Profile:
    used = [row for row in rows if not row.cells["dropped"].strip()]
    for row in used:
        for column in ("generated_tokens", "runs"):  # numbers, also where nothing needs them
            row.whole_or_none(column)
    prompt = tuple(_prompt_point(row) for row in used if _phase(row) is Phase.PROMPT)
    token = tuple(_token_point(row) for row in used if _phase(row) is Phase.TOKEN)
    if not prompt or not token:
        raise InputError(
            f"{rows[0].path}: tensor_parallel {size} needs points of both phases, prompt and token"
        )
    return Profile(
        model=model,
        accelerator=accelerator,
        tensor_parallel=size,
        prompt=prompt,
        token=token,
        prompt_power=_power_points(power_rows, model, size, Phase.PROMPT),
        token_power=_power_points(power_rows, model, size, Phase.TOKEN),
        dropped=tuple(_dropped(row) for row in rows if row.cells["dropped"].strip()),
    )


def _refuse_repeated_cells(rows: list[Row]) -> None:
    seen: dict[tuple[object, ...], int] = {}
    for row in rows:
        keys = ("tensor_parallel", "prompt_tokens", "batch", "output_tokens")
        cell = (row.cells["phase"].strip(), *map(row.whole_or_none, keys))
        if cell in seen:
            raise InputError(f"{row.path}: row {row.number}: the cell of row {seen[cell]} again")
        seen[cell] = row.number


def _phase(row: Row) -> Phase:
    return Phase(row.text("phase", tuple(Phase)))


def _quality(row: Row) -> Quality:
    return Quality(row.text("quality", tuple(Quality)))


def _time_s(row: Row) -> float:
    """Measured time, in seconds by its size."""
    time_s = row.positive("time_s")
    if time_s < _SHORTEST_S:
        raise row.fail("time_s", f"seconds, of at least {_SHORTEST_S:g}, are needed")
    return time_s


def _repeats(row: Row) -> tuple[float, ...]:
    """Single runs of a cell, whose number and median must be what the row says."""
    if not row.cells["repeats_s"].strip():
        return (row.positive("time_s"),)
    texts = row.cells["repeats_s"].split(";")
    repeats = tuple(
        Row(row.path, row.number, {"repeats_s": text}).positive("repeats_s") for text in texts
    )
    if len(repeats) != row.whole("runs"):
        raise row.fail("runs", f"repeats_s has {len(repeats)} values")
    if not math.isclose(statistics.median(repeats), row.positive("time_s"), rel_tol=1e-4):
        raise row.fail("time_s", f"the median of repeats_s is {statistics.median(repeats):g}")
    return repeats


def _prompt_point(row: Row) -> PromptPoint:
    return PromptPoint(
        prompt_tokens=row.whole("prompt_tokens"),
        batch=row.whole("batch"),
        time_s=_time_s(row),
        repeats_s=_repeats(row),
        quality=_quality(row),
        source=row.text("source"),
    )


def _token_point(row: Row) -> TokenPoint:
    time_s = _time_s(row)
    if time_s > _LONGEST_TOKEN_S:
        raise row.fail("time_s", "seconds of one token iteration are needed")
    return TokenPoint(
        prompt_tokens=row.whole("prompt_tokens"),
        batch=row.whole("batch"),
        output_tokens=row.whole("output_tokens"),
        generated_tokens=row.whole_or_none("generated_tokens") or row.whole("output_tokens"),
        time_s=time_s,
        repeats_s=_repeats(row),
        quality=_quality(row),
        source=row.text("source"),
    )


def _dropped(row: Row) -> str:
    cells = row.cells
    return (
        f"{cells['phase']} tp{cells['tensor_parallel']} prompt {cells['prompt_tokens']} "
        f"x batch {cells['batch']}: {cells['dropped'].strip()}"
    )


def _power_points(rows: list[Row], model: str, size: int, phase: Phase) -> tuple[PowerPoint, ...]:
    """Power of one phase: rows of this model and size where there are any, else those for any."""
    of_phase = [(row, _power_point(row)) for row in rows if _phase(row) is phase]
    own = [
        (row, point)
        for row, point in of_phase
        if row.text("model") == model and row.text("tensor_parallel") == str(size)
    ]
    chosen = own or [(row, point) for row, point in of_phase if row.text("model") == _ANY]
    points = [point for _, point in chosen]
    if not points:
        raise InputError(
            f"{rows[0].path}: no {phase.value} power for {model} tp{size} or any model"
        )
    loads = [point.load for point in points]
    for row, point in chosen:
        if loads.count(point.load) > 1:
            raise row.fail("load", "each load must be given once")
    return tuple(sorted(points, key=lambda point: point.load))


def _power_point(row: Row) -> PowerPoint:
    return PowerPoint(
        row.positive("load"), row.positive("power_w"), _quality(row), row.text("source")
    )
