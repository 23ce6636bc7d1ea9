"""Results as plain records: the JSON of DESIGN 7.3, and the rows of the CSV files."""

from __future__ import annotations

import math
from typing import Any

from provisioner.domain.plan import Plan, Pool
from provisioner.domain.result import PlanResult, SloVerdict, UnitCost
from provisioner.units import JOULES_PER_KWH, SECONDS_PER_HOUR

SCHEMA_VERSION = 1
Record = dict[str, Any]

SUMMARY_COLUMNS = (
    "schema_version",
    "status",
    "model",
    "objective",
    "prices",
    "scheduler",
    "router",
    "design",
    "rate_per_s",
    "machines",
    "usd_per_hour",
    "provisioned_power_w",
    "rack_units",
    "mean_power_w",
    "requests_per_usd",
    "requests_per_kwh",
    "seeds",
    "holdout_pass_fraction",
    "proof",
    "proved",
    "bound",
    "gap",
    "simulations",
    "estimated",
    "slo_ok",
    "slo_source",
    "reasons",
    "warnings",
)
"""Columns of `summary.csv`, the same for every answer."""


def result_record(result: PlanResult) -> Record:
    """The whole result; keys and meanings are a contract (DESIGN 7.3)."""
    record: Record = {
        "schema_version": SCHEMA_VERSION,
        "status": result.status,
        "model": result.model,
        "workloads": [{"name": name, "rate_per_s": rate} for name, rate in result.workloads],
        "objective": result.objective,
        "prices": result.prices,
        "scheduler": result.scheduler,
        "router": result.router,
    }
    if result.plan is None or result.slo is None:
        record["reasons"] = [vars(reason) for reason in result.reasons]
    else:
        record |= _plan_record(result.plan)
        record["pools"] = [pool_record(pool) for pool in result.plan.pools]
        record["slo"] = slo_record(result.slo)
        record["binding"] = [vars(binding) for binding in result.binding]
        record["unit_costs"] = [unit_cost_record(cost) for cost in result.unit_costs]
        record |= {
            "seeds": list(result.seeds),
            "holdout_pass_fraction": result.holdout_pass_fraction,
            "proof": result.proof,
            "proved": result.proved,
            "bound": result.bound,
            "gap": result.gap,
        }
        if result.points:
            record["points"] = [point_record(point) for point in result.points]
    record |= {
        "simulations": result.simulations,
        "wall_s": result.wall_s,
        "estimated": list(result.estimated),
        "warnings": list(result.warnings),
    }
    clean: Record = finite(record)
    return clean


def _plan_record(plan: Plan) -> Record:
    rent, watts = plan.usd_per_hour, plan.mean_power_w
    return {
        "design": plan.design,
        "rate_per_s": plan.rate_per_s,
        "machines": plan.machines,
        "usd_per_hour": rent,
        "provisioned_power_w": plan.provisioned_power_w,
        "rack_units": plan.rack_units,
        "mean_power_w": watts,
        "requests_per_usd": plan.rate_per_s * SECONDS_PER_HOUR / rent if rent > 0 else None,
        "requests_per_kwh": plan.rate_per_s * JOULES_PER_KWH / watts if watts else None,
    }


def point_record(point: tuple[float, bool]) -> Record:
    """One rate at which the plan was tried."""
    rate, passed = point
    return {"rate_per_s": rate, "passed": passed}


def pool_record(pool: Pool) -> Record:
    """One pool."""
    return {**vars(pool), "role": pool.role.value}


def slo_record(slo: SloVerdict) -> Record:
    """All limits with the values reached."""
    return {
        "name": slo.name,
        "reference": slo.reference,
        "source": slo.source,
        "ok": slo.ok,
        "metrics": [{**vars(metric), "ok": metric.ok} for metric in slo.metrics],
    }


def unit_cost_record(cost: UnitCost) -> Record:
    """Unit economics of one machine type in one phase."""
    return {**vars(cost), "phase": cost.phase.value}


def summary_record(result: PlanResult) -> Record:
    """One row that sums a run up; pools, routing and latencies are left to their own files."""
    record = result_record(result)
    lists = {
        "seeds": " ".join(str(seed) for seed in result.seeds),
        "estimated": " ".join(result.estimated),
        "reasons": "; ".join(reason.sentence for reason in result.reasons),
        "warnings": "; ".join(result.warnings),
    }
    verdict = {
        "slo_ok": result.slo.ok if result.slo else None,
        "slo_source": result.slo.source if result.slo else None,
    }
    return {column: {**record, **verdict, **lists}.get(column) for column in SUMMARY_COLUMNS}


def finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON does not have, by null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
