"""The library: what `import provisioner` offers (DESIGN 7.4).

Nothing prints, writes or exits here, except `save` of a result; progress comes through a callback.

What is wrong with a file, a change, a name or an argument is an `InputError`. A `Scenario(...)`
made by hand is checked by pydantic as it is made, and raises pydantic's `ValidationError` (a
`ValueError`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from provisioner.domain.case import Case
from provisioner.domain.cluster import Simulated
from provisioner.domain.comparison import Comparison
from provisioner.domain.failure import Failure
from provisioner.domain.plan import Plan, Pool
from provisioner.domain.result import PlanResult, Reason, SloVerdict
from provisioner.domain.scenario import Scenario
from provisioner.domain.verdict import LatencySummary
from provisioner.errors import InputError
from provisioner.inputs.clusters import pools_of
from provisioner.inputs.explain import describe
from provisioner.inputs.failures import checked
from provisioner.inputs.resolve import resolve
from provisioner.inputs.scenarios import apply_changes, parse_scenario, read_scenario_data
from provisioner.reporting import files
from provisioner.reporting.comparison import COLUMNS as COMPARE_COLUMNS
from provisioner.reporting.comparison import comparison_record, save_comparison
from provisioner.reporting.records import pool_record, result_record
from provisioner.reporting.simulation import (
    POOL_COLUMNS,
    pool_records,
    save_simulated,
    simulated_record,
)
from provisioner.search import comparison, named
from provisioner.search.find import Progress
from provisioner.search.judged import TRAFFIC, Traffic
from provisioner.search.run import run


@dataclass(frozen=True, repr=False)
class Outcome:
    """The answer to a scenario: a plan, or the reasons that there is none."""

    result: PlanResult
    case: Case

    def __repr__(self) -> str:
        """Return the answer in one line; all of it is in `to_dict`."""
        if self.plan is None:
            return f"<Outcome infeasible: {'; '.join(r.sentence for r in self.reasons)}>"
        pools = ", ".join(f"{pool.machines} {pool.label}" for pool in self.plan.pools)
        return f"<Outcome ok: {pools}>"

    @property
    def status(self) -> str:
        """``ok`` or ``infeasible``."""
        return self.result.status

    @property
    def plan(self) -> Plan | None:
        """Pools and routing; None where nothing is feasible."""
        return self.result.plan

    @property
    def slo(self) -> SloVerdict | None:
        """Every limit with the value reached; None where nothing is feasible."""
        return self.result.slo

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Which limit to move, and to what value; empty where there is a plan."""
        return self.result.reasons

    @property
    def proved(self) -> bool:
        """Whether no better plan within the limits passes."""
        return self.result.proved

    @property
    def bound(self) -> float | None:
        """A value of the objective that no cluster beats."""
        return self.result.bound

    def to_dict(self) -> dict[str, Any]:
        """The result with the keys of the command line's JSON (DESIGN 7.3)."""
        return result_record(self.result)

    def to_frame(self) -> pd.DataFrame:
        """One row per pool, with the columns of `plan.csv`; no row where nothing is feasible."""
        pools = self.result.plan.pools if self.result.plan else ()
        frame = pd.DataFrame([pool_record(p) for p in pools], columns=list(files.POOL_COLUMNS))
        return frame.astype({"mean_power_w": float})  # NaN where not measured

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write the run's files into a new folder.

        Raises
        ------
        InputError
            Where the folder exists and ``force`` is not given, or it cannot be written.
        """
        files.save_run(self.result, self.case, _path(folder, "folder"), force=force)


@dataclass(frozen=True, repr=False)
class Judgement:
    """What a simulation says of a cluster."""

    result: Simulated
    case: Case
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return the answer in one line; all of it is in `to_dict`."""
        missed = [metric for metric in self.slo.metrics if not metric.ok]
        verdict = f"misses {len(missed)} limits" if missed else "ok"
        pools = ", ".join(f"{pool.machines} {pool.label}" for pool in self.pools)
        return f"<Judgement {verdict}: {pools}>"

    @property
    def slo(self) -> SloVerdict:
        """Every limit with the value reached and its interval."""
        return self.result.verdict.slo

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The pools, with measured utilisation and power."""
        return self.result.pools

    @property
    def latency(self) -> dict[str, LatencySummary]:
        """Mean and percentiles of every latency [s]."""
        return self.result.verdict.latency

    def to_dict(self) -> dict[str, Any]:
        """The result with the keys of the command line's JSON (DESIGN 7.2)."""
        return simulated_record(self.result)

    def to_frame(self) -> pd.DataFrame:
        """One row per pool, with the columns of `pools.csv`."""
        measured = ("utilization", "mean_power_w", "mean_batch", "kv_occupancy")
        frame = pd.DataFrame(pool_records(self.result), columns=list(POOL_COLUMNS))
        return frame.astype(dict.fromkeys(measured, float))  # NaN where not measured

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write the simulation's files into a new folder.

        Raises
        ------
        InputError
            Where the folder exists and ``force`` is not given, or it cannot be written.
        """
        where = _path(folder, "folder")
        save_simulated(self.result, self.case, where, dict(self.settings), force=force)


@dataclass(frozen=True, repr=False)
class SideBySide:
    """Designs planned for one scenario, the best of all last."""

    comparison: Comparison
    case: Case

    def __repr__(self) -> str:
        """Return the rows in one line; all of them are in `to_frame`."""
        rows = ", ".join(f"{row.name}: {_short(row.result)}" for row in self.comparison.rows)
        return f"<SideBySide {rows}>"

    @property
    def results(self) -> dict[str, PlanResult]:
        """Each design's answer."""
        return {row.name: row.result for row in self.comparison.rows}

    def to_dict(self) -> dict[str, Any]:
        """The comparison with the keys of the command line's JSON."""
        return comparison_record(self.comparison)

    def to_frame(self) -> pd.DataFrame:
        """One row per design, with the columns of `compare.csv`."""
        return pd.DataFrame(self.to_dict()["items"], columns=list(COMPARE_COLUMNS))

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write the comparison's files into a new folder.

        Raises
        ------
        InputError
            Where the folder exists and ``force`` is not given, or it cannot be written.
        """
        save_comparison(self.comparison, self.case, _path(folder, "folder"), force=force)


def _short(result: PlanResult) -> str:
    return result.status if result.plan is None else f"{result.plan.machines} machines"


def load_scenario(
    path: str | PathLike[str] | None = None, changes: Mapping[str, Any] | None = None
) -> Scenario:
    """Read a scenario file, or the built-in example where no path is given.

    Parameters
    ----------
    path : path, optional
    changes : mapping, optional
        Dotted keys to new values, for example ``{"workloads.azure-conv.rate_per_s": 140}``.

    Raises
    ------
    InputError
        Where an argument, the file or a change is wrong.
    """
    _check_changes(changes)
    data = read_scenario_data(None if path is None else _path(path, "path"))
    return parse_scenario(apply_changes(data, changes or {}), str(path or "example"))


def plan(scenario: Scenario, progress: Progress = lambda _: None) -> Outcome:
    """Find the best cluster for a scenario.

    Parameters
    ----------
    scenario : Scenario
    progress : callable, optional
        Called with a short sentence whenever the search moves on.

    Returns
    -------
    Outcome
        Infeasible is an outcome with reasons, not an exception.

    Raises
    ------
    InputError
        Where an argument is of the wrong kind, a name does not exist, a file is wrong, or the model
        fits no machine.
    """
    if not isinstance(scenario, Scenario):
        raise _wrong("scenario", "a Scenario, as of load_scenario,", scenario)
    if not callable(progress):
        raise _wrong("progress", "a function of one sentence", progress)
    case = resolve(scenario)
    return Outcome(run(case, progress), case)


def compare(
    scenario: Scenario,
    designs: Sequence[str] = (),
    baseline: str | None = None,
    progress: Progress = lambda _: None,
) -> SideBySide:
    """Plan designs side by side, and the best of all, which is the scenario's own designs'.

    Parameters
    ----------
    scenario : Scenario
    designs : sequence of str, optional
        Designs to compare; by default the named ones whose machine types are candidates.
    baseline : str, optional
        What the others are compared with: a design, or ``optimum``.
    progress : callable, optional
        Called with a short sentence whenever the search moves on.

    Raises
    ------
    InputError
        Where an argument is of the wrong kind, or a name does not exist.
    StoppedError
        Where the time limit comes before the best of all has any plan.
    """
    if not isinstance(scenario, Scenario):
        raise _wrong("scenario", "a Scenario, as of load_scenario,", scenario)
    if not callable(progress):
        raise _wrong("progress", "a function of one sentence", progress)
    if isinstance(designs, str) or not all(isinstance(name, str) for name in designs):
        raise _wrong("designs", "a list of names", designs)
    case = resolve(scenario)
    return SideBySide(comparison.compare(case, tuple(designs), baseline, progress), case)


def simulate(
    scenario: Scenario,
    machines: Mapping[tuple[str, str] | tuple[str, str, int], int],
    progress: Progress = lambda _: None,
    *,
    traffic: Traffic = "scenario",
    chunk_tokens: int | None = None,
    compatible: str | None = None,
    failures: Sequence[Failure] = (),
) -> Judgement:
    """Judge a given cluster on a scenario's traffic.

    Parameters
    ----------
    scenario : Scenario
    machines : mapping
        Numbers of machines by (role, machine type) or (role, machine type, tensor parallelism);
        without one, the largest that is measured. None of them is a spare.
    progress : callable, optional
        Called with a short sentence before what takes long.
    traffic : str
        ``scenario``: as a plan is judged. ``whole``: the scenario's traces as they are, replayed
        once, compressed to their rates where the scenario states any. ``windows``: a window of
        them per seed.
    chunk_tokens : int, optional
        Colocated machines do prompts in chunks, so that a batch has at most so many tokens.
    compatible : str, optional
        ``splitwise-sim`` follows the published simulator's rules instead.
    failures : sequence of Failure, optional
        Machines that are gone from one moment of every run on; what was on them restarts.

    Raises
    ------
    InputError
        Where an argument is of the wrong kind, a name does not exist, a file is wrong, or the
        machines are no cluster.
    UsageError
        Where arguments contradict each other.
    """
    if not isinstance(scenario, Scenario):
        raise _wrong("scenario", "a Scenario, as of load_scenario,", scenario)
    if not callable(progress):
        raise _wrong("progress", "a function of one sentence", progress)
    if traffic not in TRAFFIC:
        raise _wrong("traffic", f"one of {', '.join(TRAFFIC)}", traffic)
    _check_chunk(chunk_tokens)
    failing = checked(failures)
    result, case = named.simulate(
        scenario, pools_of(machines), traffic, chunk_tokens, compatible, failing, progress
    )
    settings = {
        "traffic": traffic,
        "chunk_tokens": chunk_tokens,
        "compatible": compatible,
        "failures": [str(failure) for failure in result.failures] or None,
    }
    return Judgement(result, case, settings)


def _path(given: object, name: str) -> Path:
    """An argument as a path; Python would take an empty one for the working directory."""
    if not isinstance(given, (str, PathLike)) or not str(given):
        raise _wrong(name, "a path", given)
    return Path(given)


def _check_changes(changes: object) -> None:
    if changes is None:
        return
    if not isinstance(changes, Mapping):
        raise _wrong("changes", "a mapping of dotted keys to values", changes)
    for key in changes:
        if not isinstance(key, str):
            raise _wrong("changes", "a dotted key as text", key)


def _check_chunk(tokens: object) -> None:
    if tokens is not None and (type(tokens) is not int or tokens < 1):
        raise _wrong("chunk_tokens", "a whole number above 0", tokens)


def _wrong(name: str, needed: str, found: object) -> InputError:
    return InputError(f"{name}: {needed} is needed, found {describe(found)}")
