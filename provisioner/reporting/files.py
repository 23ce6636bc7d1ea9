"""Files of a run: written whole into a draft folder that then takes the final name.

Nothing is overwritten unless asked, and a failure leaves nothing behind. What a killed process left
is cleared by the next that writes to the same name.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from provisioner.domain.case import Case
from provisioner.domain.result import PlanResult
from provisioner.errors import InputError
from provisioner.inputs import drafts
from provisioner.reporting.records import (
    SUMMARY_COLUMNS,
    Record,
    finite,
    point_record,
    pool_record,
    slo_record,
    summary_record,
    unit_cost_record,
)

POOL_COLUMNS = (
    "role",
    "machine",
    "hardware",
    "tensor_parallel",
    "instances_per_machine",
    "machines",
    "spares",
    "existing",
    "utilization",
    "usd_per_hour",
    "provisioned_power_w",
    "rack_units",
    "mean_power_w",
)
ROUTING_COLUMNS = ("workload", "request_class", "role", "machine", "tensor_parallel", "share")
SLO_COLUMNS = (
    "workload",
    "metric",
    "percentile",
    "unit",
    "limit",
    "value",
    "low",
    "high",
    "ok",
)
BINDING_COLUMNS = ("where", "limit", "used")
UNIT_COST_COLUMNS = (
    "machine",
    "tensor_parallel",
    "phase",
    "tokens_per_s",
    "usd_per_million_tokens",
    "wh_per_thousand_tokens",
    "machines_if_alone",
    "note",
)
POINT_COLUMNS = ("rate_per_s", "passed")
FILES = (
    "plan.csv",
    "routing.csv",
    "slo.csv",
    "binding.csv",
    "unit_costs.csv",
    "throughput.csv",
    "summary.csv",
    "inputs.yaml",
    "model.lp",
)
"""Files of a run."""
FORCE = "force=True"
"""How the library is told to overwrite."""
_PACKAGES = ("provisioner", "pulp", "highspy", "numpy", "pandas", "scipy")


def make_way(
    folder: Path, *, force: bool, switch: str = FORCE, names: tuple[str, ...] = FILES
) -> None:
    """Clear what killed processes left, and refuse a folder that is not to be written.

    Parameters
    ----------
    folder : Path
    force : bool
        Whether a run may be overwritten.
    switch : str
        How the caller is to ask for that, for the error message.
    names : tuple of str
        Files of a run of the caller's kind, and of no other.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, it holds anything but a run, it is the
        working directory, or nothing can be written where it is to be.
    """
    with contextlib.suppress(OSError):
        drafts.clear_abandoned(folder)
    if not os.path.lexists(folder):
        _refuse_unwritable(folder)
        return
    if not force:
        raise InputError(f"{folder} exists; choose another name, or overwrite it with {switch}")
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"{folder} is no folder, so it is not overwritten")
    if Path.cwd().is_relative_to(folder.resolve()):
        raise InputError(f"{folder} is the working directory, so it is not overwritten")
    foreign = [p.name for p in folder.iterdir() if p.name not in names or not p.is_file()]
    if foreign:
        raise InputError(
            f"{folder} holds more than a run's files ({min(foreign)}), so it is not overwritten"
        )


def _refuse_unwritable(folder: Path) -> None:
    """Find out before the search rather than after it."""
    parent = next(p for p in folder.absolute().parents if os.path.lexists(p))
    if not parent.is_dir():
        raise InputError(f"{folder}: cannot be written: {parent} is no folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written: {parent} is read-only")


def save_run(result: PlanResult, case: Case, folder: Path, *, force: bool = False) -> None:
    """Write a run's files.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, or it cannot be written.
    """
    make_way(folder, force=force)
    save_texts(run_texts(result, case, folder), folder)


def save_texts(texts: dict[str, str], folder: Path) -> None:
    """Write all files of a run, or none, where `make_way` has been.

    Raises
    ------
    InputError
        Where the folder cannot be written.
    """
    missing = [p for p in folder.absolute().parents if not os.path.lexists(p)]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _put_in_place(folder, texts)
    except OSError as error:
        with contextlib.suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from None


def _put_in_place(folder: Path, texts: dict[str, str]) -> None:
    """Write a draft, then let it take the folder's place; on failure all is as before."""
    draft, former = drafts.draft_of(folder), drafts.draft_of(folder, drafts.FORMER)
    try:
        draft.mkdir()
        for name, text in texts.items():
            (draft / name).write_text(text, encoding="utf-8")
        if folder.exists():
            folder.replace(former)
        draft.replace(folder)
    except BaseException:
        if former.exists() and not folder.exists():
            former.replace(folder)
        raise
    finally:
        drafts.remove(draft)
        drafts.remove(former)


def run_texts(result: PlanResult, case: Case, folder: Path) -> dict[str, str]:
    """Name and content of every file of a run that is to live in ``folder``."""
    texts = {}
    if result.plan is not None and result.slo is not None:
        pools = [pool_record(pool) for pool in result.plan.pools]
        shares = [{**vars(share), "role": share.role.value} for share in result.plan.routing]
        metrics = slo_record(result.slo)["metrics"]
        texts["plan.csv"] = table_text(POOL_COLUMNS, pools)
        texts["routing.csv"] = table_text(ROUTING_COLUMNS, shares)
        texts["slo.csv"] = table_text(SLO_COLUMNS, metrics)
        texts["binding.csv"] = table_text(BINDING_COLUMNS, map(vars, result.binding))
        unit_costs = map(unit_cost_record, result.unit_costs)
        texts["unit_costs.csv"] = table_text(UNIT_COST_COLUMNS, unit_costs)
    if result.points:
        texts["throughput.csv"] = table_text(POINT_COLUMNS, map(point_record, result.points))
    texts["summary.csv"] = table_text(SUMMARY_COLUMNS, [summary_record(result)])
    texts["inputs.yaml"] = inputs_text(case, folder)
    if result.model_lp:
        texts["model.lp"] = result.model_lp
    return texts


def table_text(columns: tuple[str, ...], rows: Iterable[Record]) -> str:
    """Rows as CSV; null is an empty cell, and so is what JSON does not have either."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(finite(row) for row in rows)
    return text.getvalue()


def inputs_text(case: Case, folder: Path, more: Mapping[str, Any] | None = None) -> str:
    """The scenario with every default written out, and where its data came from.

    Trace paths are relative to ``folder``, as every scenario file's are to its own. ``more`` is
    added to the provenance.
    """
    scenario = case.scenario.model_dump(mode="json", exclude_none=True)
    if case.scenario.maximize is None:
        scenario["minimize"] = case.scenario.objective
    for entry, workload in zip(scenario["workloads"], case.workloads, strict=True):
        holder = entry if "slo" in entry else scenario
        holder["slo"] = workload.slo.model_dump(mode="json", exclude_none=True)
        if "trace" in entry:
            entry["trace"] = _relative(Path(entry["trace"]), folder)
    provenance: dict[str, Any] = {
        "files_sha256": case.files,
        "versions": {name: _version(name) for name in _PACKAGES},
        "prices_dated": case.price_list.date,
        "workload_sources": {w.name: w.source for w in case.workloads},
        **(more or {}),
    }
    return yaml.safe_dump(
        {**scenario, "provenance": provenance}, sort_keys=False, width=100, allow_unicode=True
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"  # run from its folder


def _relative(path: Path, folder: Path) -> str:
    """A path as seen from a folder; links on the way to both are followed, as ``..`` does."""
    real = path.parent.resolve() / path.name
    return Path(os.path.relpath(real, folder.resolve())).as_posix()
