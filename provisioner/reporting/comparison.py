"""Designs side by side as a record, as a table, and as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType

from provisioner.domain.case import Case
from provisioner.domain.comparison import Compared, Comparison
from provisioner.reporting import files
from provisioner.reporting.records import SCHEMA_VERSION, Record, finite, result_record
from provisioner.reporting.tables import line, table
from provisioner.units import WATTS_PER_KW

COMPARED = (
    "machines",
    "usd_per_hour",
    "provisioned_power_w",
    "rack_units",
    "highest_rate_per_s",
    "requests_per_usd",
    "requests_per_kwh",
)
"""What a row is compared with the baseline by; each has a ratio."""
COLUMNS = (
    "name",
    "status",
    "pools",
    "rate_per_s",
    *COMPARED,
    *(f"{key}_ratio" for key in COMPARED),
    "scheduler",
    "proof",
    "proved",
    "bound",
    "gap",
    "holdout_pass_fraction",
    "reasons",
)
"""Columns of `compare.csv`."""
FILES = ("compare.csv", "inputs.yaml")
"""Files of a comparison."""
_DASH = "-"


def comparison_record(comparison: Comparison) -> Record:
    """The whole comparison."""
    base = _measures(comparison.base)
    result = comparison.base.result
    record: Record = {
        "schema_version": SCHEMA_VERSION,
        "model": result.model,
        "objective": result.objective,
        "prices": result.prices,
        "router": result.router,
        "baseline": comparison.baseline,
        "items": [_row(row, base) for row in comparison.rows],
        "warnings": _warnings(comparison),
    }
    clean: Record = finite(record)
    return clean


def _warnings(comparison: Comparison) -> list[str]:
    """Each with the rows that it is about, unless it is about all."""
    found: dict[str, list[str]] = {}
    for row in comparison.rows:
        for warning in row.result.warnings:
            found.setdefault(warning, []).append(row.name)
    return [
        *comparison.warnings,
        *(
            text if len(names) == len(comparison.rows) else f"{', '.join(names)}: {text}"
            for text, names in found.items()
        ),
    ]


def _measures(row: Compared) -> Record:
    record = result_record(row.result)
    record["highest_rate_per_s"] = row.highest_rate_per_s
    return {key: record.get(key) for key in COMPARED}


def _row(row: Compared, base: Record) -> Record:
    record = result_record(row.result)
    measures = _measures(row)
    return {
        "name": row.name,
        "status": record["status"],
        "pools": " + ".join(
            f"{pool['machines']} {pool['role']} {pool['machine']}/tp{pool['tensor_parallel']}"
            for pool in record.get("pools", [])
        ),
        "rate_per_s": record.get("rate_per_s"),
        **measures,
        **{f"{key}_ratio": _ratio(measures[key], base[key]) for key in COMPARED},
        "scheduler": record["scheduler"],
        **{key: record.get(key) for key in ("proof", "proved", "bound", "gap")},
        "holdout_pass_fraction": record.get("holdout_pass_fraction"),
        "reasons": "; ".join(reason.sentence for reason in row.result.reasons),
    }


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def comparison_view(comparison: Comparison) -> RenderableType:
    """What people want to see of a comparison."""
    return Group(*_view(comparison_record(comparison)))


def _view(record: Record) -> Iterator[RenderableType]:
    yield line(
        f"{record['model']}; objective {record['objective']}; prices {record['prices']}; router "
        f"{record['router']}"
    )
    yield line("\nPlans", style="bold")
    yield table(
        ("design", ">machines", ">$/h", ">kW", ">U", ">most requests/s", ">per $", ">per kWh", ""),
        [_amounts(row) for row in record["items"]],
    )
    yield line(f"\nRelative to {record['baseline']}", style="bold")
    yield table(
        ("design", ">machines", ">cost", ">power", ">space", ">rate", ">per $", ">per kWh"),
        [
            (row["name"], *(_number(row[f"{key}_ratio"], ".2f") for key in COMPARED))
            for row in record["items"]
        ],
    )
    yield line("\nMachines", style="bold")
    for row in record["items"]:
        yield line(f"{row['name']}: {row['pools'] or row['reasons'] or row['status']}")
    if record["warnings"]:
        yield line("\nNotes", style="bold")
        for warning in record["warnings"]:
            yield line(f"- {warning}", style="dim")


def _amounts(row: Record) -> tuple[str, ...]:
    power = row["provisioned_power_w"]
    return (
        row["name"],
        _number(row["machines"], ","),
        _number(row["usd_per_hour"], ",.2f"),
        _DASH if power is None else f"{power / WATTS_PER_KW:,.1f}",
        _number(row["rack_units"], ",g"),
        _number(row["highest_rate_per_s"], ",.2f"),
        _number(row["requests_per_usd"], ",.1f"),
        _number(row["requests_per_kwh"], ",.0f"),
        _proof(row),
    )


def _proof(row: Record) -> str:
    if row["status"] != "ok":
        return "no plan"
    if row["proved"]:
        return "proved"
    return "unproved" if row["gap"] is None else f"within {row['gap']:.2%}"


def _number(value: float | None, form: str) -> str:
    return _DASH if value is None else format(value, form)


def save_comparison(
    comparison: Comparison, case: Case, folder: Path, *, force: bool = False
) -> None:
    """Write a comparison's files.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, or it cannot be written.
    """
    files.make_way(folder, force=force, names=FILES)
    rows = comparison_record(comparison)["items"]
    compared = {
        "designs": [row.name for row in comparison.rows[:-1]],
        "baseline": comparison.baseline,
    }
    texts = {
        "compare.csv": files.table_text(COLUMNS, rows),
        "inputs.yaml": files.inputs_text(case, folder, {"compared": compared}),
    }
    files.save_texts(texts, folder)
