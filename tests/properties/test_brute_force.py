"""The solver's optimum against every vector of counts there is.

For each vector of machines the largest demand that it serves is a linear program over the shares,
written down here from the formulas of DESIGN 4 and solved by scipy; all rules on whole numbers
are checked by counting. Nothing of `provisioner.planning` but the answer is used.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import linprog

from provisioner.capacity.candidate import Candidate
from provisioner.planning.objectives import OBJECTIVES
from provisioner.planning.problem import Problem
from provisioner.planning.solve import solve
from tests.planning.builders import CLOSE, MIXED, PROMPT, TOKEN, UNHURRIED_S
from tests.planning.instances import random_problem

INSTANCES = 100
MOST_VECTORS = 150
SERVED = 1 - 1e-9


@dataclass(frozen=True)
class Cluster:
    """A vector of counts within all limits, and the largest multiple of the demand it serves."""

    cost: float
    power: float
    machines: int
    theta: float


def instance(seed: int) -> Problem:
    """Draw until the vectors are few enough to list."""
    rng = random.Random(seed)
    while True:
        found = random_problem(rng, most=4)
        if math.prod(available(found, c) + 1 for c in found.candidates) <= MOST_VECTORS:
            return found


def available(problem: Problem, candidate: Candidate) -> int:
    return problem.limits.available[candidate.machine.hardware]


def clusters(problem: Problem) -> Iterator[Cluster]:
    """Yield every vector that the rules on whole numbers allow."""
    ranges = [range(available(problem, c) + 1) for c in problem.candidates]
    for counts in itertools.product(*ranges):
        if not is_allowed(problem, counts):
            continue
        used = by_machine(problem, counts)
        if not is_available(problem, used):
            continue
        types = {c.machine.name: c.machine for c in problem.candidates}
        bought = least_bought(problem, used)
        cost = sum(types[name].usd_per_hour * n for name, n in bought.items())
        power = sum(types[name].provisioned_power_w * n for name, n in used.items())
        units = sum(types[name].rack_units * n for name, n in used.items())
        total = sum(used.values())
        limits = problem.limits
        uses = (cost, power, units, total)
        allowed = (limits.usd_per_hour, limits.power_w, limits.rack_units, limits.machines)
        if all(limit is None or use <= limit for use, limit in zip(uses, allowed, strict=True)):
            yield Cluster(cost, power, total, largest_theta(problem, counts))


def is_allowed(problem: Problem, counts: tuple[int, ...]) -> bool:
    """Lowest pool sizes, one SLO level per deployment and role, machine types per role."""
    used = [c for c, n in zip(problem.candidates, counts, strict=True) if n]
    large = all(
        n == 0 or n >= c.tiers[0].low for c, n in zip(problem.candidates, counts, strict=True)
    )
    levels = [(c.role, c.deployment.name) for c in used]
    types = {(c.role, c.machine.name) for c in used}
    most = problem.max_types_per_role or math.inf
    few = all(sum(r is role for r, _ in types) <= most for role in (PROMPT, TOKEN, MIXED))
    return large and few and len(levels) == len(set(levels))


def by_machine(problem: Problem, counts: tuple[int, ...]) -> dict[str, int]:
    """Machines per type; a role in use adds its spares to the cheapest type that it uses."""
    total: dict[str, int] = {}
    for candidate, n in zip(problem.candidates, counts, strict=True):
        total[candidate.machine.name] = total.get(candidate.machine.name, 0) + n
    for role, spares in problem.spares:
        used = [
            c.machine
            for c, n in zip(problem.candidates, counts, strict=True)
            if n and c.role is role
        ]
        if used:
            cheapest = min(used, key=lambda m: (m.usd_per_hour, m.provisioned_power_w, m.name))
            total[cheapest.name] += spares
    return total


def is_available(problem: Problem, used: dict[str, int]) -> bool:
    per_hardware: dict[str, int] = {}
    for machine in {c.machine.name: c.machine for c in problem.candidates}.values():
        per_hardware[machine.hardware] = per_hardware.get(machine.hardware, 0) + used[machine.name]
    return all(n <= problem.limits.available[name] for name, n in per_hardware.items())


def least_bought(problem: Problem, used: dict[str, int]) -> dict[str, int]:
    """Machines to pay for, with existing ones where they save most: every way is tried."""
    types = {c.machine.name: c.machine for c in problem.candidates}
    existing = dict(problem.existing)
    ways = [range(min(n, existing.get(types[name].hardware, 0)) + 1) for name, n in used.items()]
    best, least = dict(used), math.inf
    for owned in itertools.product(*ways):
        bought = {name: n - o for (name, n), o in zip(used.items(), owned, strict=True)}
        cost = sum(types[name].usd_per_hour * n for name, n in bought.items())
        owned_of: dict[str, int] = {}
        for name, o in zip(used, owned, strict=True):
            owned_of[types[name].hardware] = owned_of.get(types[name].hardware, 0) + o
        exist = all(o <= existing.get(hardware, 0) for hardware, o in owned_of.items())
        if exist and cost < least:
            best, least = bought, cost
    return best


def largest_theta(problem: Problem, counts: tuple[int, ...]) -> float:
    """Maximise theta over the shares; the last column is theta itself."""
    demand, pools = problem.demand, problem.candidates
    classes = len(demand.names)
    columns = len(pools) * classes + 1
    upper, room, equal = [], [], []

    def row(weights: dict[int, np.ndarray], theta: float = 0.0) -> np.ndarray:
        line = np.zeros(columns)
        for j, values in weights.items():
            line[j * classes : (j + 1) * classes] = values
        line[-1] = theta
        return line

    for j, (pool, n) in enumerate(zip(pools, counts, strict=True)):
        for weights, capacity in pool_rows(problem, pool, n):
            upper.append(row({j: weights}))
            room.append(capacity)
    for k in range(classes):
        one = np.eye(classes)[k]
        prompt = {j: one for j, c in enumerate(pools) if c.role is PROMPT}
        token = {j: one for j, c in enumerate(pools) if c.role is TOKEN}
        mixed = {j: one for j, c in enumerate(pools) if c.role is MIXED}
        equal.append(row({**prompt, **mixed}, theta=-1.0))
        if demand.iterations[k] > 0:
            equal.append(row({**prompt, **dict.fromkeys(token, -one)}))
    bounds = [(0, None if c.serves[k] else 0) for c in pools for k in range(classes)]
    answer = linprog(
        -row({}, theta=1.0),
        A_ub=np.array(upper),
        b_ub=np.array(room),
        A_eq=np.array(equal),
        b_eq=np.zeros(len(equal)),
        bounds=[*bounds, (0, None)],
    )
    assert answer.status == 0, answer.message
    return -float(answer.fun)


def pool_rows(problem: Problem, pool: Candidate, n: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yield (weights of the shares, capacity): the rows of DESIGN 4 for one pool."""
    demand, rate = problem.demand, problem.demand.rate_per_s
    instances = n * pool.machine.accelerators // pool.deployment.tensor_parallel
    prompts = rate * pool.prompt_s
    if pool.role is not TOKEN:
        reached = [tier.headroom for tier in pool.tiers if n >= tier.low]
        yield prompts, max(reached, default=0.0) * instances
    if pool.role is not MIXED:
        sent = rate * demand.prompt_tokens * pool.deployment.model.kv_bytes_per_token
        yield sent, n * pool.machine.network_bytes_per_s
    if pool.role is PROMPT:
        return
    load, context = rate * demand.iterations, rate * demand.kv_token_iterations
    beside = prompts if pool.role is MIXED and pool.phases_share_time else 0.0 * prompts
    for a, s in zip(pool.intercepts_s, pool.slopes_s, strict=True):
        busy = s * load + pool.context_s * context + beside
        if math.isfinite(pool.target_s):
            yield pool.target_s * busy, (pool.target_s - a) * instances
        else:
            yield busy, instances
        yield a * context + pool.kv_room_tokens * busy, pool.kv_room_tokens * instances
        yield a * load + pool.batch_limit * busy, pool.batch_limit * instances


def best_of(listed: list[Cluster], objective: str, rate_per_s: float) -> float | None:
    """Best value over all clusters; None where no cluster serves the demand."""
    if not objective.startswith("throughput"):
        return min((getattr(c, objective) for c in listed if c.theta >= SERVED), default=None)
    spent = {"throughput_per_usd": "cost", "throughput_per_watt": "power"}.get(objective)
    return max(
        rate_per_s * c.theta if spent is None else ratio(rate_per_s * c.theta, getattr(c, spent))
        for c in listed
    )


def ratio(served: float, spent: float) -> float:
    if spent > 0:
        return served / spent
    return math.inf if served > CLOSE else 0.0


@pytest.mark.parametrize("seed", range(INSTANCES))
def test_no_vector_beats_the_solver(seed):
    problem = instance(seed)
    listed = list(clusters(problem))
    for objective in OBJECTIVES:
        asked = replace(problem, scale_demand=objective.MAXIMIZE)
        answer = solve(asked, objective, UNHURRIED_S)
        best = best_of(listed, objective.NAME, problem.demand.total_rate_per_s)
        found = answer.solution
        value = None if found is None else objective.value(asked, found)
        assert value == (best if best is None else pytest.approx(best, rel=CLOSE, abs=CLOSE)), (
            objective.NAME
        )
