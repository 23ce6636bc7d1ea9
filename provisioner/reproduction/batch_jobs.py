"""Batch jobs: requests that are all there from the start and have no SLO.

What counts is the rate at which the middle 80 % of them finish. Conversations on the clusters of
the paper's equal-power question; pools help each other out (`mixed-pool`) in both physics, as in
the paper.
"""

from __future__ import annotations

import numpy as np

from provisioner.domain.case import Case
from provisioner.domain.reproduction import BatchJob
from provisioner.domain.workload import FloatArray
from provisioner.inputs import clusters, hardware
from provisioner.inputs.resolve import resolve
from provisioner.reproduction.high_load import equal_power_counts, scheduler_of
from provisioner.reproduction.published import CONVERSATION, FIXED_RATE_PER_S, pools_of
from provisioner.reproduction.questions import Pools, rents_usd_per_hour, scenario
from provisioner.search.compatible import LEAST_OUTPUT, machines_of
from provisioner.search.judged import simulated_pools
from provisioner.simulation.arrivals import offer
from provisioner.simulation.cluster import Requests
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


def batch_job(design: str) -> BatchJob:
    """Give a cluster all requests at once, by both rules."""
    counts = equal_power_counts(design)
    pools = pools_of(design, counts)
    named = clusters.pools_of(pools)
    case = resolve(clusters.scenario_for(scenario(CONVERSATION), named))
    cluster = clusters.completed(case, named)
    requests = _all_at_once(case)
    machines, roles = machines_of(case, cluster)
    theirs = simulate_published(
        requests.arrival_s, requests.prompt_tokens, requests.output_tokens, machines, roles
    )
    ours = simulate(simulated_pools(case, cluster), requests, Rules(scheduler_of(design)))
    compatible, measured = _middle_rate(theirs.finish_s), _middle_rate(ours.records.finish_s)
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


def _all_at_once(case: Case) -> Requests:
    length_s = 2 * BATCH_REQUESTS / FIXED_RATE_PER_S
    drawn = offer(case.workloads, "poisson", 0, length_s).requests
    kept = slice(BATCH_REQUESTS)
    return Requests(
        np.zeros(BATCH_REQUESTS),
        drawn.prompt_tokens[kept],
        np.maximum(drawn.output_tokens[kept], LEAST_OUTPUT),
        drawn.request_class[kept],
    )


def _middle_rate(finish_s: FloatArray) -> float:
    low, high = np.quantile(finish_s, _MIDDLE)
    return float((_MIDDLE[1] - _MIDDLE[0]) * len(finish_s) / (high - low))


def _accelerator_usd_per_hour(pools: Pools) -> float:
    rents = rents_usd_per_hour()
    return sum(
        rents[machine.hardware] / machine.accelerators * n
        for machine, n in ((hardware.read_machine(name), n) for (_, name), n in pools.items())
    )
