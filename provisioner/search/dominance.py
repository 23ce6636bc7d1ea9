"""Kinds of machines that another kind makes superfluous in a role.

Of two deployments with as many instances per machine, one that is no dearer, takes no more of
what is limited or sought, is no slower in the role's phases, and has no less memory and network
may take the place of the other in any cluster.
"""

from __future__ import annotations

import numpy as np

from provisioner.domain.base import Role
from provisioner.domain.scenario import Scenario
from provisioner.performance.deployment import Deployment
from provisioner.performance.token import MAX_BATCH
from provisioner.search.trials import Place


def worth_trying(places: tuple[Place, ...], scenario: Scenario) -> list[int]:
    """Indices of the places that no other one makes superfluous.

    Where two make each other superfluous, the one of less power stays, then the first by name.
    """
    order = sorted(range(len(places)), key=lambda i: _preference(places[i][1]))
    kept: list[int] = []
    for i in order:
        role, deployment = places[i]
        rivals = [places[k][1] for k in kept if places[k][0] is role]
        if not any(_replaces(rival, deployment, role, scenario) for rival in rivals):
            kept = [
                k
                for k in kept
                if places[k][0] is not role
                or not _replaces(deployment, places[k][1], role, scenario)
            ]
            kept.append(i)
    return sorted(kept)


def _preference(deployment: Deployment) -> tuple[float, str]:
    return deployment.machine.provisioned_power_w, deployment.name


def _replaces(better: Deployment, worse: Deployment, role: Role, scenario: Scenario) -> bool:
    return (
        better.instances_per_machine == worse.instances_per_machine
        and _as_available(better, worse, scenario)
        and _as_cheap(better, worse, scenario)
        and better.kv_room_tokens >= worse.kv_room_tokens
        and better.machine.network_bytes_per_s >= worse.machine.network_bytes_per_s
        and better.machine.transfer_floor_s <= worse.machine.transfer_floor_s
        and better.machine.host_link_bytes_per_s >= worse.machine.host_link_bytes_per_s
        and (role is Role.TOKEN or _prompts_as_fast(better, worse))
        and (role is Role.PROMPT or _tokens_as_fast(better, worse))
    )


def _as_available(better: Deployment, worse: Deployment, scenario: Scenario) -> bool:
    names = {better.machine.hardware, worse.machine.hardware}
    bounded = set(scenario.limits.available) | {k for k, n in scenario.existing.items() if n}
    return len(names) == 1 or not names & bounded


def _as_cheap(better: Deployment, worse: Deployment, scenario: Scenario) -> bool:
    a, b = better.machine, worse.machine
    powered = scenario.limits.power_w is not None or scenario.objective in (
        "power",
        "throughput_per_watt",
    )
    return (
        a.price_usd_per_hour <= b.price_usd_per_hour
        and a.rack_units <= b.rack_units
        and (not powered or a.provisioned_power_w <= b.provisioned_power_w)
    )


def _prompts_as_fast(better: Deployment, worse: Deployment) -> bool:
    """Prompt times are lines between knots: no slower at all of them, and at the end."""
    a, b = better.prompt, worse.prompt
    knots = np.union1d(a.base.x, b.base.x)
    return (
        bool((a.base(knots) <= b.base(knots)).all())
        and a.base.last_slope <= b.base.last_slope
        and a.quadratic_s <= b.quadratic_s
    )


def _tokens_as_fast(better: Deployment, worse: Deployment) -> bool:
    batches = np.arange(1, MAX_BATCH + 1)
    faster = better.token.base(batches) <= worse.token.base(batches)
    return bool(faster.all()) and better.token.context_s <= worse.token.context_s
