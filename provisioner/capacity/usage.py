"""Load of a pool in a finished solution: the numbers that the latency estimate starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from provisioner.capacity.candidate import Candidate
from provisioner.capacity.demand import Demand
from provisioner.domain.workload import FloatArray


@dataclass(frozen=True)
class PoolLoad:
    """A pool of working machines and what it serves.

    ``serve`` is the share of each class, in multiples of the scenario's demand.
    """

    candidate: Candidate
    machines: int
    serve: FloatArray

    @property
    def servers(self) -> int:
        """Instances in the pool."""
        return self.machines * self.candidate.instances

    def prompt_utilization(self, demand: Demand) -> float:
        """Share of time that the pool's instances spend on prompts."""
        work = float(demand.rate_per_s * self.candidate.prompt_s @ self.serve)
        return work / self.servers

    def batch(self, demand: Demand) -> float:
        """Mean batch of an instance at the fixed point of the iteration time.

        ``t = max_i a_i / (1 - (s_i L + c M + 1.1 P) / n)`` and ``B = t L / n``; infinite where the
        pool cannot keep up.
        """
        candidate = self.candidate
        load = float(demand.rate_per_s * demand.iterations @ self.serve) / self.servers
        context = float(demand.rate_per_s * demand.kv_token_iterations @ self.serve)
        taken = candidate.slopes_s * load + candidate.context_s * context / self.servers
        if candidate.phases_share_time and candidate.handles_prompts:
            taken = taken + self.prompt_utilization(demand)
        if np.any(taken >= 1):
            return float("inf")
        return float(np.max(candidate.intercepts_s / (1 - taken))) * load

    def share_of(self, demand: Demand, workload: int) -> float:
        """Requests of one workload that the pool serves, in multiples of its demand."""
        of_workload = demand.workload == workload
        rates = demand.rate_per_s[of_workload]
        return float(rates @ self.serve[of_workload] / rates.sum())
