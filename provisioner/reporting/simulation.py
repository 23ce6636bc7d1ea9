"""A simulated cluster as a record (DESIGN 7.2), as tables, and as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from provisioner.domain.case import Case
from provisioner.domain.cluster import Simulated
from provisioner.domain.failure import Failure
from provisioner.reporting import files
from provisioner.reporting.records import (
    SCHEMA_VERSION,
    Record,
    finite,
    pool_record,
    slo_record,
)
from provisioner.reporting.tables import line, table
from provisioner.units import SECONDS_PER_HOUR, WATTS_PER_KW

POOL_COLUMNS = (*files.POOL_COLUMNS, "mean_batch", "kv_occupancy")
LATENCY_COLUMNS = ("latency", "mean", "p50", "p90", "p99")
SUMMARY_COLUMNS = (
    "schema_version",
    "status",
    "model",
    "prices",
    "scheduler",
    "router",
    "chunk_tokens",
    "compatible",
    "failures",
    "rate_per_s",
    "machines",
    "usd_per_hour",
    "provisioned_power_w",
    "rack_units",
    "mean_power_w",
    "requests_per_usd",
    "requests_per_kwh",
    "requests",
    "judged",
    "unfinished",
    "restarted",
    "warmup_s",
    "duration_s",
    "seeds",
    "slo_ok",
    "estimated",
    "warnings",
)
FILES = ("pools.csv", "slo.csv", "latency.csv", "summary.csv", "inputs.yaml")
"""Files of a simulation."""
_NAMES = {
    "ttft_s": "TTFT",
    "tbt_s": "TBT, mean of a request",
    "gap_s": "gap between tokens",
    "e2e_s": "E2E",
    "queue_s": "wait for the prompt",
    "transfer_s": "transfer",
}
_DASH = "-"


def simulated_record(result: Simulated) -> Record:
    """The whole result; keys and meanings are a contract (DESIGN 7.2)."""
    verdict, rent = result.verdict, result.usd_per_hour
    per_wall_s = verdict.requests / verdict.wall_s if verdict.wall_s > 0 else None
    record: Record = {
        "schema_version": SCHEMA_VERSION,
        "status": "ok",
        "model": result.model,
        "workloads": [{"name": name, "rate_per_s": rate} for name, rate in result.workloads],
        "prices": result.prices,
        "scheduler": result.scheduler,
        "router": result.router,
        "chunk_tokens": result.chunk_tokens,
        "compatible": result.compatible,
        "failures": [failure_record(failure) for failure in result.failures],
        "rate_per_s": result.rate_per_s,
        "machines": result.machines,
        "usd_per_hour": rent,
        "provisioned_power_w": result.provisioned_power_w,
        "rack_units": result.rack_units,
        "mean_power_w": result.mean_power_w,
        "requests_per_usd": result.rate_per_s * SECONDS_PER_HOUR / rent if rent > 0 else None,
        "requests_per_kwh": result.requests_per_kwh,
        "pools": pool_records(result),
        "slo": slo_record(verdict.slo),
        "latency": {name: dict(vars(summary)) for name, summary in verdict.latency.items()},
        "requests": verdict.requests,
        "judged": verdict.judged,
        "unfinished": verdict.unfinished,
        "restarted": verdict.restarted,
        "warmup_s": verdict.warmup_s,
        "duration_s": verdict.duration_s,
        "seeds": list(verdict.seeds),
        "wall_s": verdict.wall_s,
        "requests_per_wall_s": per_wall_s,
        "estimated": list(result.estimated),
        "warnings": list(result.warnings),
    }
    clean: Record = finite(record)
    return clean


def failure_record(failure: Failure) -> Record:
    """Machines that failed, and when."""
    return {
        "role": failure.role.value,
        "machine": failure.machine,
        "tensor_parallel": failure.tensor_parallel,
        "machines": failure.machines,
        "time_s": failure.time_s,
    }


def pool_records(result: Simulated) -> list[Record]:
    """One record per pool, with what only a simulation measures."""
    return [
        pool_record(pool) | {"mean_batch": measure.mean_batch, "kv_occupancy": measure.kv_occupancy}
        for pool, measure in zip(result.pools, result.verdict.pools, strict=True)
    ]


def simulated_view(result: Simulated) -> RenderableType:
    """Everything that people want to see of a simulation, top to bottom.

    Nothing in it depends on how fast the computer is.
    """
    return Group(*_view(simulated_record(result)))


def _view(record: Record) -> Iterator[RenderableType]:
    yield line(_headline(record), style="bold")
    yield line(_terms(record))
    if record["failures"]:
        yield line(_failed(record))
    yield line("\nPools", style="bold")
    yield _pool_table(record)
    slo = record["slo"]
    against = f", against {slo['reference']}" if slo["reference"] else ""
    yield line(f"\nSLO {slo['name']}{against} (simulated)", style="bold")
    yield _slo_table(record)
    yield line("\nLatencies in seconds", style="bold")
    yield _latency_table(record)
    if record["warnings"]:
        yield line("\nNotes", style="bold")
        for warning in record["warnings"]:
            yield line(f"- {warning}", style="dim")


def _headline(record: Record) -> str:
    limits = record["slo"]["metrics"]
    missed = sum(not metric["ok"] for metric in limits)
    verdict = f"Misses {missed} of {len(limits)} limits" if missed else "Keeps every limit"
    mean = "" if record["mean_power_w"] is None else f", {_kw(record['mean_power_w'])} kW drawn"
    pools = ", ".join(
        f"{pool['machines']:,} {pool['machine']}/tp{pool['tensor_parallel']} ({pool['role']})"
        for pool in record["pools"]
    )
    return (
        f"{verdict} at {record['rate_per_s']:,.4g} requests/s for {record['usd_per_hour']:,.2f} "
        f"$/h{mean}: {pools}"
    )


def _terms(record: Record) -> str:
    streams = ", ".join(
        f"{stream['name']} at {stream['rate_per_s']:,.4g}/s" for stream in record["workloads"]
    )
    seeds = len(record["seeds"])
    chunks = f" in chunks of {record['chunk_tokens']} tokens" if record["chunk_tokens"] else ""
    rules = f"by the rules of {record['compatible']}; " if record["compatible"] else ""
    return (
        f"{record['model']}; {streams}; {rules}scheduler {record['scheduler']}{chunks}, router "
        f"{record['router']}; {record['requests']:,} requests in {seeds} run"
        f"{'s' if seeds != 1 else ''} of {record['duration_s']:,.4g} s, judged from "
        f"{record['warmup_s']:,.4g} s on: {record['judged']:,}"
    )


def _failed(record: Record) -> str:
    gone = ", ".join(
        f"{failure['machines']} {failure['machine']}/tp{failure['tensor_parallel']} "
        f"({failure['role']}) at {failure['time_s']:,.4g} s"
        for failure in record["failures"]
    )
    return f"Failing in every run: {gone}; {record['restarted']:,} judged requests started over"


def _pool_table(record: Record) -> RenderableType:
    rows = [
        (
            pool["role"],
            f"{pool['machine']}/tp{pool['tensor_parallel']}",
            f"{pool['machines']:,}",
            f"{pool['spares']:,}",
            _number(pool["utilization"], ".0%"),
            _number(pool["mean_batch"], ".1f"),
            _number(pool["kv_occupancy"], ".0%"),
            f"{pool['usd_per_hour']:,.2f}",
            _kw(pool["provisioned_power_w"]),
            _kw(pool["mean_power_w"]),
        )
        for pool in record["pools"]
    ]
    headings = ("role", "machine", ">machines", ">spare", ">busy", ">batch", ">KV full")
    return table((*headings, ">$/h", ">kW", ">mean kW"), rows)


def _slo_table(record: Record) -> RenderableType:
    rows = []
    for metric in record["slo"]["metrics"]:
        unit = "x" if metric["unit"] == "slowdown" else " s"
        low, high = (_number(metric[key], ".3g") for key in ("low", "high"))
        rows.append(
            (
                metric["workload"],
                f"{metric['metric'].upper()} p{metric['percentile']:g}",
                f"{metric['limit']:g}{unit}",
                _DASH if metric["value"] is None else f"{metric['value']:.3g}{unit}",
                _DASH if metric["low"] is None else f"{low} to {high}",
                "ok" if metric["ok"] else "MISSED",
            )
        )
    return table(("workload", "metric", ">limit", ">simulated", ">95 % interval", ""), rows)


def _latency_table(record: Record) -> RenderableType:
    rows = [
        (heading, *(_number(record["latency"][name][key], ".3g") for key in LATENCY_COLUMNS[1:]))
        for name, heading in _NAMES.items()
    ]
    return table(("", ">mean", ">p50", ">p90", ">p99"), rows)


def _kw(watts: float | None) -> str:
    return _DASH if watts is None else f"{watts / WATTS_PER_KW:,.1f}"


def _number(value: float | None, form: str) -> str:
    return _DASH if value is None else format(value, form)


def save_simulated(
    result: Simulated, case: Case, folder: Path, settings: dict[str, Any], *, force: bool = False
) -> None:
    """Write a simulation's files.

    Parameters
    ----------
    settings : dict
        How it was simulated beyond what a scenario says; with it `inputs.yaml` repeats it.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, or it cannot be written.
    """
    files.make_way(folder, force=force, names=FILES)
    files.save_texts(simulated_texts(result, case, folder, settings), folder)


def simulated_texts(
    result: Simulated, case: Case, folder: Path, settings: dict[str, Any]
) -> dict[str, str]:
    """Name and content of every file of a simulation that is to live in ``folder``."""
    record = simulated_record(result)
    summary = record | {
        "failures": " ".join(map(str, result.failures)),
        "seeds": " ".join(map(str, record["seeds"])),
        "slo_ok": record["slo"]["ok"],
        "estimated": " ".join(record["estimated"]),
        "warnings": "; ".join(record["warnings"]),
    }
    row = {column: summary[column] for column in SUMMARY_COLUMNS}
    latencies = [{"latency": name, **values} for name, values in record["latency"].items()]
    return {
        "pools.csv": files.table_text(POOL_COLUMNS, record["pools"]),
        "slo.csv": files.table_text(files.SLO_COLUMNS, record["slo"]["metrics"]),
        "latency.csv": files.table_text(LATENCY_COLUMNS, latencies),
        "summary.csv": files.table_text(SUMMARY_COLUMNS, [row]),
        "inputs.yaml": files.inputs_text(case, folder, {"simulated": settings}),
    }
