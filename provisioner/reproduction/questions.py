"""The paper's questions as scenarios: traffic, prices, and the limit or objective of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from provisioner.domain.case import Case
from provisioner.domain.cluster import Simulated
from provisioner.domain.failure import Failure
from provisioner.domain.scenario import Limits, Scenario, Simulation, WorkloadEntry
from provisioner.inputs import hardware
from provisioner.inputs.clusters import pools_of
from provisioner.inputs.resolve import resolve
from provisioner.reproduction.published import (
    BUDGET_MACHINES,
    BUDGET_TYPE,
    FIXED_RATE_PER_S,
    ISO_COST,
    ISO_POWER,
    LEAST_POWER,
    MODEL,
    PRICES,
)
from provisioner.search import named
from provisioner.search.compatible import NAME as COMPATIBLE
from provisioner.simulation.rules import Scheduler

Pools = Mapping[tuple[str, str], int]
"""Machines by role and type."""
GRID_PER_S = 10.0
"""Step of the rates that the paper and its simulator try [requests/s]."""
COMPATIBLE_S = 120.0
"""Length of a trace in compatible mode, as of those that the published simulator was run on [s]."""
TIME_LIMIT_S = 120.0
"""Most time for one plan [s]."""


def scenario(workload: str, rate_per_s: float = FIXED_RATE_PER_S, model: str = MODEL) -> Scenario:
    """The paper's prices and power budgets with one workload at a rate."""
    return Scenario(
        model=model,
        workloads=(WorkloadEntry(name=workload, rate_per_s=rate_per_s),),
        prices=PRICES,
        time_limit_s=TIME_LIMIT_S,
    )


def asked(question: str, workload: str, design: str | None) -> Case:
    """What the paper asks of a design, or of all machines where none is named."""
    changes: dict[str, object] = {} if design is None else {"designs": (design,)}
    if question == ISO_POWER:
        changes |= {"maximize": "throughput", "limits": Limits(power_w=budget_w())}
    elif question == ISO_COST:
        changes |= {"maximize": "throughput", "limits": Limits(usd_per_hour=budget_usd_per_hour())}
    else:
        changes |= {"minimize": "power" if question == LEAST_POWER else "cost"}
    return resolve(scenario(workload).model_copy(update=changes))


def budget_w() -> float:
    """Power of the machines that the budget is stated in [W]."""
    return BUDGET_MACHINES * powers_w()[BUDGET_TYPE]


def budget_usd_per_hour() -> float:
    """Rent of the machines that the budget is stated in [USD/h]."""
    return BUDGET_MACHINES * rents_usd_per_hour()[BUDGET_TYPE]


def powers_w() -> dict[str, float]:
    """The paper's power budget of each machine type [W]."""
    return {p.machine: p.provisioned_power_w for p in hardware.read_price_list(PRICES).powers}


def rents_usd_per_hour() -> dict[str, float]:
    """The paper's price of each machine, by its hardware [USD/h]."""
    return {p.hardware: p.usd_per_hour for p in hardware.read_price_list(PRICES).prices}


def judged_compatibly(
    workload: str, pools: Pools, rate_per_s: float, model: str = MODEL
) -> Simulated:
    """Judge a cluster by the published simulator's rules, on a trace of its kind."""
    simulation = Simulation(duration_s=COMPATIBLE_S, warmup_s=0.0, seeds=1)
    given = scenario(workload, rate_per_s, model).model_copy(update={"simulation": simulation})
    return named.simulate(given, pools_of(dict(pools)), compatible=COMPATIBLE)[0]


def judged(
    workload: str,
    pools: Pools,
    rate_per_s: float,
    scheduler: Literal["auto"] | Scheduler = "auto",
    failures: tuple[Failure, ...] = (),
) -> Simulated:
    """Judge a cluster by measured token times."""
    given = scenario(workload, rate_per_s).model_copy(update={"scheduler": scheduler})
    return named.simulate(given, pools_of(dict(pools)), failures=failures)[0]


def taken(result: Simulated) -> dict[str, float]:
    """Of each metric the most that any percentile takes of its limit."""
    most: dict[str, float] = {}
    for value in result.verdict.slo.metrics:
        most[value.metric] = max(most.get(value.metric, 0.0), value.value / value.limit)
    return most
