"""Unit economics: what one machine of each type makes of each phase at the SLO, and at what cost.

A type is taken to serve the whole demand of a phase alone, in a pool just large enough; its
machines then work at the SLO's limit. This is the table that says why a plan looks as it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from provisioner.capacity.candidate import Candidate
from provisioner.capacity.demand import Demand
from provisioner.capacity.guide import Guide, prompt_limits
from provisioner.domain.base import Phase, Role
from provisioner.domain.result import UnitCost
from provisioner.performance.deployment import Deployment
from provisioner.units import (
    JOULES_PER_WH,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
    TOKENS_PER_THOUSAND,
)

_ROLES = {Role.PROMPT: Phase.PROMPT, Role.TOKEN: Phase.TOKEN}


def unit_costs(guide: Guide, budget: int, theta: float) -> tuple[UnitCost, ...]:
    """Unit economics of every deployment in both phases, cheapest first within a phase.

    Parameters
    ----------
    budget : int
        Index of the TTFT budget that the plan uses.
    theta : float
        Demand multiplier of the plan.
    """
    rows = [row for role in _ROLES for row in _phase_costs(guide, role, budget, theta)]
    return tuple(sorted(rows, key=_order))


def cheapest_budget(guide: Guide) -> int:
    """The TTFT budget under which one kind of machine per phase serves the demand for least."""
    return min(guide.budgets, key=lambda budget: _least_rent(guide, budget))


def _least_rent(guide: Guide, budget: int) -> float:
    """Rent of the cheapest pool of one kind for each phase [USD/h]; infinite where none will do."""
    total = 0.0
    for role, pool_of in ((Role.PROMPT, prompt_pool), (Role.TOKEN, token_pool)):
        rents = [
            pool_of(guide.demand, c, 1.0)[0] * c.machine.price_usd_per_hour
            for c in guide.candidates((role,), budget)
            if c.serves.all()
        ]
        total += min(rents, default=math.inf)
    return total


def _order(row: UnitCost) -> tuple[int, float, str]:
    cost = math.inf if row.usd_per_million_tokens is None else row.usd_per_million_tokens
    return list(Phase).index(row.phase), cost, f"{row.machine}/{row.tensor_parallel}"


def _phase_costs(guide: Guide, role: Role, budget: int, theta: float) -> Iterator[UnitCost]:
    candidates = guide.candidates((role,), budget)
    for deployment in guide.deployments:
        able = [c for c in candidates if c.deployment is deployment and bool(c.serves.all())]
        if able:
            yield _unit_cost(guide.demand, able[0], theta)
        else:
            yield _unable(role, deployment, _obstacle(guide, role, deployment, budget))


def _unit_cost(demand: Demand, candidate: Candidate, theta: float) -> UnitCost:
    prompts = candidate.role is Role.PROMPT
    pool, working = (prompt_pool if prompts else token_pool)(demand, candidate, theta)
    tokens = demand.prompt_tokens if prompts else demand.output_tokens
    rate = theta * float(demand.rate_per_s @ tokens) / working
    watts = _power_w(demand, candidate, pool)
    price = candidate.machine.price_usd_per_hour
    return UnitCost(
        machine=candidate.machine.name,
        tensor_parallel=candidate.deployment.tensor_parallel,
        phase=_ROLES[candidate.role],
        tokens_per_s=rate,
        usd_per_million_tokens=price / SECONDS_PER_HOUR / rate * TOKENS_PER_MILLION,
        wh_per_thousand_tokens=watts / rate / JOULES_PER_WH * TOKENS_PER_THOUSAND,
        machines_if_alone=pool,
        note="",
    )


def prompt_pool(demand: Demand, candidate: Candidate, theta: float) -> tuple[int, float]:
    """Machines that serve all prompts alone, and how many of them would be full."""
    work = theta * float(demand.rate_per_s @ candidate.prompt_s) / candidate.instances
    pool = min(max(tier.low, math.ceil(work / tier.headroom)) for tier in candidate.tiers)
    return pool, work / candidate.headroom(pool)


def token_pool(demand: Demand, candidate: Candidate, theta: float) -> tuple[int, float]:
    """Machines that generate all tokens alone, and how many of them would be full."""
    rate = theta * demand.rate_per_s
    load = float(rate @ demand.iterations)
    context = float(rate @ demand.kv_token_iterations)
    a = candidate.intercepts_s
    taken = candidate.slopes_s * load + candidate.context_s * context
    needed = (
        taken / (1 - a / candidate.target_s),
        taken + a * context / candidate.kv_room_tokens,
        taken + a * load / candidate.batch_limit,
    )
    working = float(np.max(needed)) / candidate.instances
    return max(1, math.ceil(working)), max(working, 1e-9)


def _power_w(demand: Demand, candidate: Candidate, machines: int) -> float:
    """Mean power of a machine that works at the limit, idle time included [W]."""
    power = candidate.deployment.power
    if candidate.role is Role.TOKEN:
        return float(power.machine_w(Phase.TOKEN, candidate.batch_limit))
    mean_tokens = float(demand.rate_per_s @ demand.prompt_tokens) / demand.total_rate_per_s
    busy = candidate.headroom(machines)
    working = float(power.machine_w(Phase.PROMPT, mean_tokens))
    return busy * working + (1 - busy) * power.idle_w


def _unable(role: Role, deployment: Deployment, obstacle: str) -> UnitCost:
    return UnitCost(
        machine=deployment.machine.name,
        tensor_parallel=deployment.tensor_parallel,
        phase=_ROLES[role],
        tokens_per_s=None,
        usd_per_million_tokens=None,
        wh_per_thousand_tokens=None,
        machines_if_alone=None,
        note=obstacle,
    )


def _obstacle(guide: Guide, role: Role, deployment: Deployment, budget: int) -> str:
    """What keeps a deployment from a phase under this TTFT budget."""
    everyone = np.ones(len(guide.targets), dtype=bool)
    if role is Role.TOKEN:
        batch, label = guide.largest_batch(role, deployment, budget, everyone, everyone)
        return f"cannot meet {label}" if batch == 0 else "longest requests do not fit its memory"
    for target in guide.targets:
        service = guide.service(role, deployment, everyone, target, 1.0)
        for limit in prompt_limits(target, budget):
            within = limit.value * limit.scale_s >= service.prompt_s
            if float(target.prompt.share @ within) < limit.quantile:
                return f"cannot meet {limit.label}"
    return "longest prompts do not fit its memory"
