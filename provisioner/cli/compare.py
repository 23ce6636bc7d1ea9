"""``provisioner compare``: designs planned side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provisioner.cli import options as o
from provisioner.cli.app import Changes, Force, Json
from provisioner.cli.output import progress, say, show, uninterrupted

if TYPE_CHECKING:
    from provisioner.domain.case import Case
    from provisioner.domain.comparison import Comparison


def compare(
    scenario: o.ScenarioFile = None,
    designs: Annotated[
        list[str] | None,
        o.option(
            o.SUPPLY,
            "Designs to compare, separated by commas; by default all named ones.",
            "NAMES",
            "--designs",
            "--design",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        o.option(
            o.SUPPLY, "What the others are compared with; baseline-h100 unless told.", "DESIGN"
        ),
    ] = None,
    model: o.ModelName = None,
    workload: o.Workloads = None,
    trace: o.Traces = None,
    rate: o.Rate = None,
    speedup: o.Speedup = None,
    prompt_tokens: o.PromptTokens = None,
    output_tokens: o.OutputTokens = None,
    growth: o.Growth = None,
    slo: o.Slos = None,
    hardware: o.Hardware = None,
    tensor_parallel: o.TensorParallel = None,
    prices: o.Prices = None,
    existing: o.Existing = None,
    available: o.Available = None,
    spares: o.Spares = None,
    max_types_per_role: o.MaxTypesPerRole = None,
    minimize: o.Minimize = None,
    maximize: o.Maximize = None,
    usd_per_hour: o.UsdPerHour = None,
    power_w: o.PowerW = None,
    machines: o.Machines = None,
    rack_units: o.RackUnits = None,
    scheduler: o.Scheduler = None,
    router: o.Router = None,
    duration_s: o.Duration = None,
    warmup_s: o.Warmup = None,
    seeds: o.Seeds = None,
    arrivals: o.Arrivals = None,
    time_limit_s: o.TimeLimit = None,
    changes: Changes = None,
    out: o.Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Plan designs side by side: the paper's named ones, and the best of all.

    Each is planned as `provisioner plan --design NAME` does it; the best of all is that of the
    scenario's own designs.
    """
    flags = dict(locals())
    for key in ("scenario", "designs", "baseline", "changes", "out", "force", "as_json"):
        flags.pop(key)
    names = [name.strip() for text in designs or [] for name in text.split(",")]
    if out is not None:
        _make_way(out, force=force)
    with progress("comparing") as moved_on:
        comparison, case = _compare(scenario, flags, changes or [], names, baseline, moved_on)
    if out is None:
        _show(comparison, as_json=as_json)
    else:
        with uninterrupted():
            _save(comparison, case, out, force=force)
            _show(comparison, as_json=as_json)
            say(f"written: {out}")
    raise typer.Exit(comparison.exit_code)


def _compare(
    path: Path | None,
    flags: dict[str, Any],
    changes: list[str],
    names: list[str],
    baseline: str | None,
    moved_on: Callable[[str], None],
) -> tuple[Comparison, Case]:
    from provisioner.cli.asked import case_of  # noqa: PLC0415 - heavy imports wait
    from provisioner.search.comparison import check_names, compare  # noqa: PLC0415

    check_names(names)
    case, notes = case_of(path, flags, changes)
    comparison = compare(case, tuple(names), baseline, moved_on)
    return comparison.with_warnings(notes), case


def _make_way(folder: Path, *, force: bool) -> None:
    from provisioner.reporting.comparison import FILES  # noqa: PLC0415
    from provisioner.reporting.files import make_way  # noqa: PLC0415

    make_way(folder, force=force, switch="--force", names=FILES)


def _save(comparison: Comparison, case: Case, folder: Path, *, force: bool) -> None:
    from provisioner.reporting.comparison import save_comparison  # noqa: PLC0415

    save_comparison(comparison, case, folder, force=force)


def _show(comparison: Comparison, *, as_json: bool) -> None:
    from provisioner.reporting.comparison import (  # noqa: PLC0415
        comparison_record,
        comparison_view,
    )

    show(comparison_record(comparison), comparison_view(comparison), as_json=as_json)
