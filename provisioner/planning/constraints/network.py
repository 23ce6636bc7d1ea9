"""Network: KV-caches leave prompt machines and enter token machines within their bandwidth.

``sum_k lambda_k p_k kv_bytes x_k <= bandwidth n``, for prompt pools going out and for token pools
coming in.

Not modelled: a shared fabric with less bandwidth than its machines together.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.domain.base import Role
from provisioner.domain.workload import FloatArray
from provisioner.planning.problem import Problem, Solution, exceeds
from provisioner.planning.variables import Variable, Variables

NAME = "network"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate that sends or receives, in machines' worth of bandwidth."""
    for j, candidate in enumerate(problem.candidates):
        if candidate.role is Role.MIXED:
            continue
        share = machines_per_share(problem, j)
        used = pulp.lpSum(float(share[k]) * x for k, x in variables.serve[j].items())
        yield f"network__{candidate.name}", used <= variables.machines[j]


def machines_per_share(problem: Problem, j: int) -> FloatArray:
    """Machines' worth of bandwidth that serving a whole class takes, per class."""
    candidate, demand = problem.candidates[j], problem.demand
    kv_bytes = candidate.deployment.model.kv_bytes_per_token
    rate = demand.rate_per_s * demand.prompt_tokens * kv_bytes
    return rate / candidate.machine.network_bytes_per_s


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool that sends or receives more than its network carries."""
    demand = problem.demand
    for j, candidate in enumerate(problem.candidates):
        if candidate.role is Role.MIXED:
            continue
        tokens_per_s = float(demand.rate_per_s * demand.prompt_tokens @ solution.serve[j])
        sent = tokens_per_s * candidate.deployment.model.kv_bytes_per_token
        bandwidth = candidate.machine.network_bytes_per_s
        if exceeds(sent / bandwidth, solution.machines[j]):
            carried = bandwidth * solution.machines[j]
            yield f"{candidate.name}: {sent:g} bytes/s of KV-cache over {carried:g}"
