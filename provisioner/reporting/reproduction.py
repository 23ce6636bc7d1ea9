"""A reproduction as tables, as CSV files, and as a page that a reader of the paper can follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from provisioner.domain.reproduction import Changed, Reproduced, Reproduction
from provisioner.domain.result import PlanResult
from provisioner.reporting import files
from provisioner.reporting.records import Record, finite
from provisioner.reporting.reproduction_page import page_text
from provisioner.reporting.reproduction_tables import COMPATIBLE, MEASURED, OPTIMUM
from provisioner.reproduction.budgets import compatible_optimum
from provisioner.reproduction.characterisation import (
    Alone,
    PhasePoint,
    Transfer,
    alone,
    phases,
    transfers,
)
from provisioner.reproduction.headlines import Judged, judged
from provisioner.reproduction.published import pools_of

CLUSTER_COLUMNS = (
    "question",
    "workload",
    "design",
    "prompt_machines",
    "token_machines",
    "machines",
    "usd_per_hour",
    "provisioned_power_w",
    "rack_units",
    "fits_budget",
    "paper_rate_per_s",
    "simulator_rate_per_s",
    "compatible_rate_per_s",
    "measured_rate_per_s",
    "source",
)
"""Columns of `clusters.csv`: the published clusters."""
BEST_COLUMNS = (
    "question",
    "workload",
    "design",
    "rule",
    "pools",
    "machines",
    "usd_per_hour",
    "provisioned_power_w",
    "rack_units",
    "rate_per_s",
    "proof",
    "gap",
    "holdout_pass_fraction",
    "clusters_tried",
)
"""Columns of `best.csv`: the best of each design, by both rules."""
HEADLINE_COLUMNS = (
    "headline",
    "design",
    "baseline",
    "question",
    "ratio",
    "claimed",
    "paper",
    "compatible",
    "compatible_best",
    "measured",
    "measured_best",
)
"""Columns of `headlines.csv`: a row per ratio."""
CHANGED_COLUMNS, PHASE_COLUMNS, ALONE_COLUMNS, TRANSFER_COLUMNS = (
    tuple(field.name for field in fields(kind)) for kind in (Changed, PhasePoint, Alone, Transfer)
)
"""Columns of `robustness.csv`, `phases.csv`, `alone.csv` and `transfer.csv`."""
FILES = (
    "clusters.csv",
    "best.csv",
    "headlines.csv",
    "robustness.csv",
    "phases.csv",
    "alone.csv",
    "transfer.csv",
    "README.md",
)


def reproduction_record(found: Reproduction) -> Record:
    """Everything, by file."""
    record: Record = {
        "clusters": [cluster_record(row) for row in found.rows],
        "best": list(best_records(found)),
        "headlines": [row for one in judged(found) for row in _headline(one)],
        "robustness": [vars(row) for row in found.changed],
        "phases": [vars(point) for point in phases()],
        "alone": [vars(row) for row in alone()],
        "transfer": [vars(row) for row in transfers()],
    }
    clean: Record = finite(record)
    return clean


def cluster_record(row: Reproduced) -> Record:
    """One published cluster."""
    return {
        **vars(row.published),
        **vars(row.bill),
        "fits_budget": row.fits,
        "compatible_rate_per_s": row.compatible_rate_per_s,
        "measured_rate_per_s": row.measured_rate_per_s,
    }


def best_records(found: Reproduction) -> Iterator[Record]:
    """The best of each design by both rules, and of all designs by our own."""
    for row in found.rows:
        asked = {key: getattr(row.published, key) for key in ("question", "workload", "design")}
        yield {**asked, **_compatible(row)}
        yield {**asked, **_planned(row.best)}
    for (question, workload), result in found.optima.items():
        asked = {"question": question, "workload": workload, "design": OPTIMUM}
        yield {**asked, **_compatible(compatible_optimum(found, question, workload))}
        yield {**asked, **_planned(result)}


def _compatible(row: Reproduced) -> Record:
    best = row.compatible_best
    pools = pools_of(row.published.design, best.counts)
    return {
        "rule": COMPATIBLE,
        "pools": " + ".join(f"{n} {role} {machine}" for (role, machine), n in pools.items()),
        **vars(best.bill),
        "rate_per_s": best.rate_per_s,
        "proof": "monotone",
        "gap": 0.0,
        "holdout_pass_fraction": None,
        "clusters_tried": best.tried,
    }


def _planned(result: PlanResult) -> Record:
    plan = result.plan
    pools = () if plan is None else plan.pools
    return {
        "rule": MEASURED,
        "pools": " + ".join(f"{p.machines} {p.role.value} {p.machine}" for p in pools),
        "machines": None if plan is None else plan.machines,
        "usd_per_hour": None if plan is None else plan.usd_per_hour,
        "provisioned_power_w": None if plan is None else plan.provisioned_power_w,
        "rack_units": None if plan is None else plan.rack_units,
        "rate_per_s": None if plan is None else plan.rate_per_s,
        "proof": result.proof,
        "gap": result.gap,
        "holdout_pass_fraction": result.holdout_pass_fraction,
        "clusters_tried": result.simulations,
    }


def _headline(one: Judged) -> Iterator[Record]:
    headline = one.headline
    for ratio in ("throughput", "cost", "power"):
        claimed = getattr(headline, ratio)
        if claimed is None:
            continue
        yield {
            "headline": headline.text,
            "design": headline.design,
            "baseline": headline.baseline,
            "question": headline.question,
            "ratio": ratio,
            "claimed": claimed,
            "paper": getattr(one.paper, ratio),
            "compatible": getattr(one.compatible, ratio),
            "compatible_best": getattr(one.best_compatible, ratio),
            "measured": getattr(one.measured, ratio),
            "measured_best": getattr(one.best, ratio),
        }


def reproduction_texts(found: Reproduction, command: str) -> dict[str, str]:
    """Name and content of every file; the same whenever and however fast they are made."""
    record = reproduction_record(found)
    return {
        "clusters.csv": files.table_text(CLUSTER_COLUMNS, record["clusters"]),
        "best.csv": files.table_text(BEST_COLUMNS, record["best"]),
        "headlines.csv": files.table_text(HEADLINE_COLUMNS, record["headlines"]),
        "robustness.csv": files.table_text(CHANGED_COLUMNS, record["robustness"]),
        "phases.csv": files.table_text(PHASE_COLUMNS, record["phases"]),
        "alone.csv": files.table_text(ALONE_COLUMNS, record["alone"]),
        "transfer.csv": files.table_text(TRANSFER_COLUMNS, record["transfer"]),
        "README.md": page_text(found, command),
    }


def save_reproduction(
    found: Reproduction, folder: Path, command: str, *, force: bool = False
) -> None:
    """Write a reproduction's files.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, or it cannot be written.
    """
    files.make_way(folder, force=force, names=FILES)
    files.save_texts(reproduction_texts(found, command), folder)
