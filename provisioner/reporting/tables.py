"""Results as tables for a terminal or a mail, drawn by rich."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from provisioner.domain.result import PlanResult
from provisioner.reporting.records import Record, result_record
from provisioner.units import WATTS_PER_KW

_DASH = "-"


def result_view(result: PlanResult) -> RenderableType:
    """Everything a planner wants to see of a result, top to bottom."""
    record = result_record(result)
    parts = _reasons(result) if result.plan is None else _plan(result, record)
    return Group(*parts, *_notes(result))


def _plan(result: PlanResult, record: Record) -> Iterator[RenderableType]:
    yield Text(_headline(record), style="bold")
    yield Text(_terms(result, record))
    yield _titled("Pools", _pool_table(record))
    slo = record["slo"]
    against = f", against {slo['reference']}" if slo["reference"] else ""
    yield _titled(f"SLO {slo['name']}{against} ({slo['source']})", _slo_table(record))
    yield _titled("What binds", _binding_table(record))
    title = "Unit economics at the SLO, each type serving a phase alone"
    yield _titled(title, _unit_cost_table(record))


def _headline(record: Record) -> str:
    pools = ", ".join(
        f"{pool['machines']} {pool['machine']} ({pool['role']})" for pool in record["pools"]
    )
    return (
        f"{record['machines']} machines serve {record['rate_per_s']:.4g} requests/s for "
        f"{record['usd_per_hour']:,.2f} $/h and {record['provisioned_power_w'] / WATTS_PER_KW:,.1f} "
        f"kW: {pools}"
    )


def _terms(result: PlanResult, record: Record) -> str:
    streams = ", ".join(f"{name} at {rate:.4g}/s" for name, rate in result.workloads)
    return (
        f"{result.model}; {streams}; objective {result.objective}; prices {result.prices}; "
        f"design {record['design']}; {_proof(record)}"
    )


def _proof(record: Record) -> str:
    if record["proved"]:
        return "proved best"
    if record["bound"] is None:
        return "not proved, no bound known"
    return f"not proved: no cluster is better than {record['bound']:,.6g} (gap {record['gap']:.0%})"


def _pool_table(record: Record) -> Table:
    table = _table("role", "machine", ">machines", ">spare", ">owned", ">used", ">$/h", ">kW", ">U")
    for pool in record["pools"]:
        table.add_row(
            pool["role"],
            f"{pool['machine']}/tp{pool['tensor_parallel']}",
            *(str(pool[key]) for key in ("machines", "spares", "existing")),
            f"{pool['utilization']:.0%}",
            f"{pool['usd_per_hour']:,.2f}",
            f"{pool['provisioned_power_w'] / WATTS_PER_KW:,.1f}",
            f"{pool['rack_units']:g}",
        )
    table.add_section()
    table.add_row(
        "all",
        "",
        str(record["machines"]),
        str(sum(pool["spares"] for pool in record["pools"])),
        str(sum(pool["existing"] for pool in record["pools"])),
        "",
        f"{record['usd_per_hour']:,.2f}",
        f"{record['provisioned_power_w'] / WATTS_PER_KW:,.1f}",
        f"{record['rack_units']:g}",
    )
    return table


def _slo_table(record: Record) -> Table:
    slo = record["slo"]
    table = _table("workload", "metric", ">limit", f">{slo['source']}", "")
    for metric in slo["metrics"]:
        unit = "x" if metric["unit"] == "slowdown" else " s"
        value = _DASH if metric["value"] is None else f"{metric['value']:.3g}{unit}"
        table.add_row(
            metric["workload"],
            f"{metric['metric'].upper()} p{metric['percentile']:g}",
            f"{metric['limit']:g}{unit}",
            value,
            "ok" if metric["ok"] else "MISSED",
        )
    return table


def _binding_table(record: Record) -> Table:
    table = _table("where", "limit", ">used")
    for binding in record["binding"]:
        table.add_row(binding["where"], binding["limit"] or _DASH, f"{binding['used']:.0%}")
    return table


def _unit_cost_table(record: Record) -> Table:
    table = _table(
        "phase",
        "machine",
        ">tokens/s",
        ">$ per M tokens",
        ">Wh per k tokens",
        ">machines",
        "",
    )
    for row in record["unit_costs"]:
        table.add_row(
            row["phase"],
            f"{row['machine']}/tp{row['tensor_parallel']}",
            _number(row["tokens_per_s"], ",.0f"),
            _number(row["usd_per_million_tokens"], ".3f"),
            _number(row["wh_per_thousand_tokens"], ".3f"),
            _number(row["machines_if_alone"], "d"),
            row["note"],
        )
    return table


def _number(value: float | None, form: str) -> str:
    return _DASH if value is None else format(value, form)


def _reasons(result: PlanResult) -> Iterator[RenderableType]:
    yield Text("No cluster does this.", style="bold")
    for reason in result.reasons:
        yield Text(f"- {reason.sentence}")
    if not result.reasons:
        yield Text("- no single limit explains it")


def _notes(result: PlanResult) -> Iterator[RenderableType]:
    if result.warnings:
        yield Text("\nNotes", style="bold")
        for warning in result.warnings:
            yield Text(f"- {warning}", style="dim")


def _titled(title: str, table: Table) -> RenderableType:
    return Group(Text(f"\n{title}", style="bold"), table)


def _table(*columns: str) -> Table:
    """A plain table; a column whose name starts with ``>`` is aligned to the right."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        right = column.startswith(">")
        table.add_column(column.removeprefix(">"), justify="right" if right else "left")
    return table


def records_view(title: str, columns: dict[str, str], rows: list[Record]) -> RenderableType:
    """A table of records: keys to headings (``>`` for numbers), one row each."""
    table = _table(*columns.values())
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in columns))
    return _titled(title, table)


def _cell(value: object) -> str:
    if value is None:
        return _DASH
    if isinstance(value, float):
        return f"{value:,.6g}"
    return str(value)
