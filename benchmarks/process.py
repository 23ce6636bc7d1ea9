"""One whole process to be timed: simulate so many minutes of conversation on a named cluster.

``python -m benchmarks.process CLUSTER MINUTES [SCALE]``; with ``SCALE`` times the machines and the
rate. Prints the number of requests, the peak memory [bytes] and the engine's own time [s].
"""

import resource
import sys
import time

import numpy as np

from provisioner.domain.base import Role
from provisioner.domain.scenario import Scenario
from provisioner.inputs.resolve import resolve
from provisioner.search.find import prepare
from provisioner.simulation.arrivals import offer
from provisioner.simulation.cluster import SimulatedPool, new_state
from provisioner.simulation.engine import loop
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import Run, records_of, simulate

RATE_PER_S = 130.0
CLUSTERS = {
    "split": ((Role.PROMPT, "dgx-h100", 50), (Role.TOKEN, "dgx-h100", 30)),
    "mixed-pool": ((Role.PROMPT, "dgx-h100", 50), (Role.TOKEN, "dgx-h100", 30)),
    "colocated": ((Role.MIXED, "dgx-h100", 80),),
}


def main() -> None:
    """Simulate and print what was done."""
    name, minutes = sys.argv[1], float(sys.argv[2])
    scale = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    workload = {"name": "azure-conv", "rate_per_s": RATE_PER_S * scale}
    case = resolve(Scenario.model_validate({"workloads": [workload]}))
    deployments = {d.machine.name: d for d in prepare(case).guide.deployments}
    pools = tuple(SimulatedPool(r, deployments[m], n * scale) for r, m, n in CLUSTERS[name])
    requests = offer(case.workloads, "poisson", 0, 60 * minutes).requests
    simulate(pools, offer(case.workloads, "poisson", 0, 1.0).requests, Rules(name))  # loads it
    state = new_state(pools, requests, Rules(name), (0.0, np.inf))
    started = time.perf_counter()
    loop.run(state)
    engine_s = time.perf_counter() - started
    run = Run(records_of(state), state, (0.0, np.inf))
    records = run.records
    for latency in (records.ttft_s, records.tbt_s, records.e2e_s, records.queue_s):
        assert np.isfinite(latency[records.output_tokens > 1]).all()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(len(requests), peak, engine_s)


if __name__ == "__main__":
    main()
