"""Machine types, models, price lists, SLOs and measured profiles from their files."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from provisioner.domain.base import Phase, Quality
from provisioner.domain.machine import Machine, PriceList
from provisioner.domain.model import Model
from provisioner.domain.profile import PowerPoint, Profile, PromptPoint, TokenPoint
from provisioner.domain.scenario import Override
from provisioner.domain.slo import Slo
from provisioner.errors import InputError
from provisioner.inputs import catalogue
from provisioner.inputs.tables import Row, read_rows
from provisioner.inputs.yaml_files import Record, parse, read_mapping, read_record

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
    "generated_tokens",
    "time_s",
    "runs",
    "repeats_s",
    "quality",
    "source",
    "dropped",
)
POWER_COLUMNS = ("model", "tensor_parallel", "phase", "load", "power_w", "quality", "source")
_ANY = "any"


def read_machine(entry: str | Override, where: str = "") -> Machine:
    """Read a machine type by name, with the fields that the entry overrides."""
    return _read(MACHINES, "machine type", entry, Machine, where)


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
    folder: str, kind: str, entry: str | Override, record: type[Record], where: str
) -> Record:
    name = entry if isinstance(entry, str) else entry.name
    path = catalogue.find(folder, kind, name, where)
    stored = read_record(path, record)
    changes: dict[str, Any] = {} if isinstance(entry, str) else (entry.model_extra or {})
    if not changes:
        return stored
    return parse(record, {**read_mapping(path), **changes}, f"{where}.{name}".lstrip("."))


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
        m if m.usd_per_hour is not None else m.model_copy(update={"usd_per_hour": rents[m.hardware]})
        for m in machines
    )


def profile_paths(model: str, accelerator: str) -> tuple[Path, Path] | None:
    """Files of measured points and of power for a model on an accelerator, if both exist."""
    points = catalogue.stored(f"{_POINTS}/{model}", "*.csv").get(accelerator)
    power = catalogue.stored(_POWER, "*.csv").get(accelerator)
    return (points, power) if points and power else None


def profiled_accelerators(model: str) -> list[str]:
    """Accelerators on which a model has measured points."""
    return [name for name in catalogue.stored(f"{_POINTS}/{model}", "*.csv")]


def read_profiles(model: str, accelerator: str) -> dict[int, Profile]:
    """Read the profiles of a model on an accelerator, one per measured tensor parallelism.

    Raises
    ------
    InputError
        Where there is no profile, or a file is wrong.
    """
    paths = profile_paths(model, accelerator)
    if paths is None:
        raise InputError(
            f"no measured profile of {model} on {accelerator} (measured: "
            f"{', '.join(profiled_accelerators(model)) or 'none'})"
        )
    rows = list(read_rows(paths[0], POINT_COLUMNS))
    _refuse_repeated_cells(rows)
    power_rows = list(read_rows(paths[1], POWER_COLUMNS))
    sizes = sorted({row.whole("tensor_parallel") for row in rows})
    return {
        size: _profile(model, accelerator, size, [r for r in rows if _has_size(r, size)], power_rows)
        for size in sizes
    }


def _has_size(row: Row, size: int) -> bool:
    return row.whole("tensor_parallel") == size


def _profile(
    model: str, accelerator: str, size: int, rows: list[Row], power_rows: list[Row]
) -> Profile:
    used = [row for row in rows if not row.cells["dropped"].strip()]
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
    seen: dict[tuple[str, ...], int] = {}
    for row in rows:
        keys = ("phase", "tensor_parallel", "prompt_tokens", "batch", "output_tokens")
        cell = tuple(row.cells[key].strip() for key in keys)
        if cell in seen:
            raise InputError(f"{row.path}: row {row.number}: the cell of row {seen[cell]} again")
        seen[cell] = row.number


def _phase(row: Row) -> Phase:
    return Phase(row.text("phase", tuple(Phase)))


def _quality(row: Row) -> Quality:
    return Quality(row.text("quality", tuple(Quality)))


def _repeats(row: Row) -> tuple[float, ...]:
    """Single runs of a cell, whose number and median must be what the row says."""
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
        time_s=row.positive("time_s"),
        repeats_s=_repeats(row),
        quality=_quality(row),
        source=row.text("source"),
    )


def _token_point(row: Row) -> TokenPoint:
    return TokenPoint(
        prompt_tokens=row.whole("prompt_tokens"),
        batch=row.whole("batch"),
        output_tokens=row.whole("output_tokens"),
        generated_tokens=row.whole("generated_tokens"),
        time_s=row.positive("time_s"),
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


def _power_points(
    rows: list[Row], model: str, size: int, phase: Phase
) -> tuple[PowerPoint, ...]:
    """Power of one phase: rows of this model and size where there are any, else those for any."""
    of_phase = [row for row in rows if _phase(row) is phase]
    own = [
        row
        for row in of_phase
        if row.cells["model"] == model and row.cells["tensor_parallel"] == str(size)
    ]
    chosen = own or [row for row in of_phase if row.cells["model"] == _ANY]
    points = [
        PowerPoint(row.positive("load"), row.positive("power_w"), _quality(row), row.text("source"))
        for row in chosen
    ]
    if not points:
        raise InputError(f"{rows[0].path}: no {phase.value} power for {model} tp{size} or any model")
    return tuple(sorted(points, key=lambda point: point.load))
