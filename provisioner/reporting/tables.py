"""Results as tables for a terminal or a mail, drawn by rich.

Nothing is cut off: text too wide for its column goes on in the next line, numbers are never
broken. What a terminal would take for a command is shown as an escape.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from provisioner.domain.result import PlanResult
from provisioner.domain.slo import percentile_label
from provisioner.reporting.records import Record, result_record
from provisioner.units import WATTS_PER_KW

_DASH = "-"
_LEAST_TEXT_WIDTH = 32
"""Words up to this long are not broken either, so that names can be copied."""
_OBJECTIVES = {
    "cost": ("costs less than", "$/h", 1.0, ROUND_FLOOR),
    "power": ("needs less than", "kW", 1 / WATTS_PER_KW, ROUND_FLOOR),
    "machines": ("has fewer than", "machines", 1.0, ROUND_FLOOR),
    "throughput": ("serves more than", "requests/s", 1.0, ROUND_CEILING),
    "throughput_per_usd": ("serves more than", "requests/s per $/h", 1.0, ROUND_CEILING),
    "throughput_per_watt": ("serves more than", "requests/s per kW", WATTS_PER_KW, ROUND_CEILING),
}
"""How a bound on each objective reads: verb, unit, factor into that unit, and the rounding that
leaves it true."""
_PROOFS = {
    "exhaustive": "every better cluster was simulated",
    "monotone": "every better cluster was simulated or has less than one that failed",
}
_MANY = 1e4
"""From here on a rate is shown without decimals."""
_FLOAT_DIGITS = 12
"""Digits of a computed number that rounding errors leave alone."""


def result_view(result: PlanResult) -> RenderableType:
    """Everything a planner wants to see of a result, top to bottom."""
    record = result_record(result)
    parts = _reasons(record) if result.plan is None else _plan(record)
    return Group(*parts, *_notes(record))


def _plan(record: Record) -> Iterator[RenderableType]:
    yield line(_headline(record), style="bold")
    yield line(_terms(record))
    yield _titled("Pools", _pool_table(record))
    slo = record["slo"]
    against = f", against {slo['reference']}" if slo["reference"] else ""
    yield _titled(f"SLO {slo['name']}{against} ({slo['source']})", _slo_table(record))
    yield line(_judged(record))
    yield _titled(
        "What binds: the tightest limit of each pool, and the site's", _binding_table(record)
    )
    strictest = "the strictest SLO" if len(record["workloads"]) > 1 else "the SLO"
    title = f"Unit economics at {strictest}, each type serving a phase alone"
    yield _titled(title, _unit_cost_table(record))


def _judged(record: Record) -> str:
    """What the latencies rest on."""
    seeds = len(record["seeds"])
    held_out = _number(record["holdout_pass_fraction"], ".0%")
    return (
        f"\nSimulated over {seeds} {'seed' if seeds == 1 else 'seeds'} together; of the seeds held "
        f"out, each alone, {held_out} pass; {record['simulations']:,} clusters simulated"
    )


def _headline(record: Record) -> str:
    pools = ", ".join(
        f"{pool['machines']:,} {_short_name(pool, record['pools'])} ({pool['role']})"
        for pool in record["pools"]
    )
    serve = "machine serves" if record["machines"] == 1 else "machines serve"
    owned = sum(pool["existing"] for pool in record["pools"])
    return (
        f"{record['machines']:,} {serve} {_rate(record['rate_per_s'])} requests/s for "
        f"{record['usd_per_hour']:,.2f} $/h{_of_which(owned)} and {_kw(record)} kW: {pools}"
    )


def _short_name(pool: Record, pools: list[Record]) -> str:
    """A pool's machine type; with its tensor parallelism where its role has several of them."""
    name: str = pool["machine"]
    alike = [p for p in pools if (p["role"], p["machine"]) == (pool["role"], name)]
    return name if len(alike) == 1 else f"{name}/tp{pool['tensor_parallel']}"


def _of_which(owned: int) -> str:
    """What the rent leaves out."""
    return f" ({owned:,} owned, free of rent)" if owned else ""


def _terms(record: Record) -> str:
    streams = ", ".join(
        f"{stream['name']} at {_rate(stream['rate_per_s'])}/s" for stream in record["workloads"]
    )
    return (
        f"{record['model']}; {streams}; objective {record['objective']}; prices "
        f"{record['prices']}; design {record['design']}; {_proof(record)}"
    )


def _proof(record: Record) -> str:
    if record["proved"]:
        return f"proved best ({_PROOFS[record['proof']]})"
    if record["bound"] is None:
        return "not proved, no bound known"
    gap = _number(record["gap"], ".0%")
    side, unit, scale, rounding = _OBJECTIVES[record["objective"]]
    bound = f"{_rounded(record['bound'] * scale, 6, rounding):,.6g} {unit}"
    return f"not proved; what is sure: no cluster {side} {bound} (gap {gap})"


def _pool_table(record: Record) -> Table:
    pools = record["pools"]
    rows = [
        (
            pool["role"],
            f"{pool['machine']}/tp{pool['tensor_parallel']}",
            *(f"{pool[key]:,}" for key in ("machines", "spares", "existing")),
            _number(pool["utilization"], ".0%"),
            *_sizes(pool),
        )
        for pool in pools
    ]
    spares, owned = (f"{sum(pool[key] for pool in pools):,}" for key in ("spares", "existing"))
    total = ("all", "", f"{record['machines']:,}", spares, owned, "", *_sizes(record))
    headings = (
        "role",
        "machine",
        ">machines",
        ">spare",
        ">owned",
        ">busy",
        ">$/h",
        ">kW",
        ">mean kW",
        ">U",
    )
    return table(headings, [*rows, total])


def _sizes(record: Record) -> tuple[str, str, str, str]:
    """Cost, provisioned and mean power, and space of a pool or of the whole cluster."""
    mean_kw = _DASH
    if record["mean_power_w"] is not None:
        mean_kw = f"{record['mean_power_w'] / WATTS_PER_KW:,.1f}"
    return f"{record['usd_per_hour']:,.2f}", _kw(record), mean_kw, f"{record['rack_units']:g}"


def _kw(record: Record) -> str:
    return f"{record['provisioned_power_w'] / WATTS_PER_KW:,.1f}"


def _slo_table(record: Record) -> Table:
    rows = []
    for metric in record["slo"]["metrics"]:
        unit = "x" if metric["unit"] == "slowdown" else " s"
        value = _DASH if metric["value"] is None else f"{metric['value']:.3g}{unit}"
        spread = _DASH
        if metric["low"] is not None:
            spread = f"{metric['low']:.3g} to {metric['high']:.3g}"
        rows.append(
            (
                metric["workload"],
                f"{metric['metric'].upper()} {percentile_label(metric['percentile'])}",
                f"{metric['limit']:g}{unit}",
                value,
                spread,
                "ok" if metric["ok"] else "MISSED",
            )
        )
    return table(("workload", "metric", ">limit", f">{record['slo']['source']}", ">95 %", ""), rows)


def _binding_table(record: Record) -> Table:
    rows = [
        (binding["where"], binding["limit"] or _DASH, _number(binding["used"], ".0%"))
        for binding in record["binding"]
    ]
    return table(("where", "limit", ">used"), rows)


def _unit_cost_table(record: Record) -> Table:
    headings = (
        "phase",
        "machine",
        ">tokens/s",
        ">$ per M tokens",
        ">Wh per k tokens",
        ">machines",
        "",
    )
    rows = [
        (
            row["phase"],
            f"{row['machine']}/tp{row['tensor_parallel']}",
            _number(row["tokens_per_s"], ",.0f"),
            _number(row["usd_per_million_tokens"], ".3f"),
            _number(row["wh_per_thousand_tokens"], ".3f"),
            _number(row["machines_if_alone"], ",d"),
            row["note"],
        )
        for row in record["unit_costs"]
    ]
    return table(headings, rows)


def _number(value: float | None, form: str) -> str:
    return _DASH if value is None else format(value, form)


def _rate(value: float) -> str:
    """Requests/s, never more than are served."""
    if value >= _MANY:
        return f"{math.floor(_rounded(value, _FLOAT_DIGITS, ROUND_FLOOR)):,}"
    return f"{_rounded(value, 4, ROUND_FLOOR):,.4g}"


def _rounded(value: float, digits: int, rounding: str) -> float:
    """Round up or down to so many digits; a computed 69.99999999999999 is 70."""
    exact = f"{value:.{_FLOAT_DIGITS}g}"
    return float(Context(prec=digits, rounding=rounding).create_decimal(exact))


def _reasons(record: Record) -> Iterator[RenderableType]:
    yield line("No cluster does this.", style="bold")
    for reason in record["reasons"]:
        yield line(f"- {reason['sentence']}")
    if not record["reasons"]:
        yield line("- no single limit explains it")


def _notes(record: Record) -> Iterator[RenderableType]:
    if record["warnings"]:
        yield line("\nNotes", style="bold")
        for warning in record["warnings"]:
            yield line(f"- {warning}", style="dim")


def _titled(title: str, below: Table) -> RenderableType:
    return Group(line(f"\n{title}", style="bold"), below)


def line(text: str, style: str = "") -> Text:
    """A line of text as it stands: no markup, no control characters."""
    return Text(_printable(text), style=style)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A plain table; a column whose heading starts with ``>`` holds numbers."""
    cells = [[_printable(cell) for cell in row] for row in rows]
    drawn = Table(box=None, pad_edge=False, show_header=any(headings))
    for at, heading in enumerate(headings):
        title, is_number = heading.removeprefix(">"), heading.startswith(">")
        column = [row[at] for row in cells]
        words = [*title.split(), *(column if is_number else " ".join(column).split())]
        longest = max(map(cell_len, words), default=0)
        drawn.add_column(
            title,
            justify="right" if is_number else "left",
            overflow="fold",
            min_width=longest if is_number else min(longest, _LEAST_TEXT_WIDTH),
        )
    for row in cells:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn


def records_view(title: str, columns: dict[str, str], rows: list[Record]) -> RenderableType:
    """A table of records: keys to headings (``>`` for numbers), one row each."""
    cells = [[_cell(row[key]) for key in columns] for row in rows]
    return _titled(title, table(tuple(columns.values()), cells))


def _cell(value: object) -> str:
    if value is None:
        return _DASH
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return str(value)
