"""Batch jobs: requests that are all there from the start and have no SLO.

What counts is the rate at which the middle 80 % of them finish. Conversations on the clusters of
the paper's equal-power question; pools help each other out (`mixed-pool`) in both physics, as in
the paper.
"""

from __future__ import annotations

import numpy as np

from provisioner.domain.base import Role
from provisioner.domain.reproduction import BatchJob
from provisioner.domain.workload import FloatArray
from provisioner.inputs import clusters, hardware
from provisioner.inputs.resolve import resolve
from provisioner.reproduction.high_load import WORKLOAD, equal_power_counts, scheduler_of
from provisioner.reproduction.published import (
    FIXED_RATE_PER_S,
    ISO_POWER,
    PRICES,
    pools_of,
    published_clusters,
)
from provisioner.reproduction.questions import Pools, scenario
from provisioner.search.compatible import machines_of
from provisioner.search.find import prepare
from provisioner.simulation.arrivals import offer
from provisioner.simulation.cluster import Requests, SimulatedPool
from provisioner.simulation.published import simulate_published
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import simulate

PAPER_BATCH = {
    "baseline-a100": 0.89,
    "splitwise-aa": 0.89,
    "baseline-h100": 0.75,
    "splitwise-hh": 0.75,
}
"""The paper's batch jobs: requests/s per USD/h of one accelerator in every machine."""
BATCH_REQUESTS = 20_000
_MIDDLE = (0.1, 0.9)
_LEAST_OUTPUT = 2


def batch_designs() -> list[str]:
    """Every design of the paper."""
    return [
        c.design for c in published_clusters() if (c.question, c.workload) == (ISO_POWER, WORKLOAD)
    ]


def batch_job(design: str) -> BatchJob:
    """Give a cluster all requests at once, by both rules."""
    counts = equal_power_counts(design)
    pools = pools_of(design, counts)
    requests = _all_at_once()
    compatible = _middle_rate(_finished_compatibly(pools, requests))
    measured = _middle_rate(_finished(design, pools, requests))
    usd = _accelerator_usd_per_hour(pools)
    return BatchJob(
        design=design,
        prompt_machines=counts[0],
        token_machines=counts[1] if len(counts) > 1 else 0,
        compatible_rate_per_s=compatible,
        measured_rate_per_s=measured,
        compatible_per_usd=compatible / usd,
        measured_per_usd=measured / usd,
        paper_per_usd=PAPER_BATCH.get(design),
    )


def _all_at_once() -> Requests:
    case = resolve(scenario(WORKLOAD))
    length_s = 2 * BATCH_REQUESTS / FIXED_RATE_PER_S
    drawn = offer(case.workloads, "poisson", 0, length_s).requests
    kept = slice(BATCH_REQUESTS)
    return Requests(
        np.zeros(BATCH_REQUESTS),
        drawn.prompt_tokens[kept],
        np.maximum(drawn.output_tokens[kept], _LEAST_OUTPUT),
        drawn.request_class[kept],
    )


def _finished(design: str, pools: Pools, requests: Requests) -> FloatArray:
    deployments = {
        d.machine.name: d for d in prepare(resolve(scenario(WORKLOAD))).guide.deployments
    }
    simulated = tuple(
        SimulatedPool(Role(role), deployments[machine], n) for (role, machine), n in pools.items()
    )
    return simulate(simulated, requests, Rules(scheduler_of(design))).records.finish_s


def _finished_compatibly(pools: Pools, requests: Requests) -> FloatArray:
    named = clusters.pools_of(pools)
    case = resolve(clusters.scenario_for(scenario(WORKLOAD), named))
    machines, roles = machines_of(case, clusters.completed(case, named))
    return simulate_published(
        requests.arrival_s, requests.prompt_tokens, requests.output_tokens, machines, roles
    ).finish_s


def _middle_rate(finish_s: FloatArray) -> float:
    low, high = np.quantile(finish_s, _MIDDLE)
    return float((_MIDDLE[1] - _MIDDLE[0]) * len(finish_s) / (high - low))


def _accelerator_usd_per_hour(pools: Pools) -> float:
    rents = {p.hardware: p.usd_per_hour for p in hardware.read_price_list(PRICES).prices}
    return sum(
        rents[machine.hardware] / machine.accelerators * n
        for machine, n in ((hardware.read_machine(name), n) for (_, name), n in pools.items())
    )
