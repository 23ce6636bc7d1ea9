"""``provisioner plan``: find the best cluster for a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from provisioner.cli.app import Changes, Force, Json
from provisioner.cli.output import progress, show

_TRAFFIC, _SUPPLY = "Traffic", "Machines"
_GOAL, _JUDGE, _RUN = "Objective and limits", "Judging", "Run"


def _option(panel: str, help_: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help_, rich_help_panel=panel, metavar=metavar)


def plan(
    scenario: Annotated[
        Path | None,
        typer.Argument(help="A scenario file, or a saved run's inputs.yaml.", show_default=False),
    ] = None,
    model: Annotated[str | None, _option(_TRAFFIC, "The model to serve.")] = None,
    workload: Annotated[
        list[str] | None,
        _option(_TRAFFIC, "A stored workload; may be repeated.", metavar="NAME[=RATE]"),
    ] = None,
    trace: Annotated[str | None, _option(_TRAFFIC, "A request trace.", metavar="FILE")] = None,
    rate: Annotated[
        str | None,
        _option(_TRAFFIC, "Requests per second, or peak_60s of a trace.", metavar="RATE"),
    ] = None,
    speedup: Annotated[float | None, _option(_TRAFFIC, "Times the trace's own rate.")] = None,
    prompt_tokens: Annotated[int | None, _option(_TRAFFIC, "Fixed prompt length.")] = None,
    output_tokens: Annotated[int | None, _option(_TRAFFIC, "Fixed output length.")] = None,
    growth: Annotated[float | None, _option(_TRAFFIC, "Multiplies all demand.")] = None,
    slo: Annotated[str | None, _option(_TRAFFIC, "Named latency limits.", metavar="NAME")] = None,
    hardware: Annotated[
        str | None, _option(_SUPPLY, "Machine types, separated by commas.", metavar="NAMES")
    ] = None,
    tensor_parallel: Annotated[
        str | None, _option(_SUPPLY, "auto, or sizes separated by commas.", metavar="SIZES")
    ] = None,
    prices: Annotated[str | None, _option(_SUPPLY, "A price list.", metavar="NAME")] = None,
    existing: Annotated[
        list[str] | None, _option(_SUPPLY, "Machines already owned.", metavar="NAME=COUNT")
    ] = None,
    available: Annotated[
        list[str] | None, _option(_SUPPLY, "Machines to be had.", metavar="NAME=COUNT")
    ] = None,
    spares: Annotated[
        list[str] | None, _option(_SUPPLY, "Spare machines of a role.", metavar="ROLE=COUNT")
    ] = None,
    max_types_per_role: Annotated[
        int | None, _option(_SUPPLY, "Most machine types in one role.")
    ] = None,
    designs: Annotated[
        str | None,
        _option(_SUPPLY, "split, mixed, hybrid: separated by commas.", metavar="NAMES"),
    ] = None,
    minimize: Annotated[
        str | None, _option(_GOAL, "cost, power or machines.", metavar="OBJECTIVE")
    ] = None,
    maximize: Annotated[
        str | None,
        _option(
            _GOAL,
            "throughput, throughput_per_usd or throughput_per_watt.",
            metavar="OBJECTIVE",
        ),
    ] = None,
    usd_per_hour: Annotated[float | None, _option(_GOAL, "Most rent [USD/h].")] = None,
    power_w: Annotated[float | None, _option(_GOAL, "Most provisioned power [W].")] = None,
    machines: Annotated[int | None, _option(_GOAL, "Most machines.")] = None,
    rack_units: Annotated[float | None, _option(_GOAL, "Most rack units.")] = None,
    scheduler: Annotated[str | None, _option(_JUDGE, "The cluster's scheduler.")] = None,
    router: Annotated[str | None, _option(_JUDGE, "The router within a role.")] = None,
    duration_s: Annotated[
        float | None, _option(_JUDGE, "Length of the judged run [s].", "--duration")
    ] = None,
    warmup_s: Annotated[
        float | None, _option(_JUDGE, "Cut from its start [s].", "--warmup")
    ] = None,
    seeds: Annotated[int | None, _option(_JUDGE, "Number of judged runs.")] = None,
    arrivals: Annotated[str | None, _option(_JUDGE, "poisson or replay.")] = None,
    time_limit_s: Annotated[
        float | None, _option(_RUN, "Most time for the search [s].", "--time-limit")
    ] = None,
    changes: Changes = None,
    out: Annotated[
        Path | None, _option(_RUN, "Write the run's files.", "--out", metavar="FOLDER")
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
        code = _plan(scenario, flags, changes or [], out, force, as_json, moved_on)
    raise typer.Exit(code)


def _plan(
    path: Path | None,
    flags: dict[str, Any],
    changes: list[str],
    out: Path | None,
    force: bool,
    as_json: bool,
    moved_on: Any,
) -> int:
    from dataclasses import replace  # noqa: PLC0415 - heavy imports wait until a command runs

    from provisioner.cli.flags import scenario_changes  # noqa: PLC0415
    from provisioner.inputs import scenarios  # noqa: PLC0415
    from provisioner.inputs.resolve import changed_files, resolve  # noqa: PLC0415
    from provisioner.reporting.files import refuse_existing, save_run  # noqa: PLC0415
    from provisioner.reporting.records import result_record  # noqa: PLC0415
    from provisioner.reporting.tables import result_view  # noqa: PLC0415
    from provisioner.search.run import run  # noqa: PLC0415

    if out is not None:
        refuse_existing(out, force=force)
    stored = scenarios.read_scenario_data(path)
    data = scenarios.apply_changes(
        scenario_changes(flags, stored), scenarios.parse_changes(changes)
    )
    case = resolve(scenarios.parse_scenario(data, str(path or "scenario")))
    result = run(case, moved_on)
    notes = changed_files(stored, case.files)
    result = replace(result, warnings=(*notes, *result.warnings))
    if out is not None:
        save_run(result, case, out, force=force)
    show(result_record(result), result_view(result), as_json=as_json)
    return result.exit_code
