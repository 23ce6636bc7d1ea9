"""A reproduction as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from provisioner.domain.reproduction import COMPATIBLE, MEASURED, Reproduction
from provisioner.domain.result import PlanResult
from provisioner.reporting.tables import line, table
from provisioner.reproduction.budgets import compatible_optimum
from provisioner.reproduction.headlines import Judged, Ratios, judged
from provisioner.reproduction.published import QUESTIONS, counts_of, counts_text
from provisioner.units import WATTS_PER_KW

OPTIMUM = "optimum"
"""Name of the row of the best over all designs and machine types."""
_DASH = "-"


def reproduction_view(found: Reproduction) -> RenderableType:
    """What people want to see of a reproduction."""
    return Group(*_view(found))


def _view(found: Reproduction) -> Iterator[RenderableType]:
    for question, workload in found.optima:
        yield line(f"\n{QUESTIONS[question]}, {workload}", style="bold")
        yield table(tuple(headings()), list(rows_of(found, question, workload)))
    yield line("\nHeadlines", style="bold")
    rows = [tuple(ratio_cells(one)) for one in judged(found)]
    yield table(("headline", "paper", COMPATIBLE, "best", MEASURED, "best"), rows)


def headings() -> Iterator[str]:
    """Headings of the table of one question; ``>`` leads those of numbers."""
    yield from ("design", "published", ">paper", ">simulator", ">compatible", ">measured")
    yield from ("best, compatible", ">rate", "best, measured", ">rate", ">$/h", ">kW", "")


def rows_of(found: Reproduction, question: str, workload: str) -> Iterator[tuple[str, ...]]:
    """Rows of the table of one question: its published clusters, and the best of all."""
    for row in found.rows_of(question, workload):
        published = row.published
        best = row.compatible_best
        yield (
            published.design,
            counts_text(counts_of(published)) + ("" if row.fits else " (over budget)"),
            _number(published.paper_rate_per_s, "g"),
            _number(published.simulator_rate_per_s, "g"),
            _number(row.compatible_rate_per_s, "g"),
            _number(row.measured_rate_per_s, ".1f"),
            counts_text(best.counts),
            f"{best.rate_per_s:g}",
            *_plan_cells(row.best),
        )
    most = compatible_optimum(found, question, workload)
    yield (
        OPTIMUM,
        *[""] * 5,
        f"{counts_text(most.compatible_best.counts)} ({most.published.design})",
        f"{most.compatible_best.rate_per_s:g}",
        *_plan_cells(found.optima[question, workload], full=True),
    )


def _plan_cells(result: PlanResult, *, full: bool = False) -> tuple[str, ...]:
    plan = result.plan
    if plan is None:
        return (_DASH, _DASH, _DASH, _DASH, "no plan")
    pools = " + ".join(
        f"{p.machines} {p.role.value} {p.machine}" if full else str(p.machines) for p in plan.pools
    )
    gap = "unproved" if result.gap is None else f"within {result.gap:.1%}"
    return (
        pools,
        f"{plan.rate_per_s:.1f}",
        f"{plan.usd_per_hour:,.2f}",
        f"{plan.provisioned_power_w / WATTS_PER_KW:,.1f}",
        "proved" if result.proved else gap,
    )


def ratio_cells(one: Judged) -> Iterator[str]:
    """A headline and its ratios as text."""
    yield one.headline.text
    for ratios in (one.paper, one.compatible, one.best_compatible, one.measured, one.best):
        yield ratio_text(ratios)


def ratio_text(ratios: Ratios) -> str:
    """Throughput, cost and power over the baseline's."""
    rate = _DASH if ratios.throughput is None else f"{ratios.throughput:.2f}x"
    return f"{rate} at {ratios.cost:.2f} cost, {ratios.power:.2f} power"


def _number(value: float | None, form: str) -> str:
    return _DASH if value is None else format(value, form)
