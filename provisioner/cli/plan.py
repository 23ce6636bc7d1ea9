"""``provisioner plan``: find the best cluster for a scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from provisioner.cli import options as o
from provisioner.cli.app import Changes, Force, Json
from provisioner.cli.output import progress, say, show, uninterrupted

if TYPE_CHECKING:
    from provisioner.domain.case import Case
    from provisioner.domain.result import PlanResult


def plan(
    scenario: o.ScenarioFile = None,
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
    designs: o.Designs = None,
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
    """Find the best cluster: how many machines of which type, in which role, and why.

    Without arguments, plan the built-in example. Flags change single fields of the scenario.
    """
    flags = dict(locals())
    for key in ("scenario", "changes", "out", "force", "as_json"):
        flags.pop(key)
    with progress("planning") as moved_on:
        result, case = _plan(scenario, flags, changes or [], out, force, moved_on)
    if out is None:
        _show(result, as_json=as_json)
    else:
        with uninterrupted():
            _save(result, case, out, force=force)
            _show(result, as_json=as_json)
            say(f"written: {out}")
    raise typer.Exit(result.exit_code)


def _plan(
    path: Path | None,
    flags: dict[str, Any],
    changes: list[str],
    out: Path | None,
    force: bool,
    moved_on: Callable[[str], None],
) -> tuple[PlanResult, Case]:
    from dataclasses import replace  # noqa: PLC0415 - heavy imports wait until a command runs

    from provisioner.cli.asked import case_of  # noqa: PLC0415
    from provisioner.reporting.files import make_way  # noqa: PLC0415
    from provisioner.search.run import run  # noqa: PLC0415

    if out is not None:
        make_way(out, force=force, switch="--force")
    case, notes = case_of(path, flags, changes)
    result = run(case, moved_on)
    return replace(result, warnings=(*notes, *result.warnings)), case


def _save(result: PlanResult, case: Case, folder: Path, *, force: bool) -> None:
    from provisioner.reporting.files import save_run  # noqa: PLC0415

    save_run(result, case, folder, force=force)


def _show(result: PlanResult, *, as_json: bool) -> None:
    from provisioner.reporting.records import result_record  # noqa: PLC0415
    from provisioner.reporting.tables import result_view  # noqa: PLC0415

    show(result_record(result), result_view(result), as_json=as_json)
