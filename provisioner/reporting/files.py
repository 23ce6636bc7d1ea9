"""Files of a run: written whole into a draft folder that then takes the final name.

Nothing is overwritten unless asked, and a failure leaves nothing behind.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from provisioner.domain.case import Case
from provisioner.domain.result import PlanResult
from provisioner.errors import InputError
from provisioner.reporting.records import Record, pool_record, slo_record, summary_record

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
FILES = ("plan.csv", "routing.csv", "slo.csv", "summary.csv", "inputs.yaml", "model.lp")
"""Files of a run."""
_PACKAGES = ("provisioner", "pulp", "highspy", "numpy", "pandas", "scipy")


def refuse_existing(folder: Path, *, force: bool) -> None:
    """Refuse a folder that is there already, or that is no run to overwrite.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, or it holds anything but a run.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not force:
        raise InputError(f"{folder} exists; choose another name, or overwrite it with --force")
    if not folder.is_dir() or {path.name for path in folder.iterdir()} - set(FILES):
        raise InputError(f"{folder} holds more than a run's files, so it is not overwritten")


def save_run(result: PlanResult, case: Case, folder: Path, *, force: bool = False) -> None:
    """Write a run's files.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, or it cannot be written.
    """
    refuse_existing(folder, force=force)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        draft.mkdir(parents=True)
        for name, text in run_texts(result, case, folder).items():
            (draft / name).write_text(text, encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        draft.replace(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


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
    summary = summary_record(result)
    texts["summary.csv"] = table_text(tuple(summary), [summary])
    texts["inputs.yaml"] = inputs_text(case, folder)
    if result.model_lp:
        texts["model.lp"] = result.model_lp
    return texts


def table_text(columns: tuple[str, ...], rows: Iterable[Record]) -> str:
    """Rows as CSV; null is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def inputs_text(case: Case, folder: Path) -> str:
    """The scenario with every default written out, and where its data came from.

    Trace paths are relative to ``folder``, as every scenario file's are to its own.
    """
    scenario = case.scenario.model_dump(mode="json", exclude_none=True)
    slos = {workload.name: workload.slo for workload in case.workloads}
    scenario["workloads"] = [
        {**entry, "slo": slos[entry["name"]].model_dump(mode="json", exclude_none=True)}
        for entry in scenario["workloads"]
    ]
    for entry in scenario["workloads"]:
        if "trace" in entry:
            entry["trace"] = Path(os.path.relpath(entry["trace"], folder)).as_posix()
    scenario.pop("slo", None)
    provenance: dict[str, Any] = {
        "files_sha256": case.files,
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "prices_dated": case.price_list.date,
        "workload_sources": {w.name: w.source for w in case.workloads},
    }
    return yaml.safe_dump(
        {**scenario, "provenance": provenance}, sort_keys=False, width=100, allow_unicode=True
    )
