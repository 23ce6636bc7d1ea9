"""``provisioner simulate``: judge a cluster that is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provisioner.cli import options as o
from provisioner.cli.app import Changes, Force, Json, path
from provisioner.cli.output import say, show, uninterrupted
from provisioner.errors import InputError, UsageError

if TYPE_CHECKING:
    from provisioner.domain.case import Case
    from provisioner.domain.cluster import NamedCluster, Simulated
    from provisioner.search.judged import Traffic

_SIMULATION = ("duration_s", "warmup_s", "seeds", "arrivals")
_SETTINGS = ("traffic", "chunk_tokens", "compatible", "failures")
_LONGEST_S = 1e18


def simulate(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            help="A scenario file, or the folder of a saved run whose machines to simulate.",
            metavar="SCENARIO.yaml|FOLDER",
            parser=path,
            show_default=False,
        ),
    ] = None,
    machines: Annotated[
        list[str] | None,
        o.option(
            o.SUPPLY,
            "Machines of a pool: role prompt, token or mixed; without /tpN the largest tensor "
            "parallelism that is measured. May be repeated.",
            "ROLE:MACHINE/tpN=COUNT",
        ),
    ] = None,
    existing: o.Existing = None,
    prices: o.Prices = None,
    model: o.ModelName = None,
    workload: o.Workloads = None,
    trace: Annotated[
        list[str] | None,
        o.option(
            o.TRAFFIC,
            "A request trace, replayed whole and once unless --duration is given.",
            "FILE",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        o.option(
            o.TRAFFIC,
            "Requests per second, to which a trace is compressed; or peak_60s of a trace.",
            "RATE",
        ),
    ] = None,
    speedup: o.Speedup = None,
    prompt_tokens: o.PromptTokens = None,
    output_tokens: o.OutputTokens = None,
    growth: o.Growth = None,
    slo: o.Slos = None,
    scheduler: o.Scheduler = None,
    router: o.Router = None,
    chunk_tokens: Annotated[
        int | None,
        o.option(
            o.JUDGE,
            "Colocated machines do prompts in chunks: most tokens of a batch.",
            "COUNT",
            min=1,
            max=10**9,
        ),
    ] = None,
    duration_s: Annotated[
        str | None,
        o.option(
            o.JUDGE,
            "Length of a run, in s; of a trace, a window of it per seed.",
            "NUMBER",
            "--duration",
        ),
    ] = None,
    warmup_s: o.Warmup = None,
    seeds: o.Seeds = None,
    arrivals: o.Arrivals = None,
    failures: Annotated[
        list[str] | None,
        o.option(
            o.JUDGE,
            "Machines of a pool, one unless =COUNT is given, that are gone so many seconds after "
            "the start of every run; what was on them starts over. May be repeated.",
            "ROLE:MACHINE=COUNT@SECONDS",
            "--fail",
        ),
    ] = None,
    compatible: Annotated[
        str | None,
        o.option(o.JUDGE, "Follow another simulator's rules instead: splitwise-sim.", "NAME"),
    ] = None,
    changes: Changes = None,
    out: o.Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Judge a given cluster: its latencies against the SLO, how busy its pools are, their power.

    The machines are those of --machines, or of a saved run. The traffic is the built-in example's,
    the saved run's or the scenario's; flags change single fields of it. Exits with 0 whether or not
    the SLO holds.
    """
    flags = dict(locals())
    for key in ("scenario", "machines", "changes", "out", "force", "as_json"):
        flags.pop(key)
    settings = {key: flags.pop(key) or None for key in ("chunk_tokens", "compatible", "failures")}
    if out is not None:
        _make_way(out, force=force)
    question = _question(scenario, machines or [], flags, changes or [], settings)
    result, case = _simulated(question)
    if out is None:
        _show(result, as_json=as_json)
        return
    with uninterrupted():
        _save(result, case, out, question.settings, force=force)
        _show(result, as_json=as_json)
        say(f"written: {out}")


@dataclass(frozen=True)
class _Question:
    """What is to be simulated: keys of a scenario, where they are from, the machines, and how."""

    data: dict[str, Any]
    place: str
    cluster: NamedCluster
    settings: dict[str, Any]
    stored: dict[str, Any]


def _question(
    source: Path | None,
    machines: list[str],
    flags: dict[str, Any],
    changes: list[str],
    settings: dict[str, Any],
) -> _Question:
    from provisioner.cli.flags import scenario_changes  # noqa: PLC0415 - as below: loaded late
    from provisioner.inputs import clusters, scenarios  # noqa: PLC0415

    saved = source if source is not None and source.is_dir() else None
    if not machines and source is not None and not source.exists():
        raise InputError(f"{source}: no such file or folder")
    if not machines and saved is None:
        raise UsageError(
            "no machines: name them as --machines ROLE:MACHINE=COUNT (such as --machines "
            "mixed:dgx-h100=30), or give the folder of a saved plan"
        )
    cluster = clusters.parse_pools(machines) if machines else clusters.read_saved(saved or Path())
    stored = scenarios.read_scenario_data(saved / clusters.INPUTS if saved else source)
    more = scenarios.parse_changes(changes)
    asked = {key for key in _SIMULATION if flags[key] is not None or f"simulation.{key}" in more}
    kept = _saved_settings(stored) if saved else {}
    settings = {
        key: kept.get(key) if settings.get(key) is None else settings[key] for key in _SETTINGS
    }
    settings["traffic"] = _traffic(flags, asked, more, settings["traffic"])
    _refuse_useless(settings, asked, flags)
    data = scenario_changes(flags, clusters.with_hardware(stored, cluster))
    data = scenarios.apply_changes(data, more)
    if flags["trace"]:
        data = _as_it_is(data, asked, settings["traffic"])
    place = "scenario" if source is None else str(source)
    return _Question(data, place, cluster, settings, stored)


def _saved_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """How a saved simulation was made; nothing of a plan."""
    provenance = stored.get("provenance")
    kept = provenance.get("simulated") if isinstance(provenance, dict) else None
    return kept if isinstance(kept, dict) else {}


def _traffic(
    flags: dict[str, Any], asked: set[str], more: dict[str, Any], kept: str | None
) -> Traffic:
    """Traces of the command line are replayed: whole, or in windows of a duration."""
    arrivals = flags["arrivals"] or more.get("simulation.arrivals")
    if flags["trace"] and arrivals != "poisson":
        return "windows" if "duration_s" in asked else "whole"
    if kept in ("windows", "whole") and not asked and not flags["workload"]:
        return kept  # type: ignore[return-value] # one of the names that it may be
    return "scenario"


def _refuse_useless(settings: dict[str, Any], asked: set[str], flags: dict[str, Any]) -> None:
    if settings["traffic"] == "whole" and "seeds" in asked:
        raise UsageError(
            "--seeds changes nothing: the trace is replayed once, whole; give --duration for a "
            "window of it per seed, or --arrivals poisson"
        )
    if settings["compatible"] and "warmup_s" in asked:
        raise UsageError(f"--warmup: {settings['compatible']} counts every request")
    if settings["compatible"] and flags["router"]:
        raise UsageError(f"--router: {settings['compatible']} has a router of its own")


def _as_it_is(data: dict[str, Any], asked: set[str], traffic: Traffic) -> dict[str, Any]:
    """Keys of a scenario whose traces of the command line keep their own pace, unless told."""
    paces = ("rate", "rate_per_s", "speedup")
    entries = [
        entry if any(key in entry for key in paces) else {**entry, "speedup": 1}
        for entry in data["workloads"]
    ]
    stated = data.get("simulation") or {}
    if traffic == "whole":
        stated = {key: stated[key] for key in asked}
        stated = {"duration_s": _LONGEST_S, **stated, "seeds": 1, "arrivals": "replay"}
    elif traffic == "windows":
        stated = {**stated, "arrivals": "replay"}
    return {**data, "workloads": entries, "simulation": stated}


def _simulated(question: _Question) -> tuple[Simulated, Case]:
    from dataclasses import replace  # noqa: PLC0415

    from provisioner.inputs.failures import parse_failures  # noqa: PLC0415
    from provisioner.inputs.resolve import changed_files  # noqa: PLC0415
    from provisioner.inputs.scenarios import parse_scenario  # noqa: PLC0415
    from provisioner.search.named import simulate as simulated  # noqa: PLC0415

    scenario = parse_scenario(question.data, question.place)
    settings = question.settings
    settings = {**settings, "failures": parse_failures(settings["failures"] or ())}
    result, case = simulated(scenario, question.cluster, **settings, progress=say)
    notes = changed_files(question.stored, case.files)
    return replace(result, warnings=(*notes, *result.warnings)), case


def _make_way(folder: Path, *, force: bool) -> None:
    from provisioner.reporting.files import make_way  # noqa: PLC0415
    from provisioner.reporting.simulation import FILES  # noqa: PLC0415

    make_way(folder, force=force, switch="--force", names=FILES)


def _save(
    result: Simulated, case: Case, folder: Path, settings: dict[str, Any], *, force: bool
) -> None:
    from provisioner.reporting.simulation import save_simulated  # noqa: PLC0415

    save_simulated(result, case, folder, settings, force=force)


def _show(result: Simulated, *, as_json: bool) -> None:
    from provisioner.reporting.simulation import simulated_record, simulated_view  # noqa: PLC0415

    record = simulated_record(result)
    show(record, simulated_view(result), as_json=as_json)
    if record["requests_per_wall_s"]:
        say(
            f"{record['requests']:,} requests simulated in {record['wall_s']:.3g} s "
            f"({record['requests_per_wall_s']:,.0f} per second)"
        )
