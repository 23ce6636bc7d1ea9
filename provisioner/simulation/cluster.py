"""From pools of machines, requests and rules to the engine's arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from provisioner.domain.base import Phase, Role
from provisioner.domain.workload import FloatArray, IntArray
from provisioner.performance.deployment import Deployment
from provisioner.performance.token import MAX_BATCH
from provisioner.simulation.engine import rows
from provisioner.simulation.engine import state as engine
from provisioner.simulation.rules import Rules

_ROLES = {Role.PROMPT: engine.PROMPT, Role.TOKEN: engine.TOKEN, Role.MIXED: engine.MIXED}


@dataclass(frozen=True)
class SimulatedPool:
    """Working machines of one deployment in one role; spares do not take part."""

    role: Role
    deployment: Deployment
    machines: int

    @property
    def instances(self) -> int:
        """Instances in the pool."""
        return self.machines * self.deployment.instances_per_machine


@dataclass(frozen=True)
class MachineFailure:
    """Machine number ``machine`` of pool number ``pool`` is gone from ``time_s`` on."""

    pool: int
    machine: int
    time_s: float


@dataclass(frozen=True)
class Requests:
    """Requests in order of arrival; lengths in tokens, outputs include the first.

    ``request_class`` numbers the class of each, for routing by the plan's shares.
    """

    arrival_s: FloatArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    request_class: IntArray

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def prompt_sq(self) -> IntArray:
        """Squared prompt lengths."""
        return self.prompt_tokens**2


def new_state(
    pools: tuple[SimulatedPool, ...],
    requests: Requests,
    rules: Rules,
    window_s: tuple[float, float],
    failures: tuple[MachineFailure, ...] = (),
) -> engine.State:
    """Everything that the engine needs.

    Parameters
    ----------
    pools : tuple of SimulatedPool
        Pools without machines are allowed.
    window_s : (float, float)
        From when until when utilisation, energy and gaps are measured.
    """
    deployments = list({pool.deployment.name: pool.deployment for pool in pools}.values())
    names = [deployment.name for deployment in deployments]
    counts = [pool.instances for pool in pools]
    home = np.repeat(np.arange(len(pools)), counts)
    place = np.concatenate([np.arange(n) for n in counts])
    kinds = np.array([names.index(pool.deployment.name) for pool in pools])
    roles = np.array([_ROLES[pool.role] for pool in pools])
    shares = _shares(rules, len(pools))
    return engine.State(
        deployments=_physics(deployments),
        instances=engine.new_instances(home, place, kinds[home], roles[home] == engine.MIXED),
        slots=np.zeros((len(home), MAX_BATCH), dtype=engine.SLOT),
        requests=_rows(requests),
        groups=_groups(roles, kinds, counts),
        trees=_trees(counts),
        share=shares,
        given=np.zeros((len(pools) + 1, shares.shape[1])),
        heap=engine.new_heap(len(requests), len(home)),
        rules=_rules(rules, requests, window_s),
        failures=_failures(pools, failures),
        counters=np.zeros(len(engine.COUNTERS), dtype=np.int64),
    )


def _rows(requests: Requests) -> engine.Array:
    records = np.zeros(len(requests), dtype=engine.REQUEST)
    rows.fill(
        records,
        requests.arrival_s,
        requests.prompt_tokens,
        requests.output_tokens,
        requests.request_class,
    )
    return records


def _rules(rules: Rules, requests: Requests, window_s: tuple[float, float]) -> engine.Array:
    record = np.zeros(1, dtype=engine.RULES)
    record["scheduler"], record["router"] = rules.scheduler_number, rules.router_number
    record["chunk_tokens"] = rules.chunk_tokens or 0
    record["most_waiting_tokens"] = rules.most_waiting_tokens
    if len(requests):
        record["mean_iterations"] = np.mean(requests.output_tokens) - 1
    record["from_s"], record["until_s"] = window_s
    return record


def _shares(rules: Rules, pools: int) -> FloatArray:
    shares = np.zeros((pools, 1)) if rules.shares is None else rules.shares
    return np.ascontiguousarray(shares, dtype=np.float64)


def _groups(roles: IntArray, kinds: IntArray, counts: list[int]) -> engine.Array:
    groups = np.zeros(len(counts), dtype=engine.GROUP)
    groups["role"], groups["deployment"] = roles, kinds
    groups["first"] = np.cumsum([0, *counts])[:-1]
    groups["living"] = counts
    return groups


def _failures(
    pools: tuple[SimulatedPool, ...], failures: tuple[MachineFailure, ...]
) -> engine.Array:
    """All instances of the machines that fail, in order of time."""
    first = np.cumsum([0, *(pool.instances for pool in pools)])
    events = []
    for failure in failures:
        each = pools[failure.pool].deployment.instances_per_machine
        start = int(first[failure.pool]) + failure.machine * each
        events += [(failure.time_s, instance) for instance in range(start, start + each)]
    return np.array(sorted(events), dtype=engine.FAILURE)


def _trees(counts: list[int]) -> FloatArray:
    leaves = 2 ** max(1, math.ceil(math.log2(max(*counts, 1))))
    return np.full((len(counts), 6, 2 * leaves), np.inf)


def _physics(deployments: list[Deployment]) -> engine.Array:
    batches = np.arange(MAX_BATCH + 1)
    tokens = np.arange(engine.POWER_TOKENS + 1)
    records = np.zeros(len(deployments), dtype=engine.DEPLOYMENT)
    for record, d in zip(records, deployments, strict=True):
        share = 1 / d.instances_per_machine
        knots = len(d.prompt.base.x)
        record["knots"], record["room_tokens"] = knots, math.floor(d.kv_room_tokens)
        record["prompt_x"][:knots], record["prompt_y"][:knots] = d.prompt.base.x, d.prompt.base.y
        record["prompt_slope_s"] = d.prompt.base.last_slope
        record["quadratic_s"], record["context_s"] = d.prompt.quadratic_s, d.token.context_s
        record["kv_bytes"] = d.model.kv_bytes_per_token
        record["network_bytes_per_s"] = d.transfer_bytes_per_s
        record["host_bytes_per_s"] = d.machine.host_link_bytes_per_s * share
        record["floor_s"] = d.machine.transfer_floor_s
        record["base_s"] = d.token.base(batches)
        record["token_w"] = d.power.machine_w(Phase.TOKEN, batches) * share
        record["prompt_w"] = d.power.machine_w(Phase.PROMPT, tokens) * share
    return records
