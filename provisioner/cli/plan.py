"""``provisioner plan``: find the best cluster for a scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provisioner.cli.app import Changes, Force, Json, path
from provisioner.cli.output import progress, say, show, uninterrupted

if TYPE_CHECKING:
    from provisioner.domain.case import Case
    from provisioner.domain.result import PlanResult

_TRAFFIC, _SUPPLY = "Traffic", "Machines"
_GOAL, _JUDGE, _RUN = "Objective and limits", "Judging", "Run"


def _option(panel: str, help_: str, metavar: str, *names: str, **how: Any) -> Any:
    return typer.Option(*names, help=help_, rich_help_panel=panel, metavar=metavar, **how)


def plan(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            help="A scenario file, or a saved run's inputs.yaml.",
            metavar="SCENARIO.yaml",
            parser=path,
            show_default=False,
        ),
    ] = None,
    model: Annotated[str | None, _option(_TRAFFIC, "The model to serve.", "NAME")] = None,
    workload: Annotated[
        list[str] | None, _option(_TRAFFIC, "A stored workload; may be repeated.", "NAME[=RATE]")
    ] = None,
    trace: Annotated[
        list[str] | None, _option(_TRAFFIC, "A request trace; may be repeated.", "FILE")
    ] = None,
    rate: Annotated[
        str | None, _option(_TRAFFIC, "Requests per second, or peak_60s of a trace.", "RATE")
    ] = None,
    speedup: Annotated[
        str | None, _option(_TRAFFIC, "Times the trace's own rate.", "NUMBER")
    ] = None,
    prompt_tokens: Annotated[str | None, _option(_TRAFFIC, "Fixed prompt length.", "COUNT")] = None,
    output_tokens: Annotated[
        str | None, _option(_TRAFFIC, "Fixed output length, first token included.", "COUNT")
    ] = None,
    growth: Annotated[str | None, _option(_TRAFFIC, "Multiplies all demand.", "NUMBER")] = None,
    slo: Annotated[
        list[str] | None,
        _option(_TRAFFIC, "Named latency limits, of all or of one workload.", "[WORKLOAD=]NAME"),
    ] = None,
    hardware: Annotated[
        list[str] | None, _option(_SUPPLY, "Machine types, separated by commas.", "NAMES")
    ] = None,
    tensor_parallel: Annotated[
        list[str] | None, _option(_SUPPLY, "auto, or sizes separated by commas.", "SIZES")
    ] = None,
    prices: Annotated[str | None, _option(_SUPPLY, "A price list.", "NAME")] = None,
    existing: Annotated[
        list[str] | None, _option(_SUPPLY, "All machines already owned.", "NAME=COUNT")
    ] = None,
    available: Annotated[
        list[str] | None,
        _option(_SUPPLY, "Most machines to be had of a kind, owned ones included.", "NAME=COUNT"),
    ] = None,
    spares: Annotated[
        list[str] | None,
        _option(_SUPPLY, "Spare machines of a role, of its cheapest type.", "ROLE=COUNT"),
    ] = None,
    max_types_per_role: Annotated[
        str | None, _option(_SUPPLY, "Most machine types in one role.", "COUNT")
    ] = None,
    designs: Annotated[
        list[str] | None,
        _option(_SUPPLY, "split, mixed, hybrid: separated by commas.", "NAMES"),
    ] = None,
    minimize: Annotated[
        str | None, _option(_GOAL, "cost, power (provisioned) or machines.", "OBJECTIVE")
    ] = None,
    maximize: Annotated[
        str | None,
        _option(_GOAL, "throughput, throughput_per_usd or throughput_per_watt.", "OBJECTIVE"),
    ] = None,
    usd_per_hour: Annotated[str | None, _option(_GOAL, "Most rent, in USD/h.", "NUMBER")] = None,
    power_w: Annotated[
        str | None, _option(_GOAL, "Most provisioned power, in W.", "NUMBER")
    ] = None,
    machines: Annotated[str | None, _option(_GOAL, "Most machines.", "COUNT")] = None,
    rack_units: Annotated[str | None, _option(_GOAL, "Most rack units.", "NUMBER")] = None,
    scheduler: Annotated[
        str | None, _option(_JUDGE, "auto, colocated, split or mixed-pool.", "NAME")
    ] = None,
    router: Annotated[
        str | None,
        _option(_JUDGE, "expected-finish, shortest-queue or plan-shares.", "NAME"),
    ] = None,
    duration_s: Annotated[
        str | None, _option(_JUDGE, "Length of the judged run, in s.", "NUMBER", "--duration")
    ] = None,
    warmup_s: Annotated[
        str | None, _option(_JUDGE, "Cut from its start, in s.", "NUMBER", "--warmup")
    ] = None,
    seeds: Annotated[str | None, _option(_JUDGE, "Number of judged runs.", "COUNT")] = None,
    arrivals: Annotated[str | None, _option(_JUDGE, "poisson or replay.", "NAME")] = None,
    time_limit_s: Annotated[
        str | None, _option(_RUN, "Most time for the search, in s.", "NUMBER", "--time-limit")
    ] = None,
    changes: Changes = None,
    out: Annotated[
        Path | None,
        _option(_RUN, "Write the run's files into a new folder.", "FOLDER", "--out", parser=path),
    ] = None,
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

    from provisioner.cli.flags import scenario_changes  # noqa: PLC0415
    from provisioner.inputs import scenarios  # noqa: PLC0415
    from provisioner.inputs.resolve import changed_files, resolve  # noqa: PLC0415
    from provisioner.reporting.files import make_way  # noqa: PLC0415
    from provisioner.search.run import run  # noqa: PLC0415
    from provisioner.simulation.compilation import COMPILING, compiled  # noqa: PLC0415

    if out is not None:
        make_way(out, force=force, switch="--force")
    stored = scenarios.read_scenario_data(path)
    data = scenarios.apply_changes(
        scenario_changes(flags, stored), scenarios.parse_changes(changes)
    )
    case = resolve(scenarios.parse_scenario(data, _place(path, flags, changes)))
    if not compiled():
        say(COMPILING)
    result = run(case, moved_on)
    notes = changed_files(stored, case.files)
    return replace(result, warnings=(*notes, *result.warnings)), case


def _place(path: Path | None, flags: dict[str, Any], changes: list[str]) -> str:
    """Say in an error where the scenario was read from."""
    if path is None:
        return "scenario"
    changed = bool(changes) or any(value is not None for value in flags.values())
    return f"{path}, with the command's changes" if changed else str(path)


def _save(result: PlanResult, case: Case, folder: Path, *, force: bool) -> None:
    from provisioner.reporting.files import save_run  # noqa: PLC0415

    save_run(result, case, folder, force=force)


def _show(result: PlanResult, *, as_json: bool) -> None:
    from provisioner.reporting.records import result_record  # noqa: PLC0415
    from provisioner.reporting.tables import result_view  # noqa: PLC0415

    show(result_record(result), result_view(result), as_json=as_json)
