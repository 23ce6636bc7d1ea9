"""What latencies an unloaded cluster reaches: whether any number of machines meets an SLO.

With endless machines a request never waits and generates alone. Where even that breaks a limit,
the SLO cannot be met, and the value reached is the smallest limit that could.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from provisioner.capacity import latency, queueing
from provisioner.capacity.guide import Guide
from provisioner.capacity.latency import Service
from provisioner.capacity.quantile import least_value
from provisioner.capacity.targets import E2eLimit, Limit, Targets
from provisioner.domain.base import Role
from provisioner.performance.deployment import Deployment


@dataclass(frozen=True)
class Reached:
    """Values that one choice of deployments reaches unloaded, in the order of the SLO's limits."""

    choice: str
    values: tuple[float, ...]


def reached(guide: Guide, index: int, roles: tuple[Role, ...]) -> Iterator[Reached]:
    """Yield what every choice of deployments and TTFT budget reaches for one workload."""
    for budget in guide.budgets:
        if Role.PROMPT in roles:
            for prompt in guide.deployments:
                for token in guide.deployments:
                    yield _reached(guide, index, (Role.PROMPT, prompt), (Role.TOKEN, token), budget)
        if Role.MIXED in roles:
            for both in guide.deployments:
                yield _reached(guide, index, (Role.MIXED, both), (Role.MIXED, both), budget)


_Place = tuple[Role, Deployment]


def _reached(guide: Guide, index: int, prompt: _Place, token: _Place, budget: int) -> Reached:
    target = guide.targets[index]
    ttft = _ttft_values(guide, index, prompt)
    tbt, e2e = _generation_values(guide, index, token, budget)
    within = _budget_holds(guide, index, prompt, budget)
    every = {"ttft": iter(ttft), "tbt": iter(tbt), "e2e": iter(e2e)}
    values = []
    for limit in target.workload.slo.limits:
        value = next(every[limit.metric])
        values.append(value if within or limit.metric != "e2e" else float("inf"))
    choice = " + ".join(dict.fromkeys(f"{role.value} {d.name}" for role, d in (prompt, token)))
    return Reached(choice, tuple(values))


def _service(guide: Guide, index: int, place: _Place) -> Service:
    role, deployment = place
    alone = np.arange(len(guide.targets)) == index
    return guide.service(role, deployment, alone, guide.targets[index], 1.0)


def _ttft_values(guide: Guide, index: int, place: _Place) -> list[float]:
    target = guide.targets[index]
    service = _service(guide, index, place)
    return [_ttft_value(service, target, limit) for limit in target.ttft]


def _ttft_value(service: Service, target: Targets, limit: Limit) -> float:
    def share(value: float) -> float:
        asked = Limit(limit.label, limit.quantile, value, limit.scale_s)
        return latency.ttft_share(service, target.prompt, _no_wait(), asked)

    return least_value(share, limit.quantile)


def _no_wait() -> queueing.Wait:
    return queueing.Wait(0.0, 0.0)


def _budget_holds(guide: Guide, index: int, place: _Place, budget: int) -> bool:
    target = guide.targets[index]
    service = _service(guide, index, place)
    return all(
        _ttft_value(service, target, limit.prompt_limit(budget)) <= limit.budget(budget)
        for limit in target.e2e
    )


def _generation_values(
    guide: Guide, index: int, place: _Place, budget: int
) -> tuple[list[float], list[float]]:
    role, deployment = place
    target, lengths = guide.targets[index], guide.targets[index].lengths
    alone = np.arange(len(guide.targets)) == index
    state = latency.token_state(deployment, guide.mix(role, deployment, alone), 1.0)
    transfer = guide.token_limits(role, deployment, budget, target).transfer
    mean, deviation = latency.generation(state, lengths, transfer)

    def tbt(limit: Limit) -> float:
        return least_value(
            lambda value: latency.tbt_share(value, limit, lengths, mean, deviation), limit.quantile
        )

    def e2e(limit: E2eLimit) -> float:
        ttft = limit.budget(budget)
        return least_value(
            lambda value: latency.e2e_share(value, limit, ttft, lengths, mean, deviation),
            limit.quantile,
        )

    return [tbt(limit) for limit in target.tbt], [e2e(limit) for limit in target.e2e]
