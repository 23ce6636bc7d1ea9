"""The tables of a reproduction: a record a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from provisioner.domain.reproduction import (
    COMPATIBLE,
    MEASURED,
    BatchJob,
    Changed,
    HeatPoint,
    Loaded,
    LostMachine,
    Reproduced,
    Reproduction,
)
from provisioner.domain.result import PlanResult
from provisioner.domain.verdict import ACTIVE_LEVELS
from provisioner.reporting.records import Record
from provisioner.reporting.reproduction_tables import OPTIMUM
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


def _columns(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


_ACTIVE = tuple(f"share_up_to_{tokens}_tokens" for tokens in ACTIVE_LEVELS)
LOAD_COLUMNS = (*(name for name in _columns(Loaded) if name != "active_share"), *_ACTIVE)
"""Columns of `high_load.csv`: `share_up_to_N_tokens` is of all machines' time."""
TABLES = {
    "clusters": CLUSTER_COLUMNS,
    "best": BEST_COLUMNS,
    "headlines": HEADLINE_COLUMNS,
    "heat_map": _columns(HeatPoint),
    "high_load": LOAD_COLUMNS,
    "robustness": _columns(Changed),
    "batch_jobs": _columns(BatchJob),
    "failures": _columns(LostMachine),
    "phases": _columns(PhasePoint),
    "alone": _columns(Alone),
    "transfer": _columns(Transfer),
}
"""Columns of every table, by its name."""


def tables_of(found: Reproduction) -> dict[str, list[Record]]:
    """Rows of every table, by its name."""
    return {
        "clusters": [cluster_record(row) for row in found.rows],
        "best": list(best_records(found)),
        "headlines": [row for one in judged(found) for row in _headline(one)],
        "heat_map": [vars(point) for point in found.heat],
        "high_load": [load_record(row) for row in found.loaded],
        "robustness": [vars(row) for row in found.changed],
        "batch_jobs": [vars(row) for row in found.batch],
        "failures": [vars(row) for row in found.lost],
        **profile_tables(),
    }


def profile_tables() -> dict[str, list[Record]]:
    """Rows of the tables that are formulas of the profiles."""
    return {
        "phases": [vars(point) for point in phases()],
        "alone": [vars(row) for row in alone()],
        "transfer": [vars(row) for row in transfers()],
    }


def load_record(row: Loaded) -> Record:
    """One cluster at a rate."""
    known = {name: value for name, value in vars(row).items() if name != "active_share"}
    return {**known, **dict(zip(_ACTIVE, row.active_share, strict=True))}


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
