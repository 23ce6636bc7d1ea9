"""The library: what `import provisioner` offers (DESIGN 7.4).

Nothing prints, writes or exits here, except `Outcome.save`; progress comes through a callback.

What is wrong with a file, a change, a name or an argument is an `InputError`. A `Scenario(...)`
made by hand is checked by pydantic as it is made, and raises pydantic's `ValidationError` (a
`ValueError`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from provisioner.domain.case import Case
from provisioner.domain.plan import Plan
from provisioner.domain.result import PlanResult, Reason, SloVerdict
from provisioner.domain.scenario import Scenario
from provisioner.errors import InputError
from provisioner.inputs.explain import describe
from provisioner.inputs.resolve import resolve
from provisioner.inputs.scenarios import apply_changes, parse_scenario, read_scenario_data
from provisioner.reporting import files
from provisioner.reporting.records import pool_record, result_record
from provisioner.search.find import Progress
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


def _wrong(name: str, needed: str, found: object) -> InputError:
    return InputError(f"{name}: {needed} is needed, found {describe(found)}")
