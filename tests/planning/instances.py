"""Random small problems that use every rule there is.

All numbers are small multiples of powers of two: sums are exact, so nothing comes within 1e-5 of
a limit without lying on it, and ties are frequent.
"""

from __future__ import annotations

import random
from typing import Any

from provisioner.capacity.candidate import Candidate
from provisioner.capacity.demand import Demand, classify
from provisioner.domain.base import Role
from provisioner.domain.machine import Machine
from provisioner.planning.problem import Problem
from tests.planning.builders import MIXED, PROMPT, TOKEN, candidate, machine, problem, workload

DESIGNS = ((PROMPT, TOKEN), (MIXED,), (PROMPT, TOKEN, MIXED))
REQUESTS = ((64, 9), (32, 5), (128, 17), (128, 1))
TIERS = (((1, 1.0),), ((1, 0.5),), ((1, 0.5), (3, 1.0)), ((2, 0.75),), ((2, 0.5), (3, 0.75)))
SEGMENTS = (((1 / 32, 1 / 64),), ((1 / 16, 1 / 128), (1 / 64, 1 / 32)), ((1 / 16, 0.0),))
ENDLESS = 2.0**40
POOLS = {1: (1, 2, 3, 3), 2: (1, 2, 2), 3: (1, 1, 2)}
"""Numbers of candidates per role to choose from, by the number of roles."""


def random_problem(rng: random.Random, most: int, *, scale_demand: bool = False) -> Problem:
    """Draw a problem of up to four candidates on up to three machine types.

    Parameters
    ----------
    most : int
        Largest number that is available of a hardware.
    """
    roles = rng.choice(DESIGNS)
    requests = _demand(rng)
    types = _machines(rng)
    candidates: list[Candidate] = []
    for role in roles:
        for _ in range(rng.choice(POOLS[len(roles)])):
            candidates += _candidates(rng, role, rng.choice(types), requests)
    distinct = {c.name: c for c in candidates}
    hardware = sorted({c.machine.hardware for c in candidates})
    return problem(
        requests,
        *list(distinct.values())[:4],
        limits={"available": {name: rng.randint(2, most) for name in hardware}, **_limits(rng)},
        existing={name: rng.choice((0, 1, 2)) for name in hardware if rng.random() < 0.5},
        spares={role: rng.choice((1, 1, 2)) for role in roles if rng.random() < 0.3},
        max_types_per_role=rng.choice((None, None, 1, 2)),
        scale_demand=scale_demand,
    )


def _demand(rng: random.Random) -> Demand:
    count = rng.choice((1, 2, 2))
    return classify(
        tuple(
            workload(rng.choice((0.5, 1.0, 2.0, 3.0)), f"w{i}", (rng.choice(REQUESTS),))
            for i in range(count)
        )
    )


def _machines(rng: random.Random) -> list[Machine]:
    """Draw two machine types, and sometimes one of them with a power cap."""
    found = [
        machine(
            name,
            accelerators=rng.choice((1, 2)),
            usd_per_hour=rng.choice((0.5, 1.0, 1.0, 1.25, 3.0)),
            provisioned_power_w=rng.choice((512, 1024, 1536)),
            rack_units=rng.choice((1, 2, 4)),
            network_bytes_per_s=rng.choice((64.0, 256.0, 2.0**14)),
        )
        for name in ("a", "b")
    ]
    if rng.random() < 0.5:
        capped = {"name": "a-cap", "provisioned_power_w": rng.choice((256, 512))}
        found.append(found[0].model_copy(update=capped))
    return found


def _candidates(rng: random.Random, role: Role, box: Machine, requests: Demand) -> list[Candidate]:
    """Draw one candidate, or where there are two workloads sometimes one per SLO level."""
    fields: dict[str, Any] = {"tensor_parallel": rng.randint(1, box.accelerators)}
    fields["prompt_s"] = [rng.choice((1, 2, 3, 4)) / 8 for _ in requests.names]
    levels = len(requests.names) > 1 and rng.random() < 0.4
    if not levels:
        return [candidate(role, box, requests, **fields, **_capacity(rng, role))]
    half = {**_capacity(rng, role), "tiers": ((1, 0.5),), "batch_limit": 4.0}
    full = {**half, "tiers": ((1, 1.0),), "batch_limit": ENDLESS}
    return [
        candidate(role, box, requests, level=0, **fields, **half),
        candidate(role, box, requests, level=1, serves=[False, True], **fields, **full),
    ]


def _capacity(rng: random.Random, role: Role) -> dict[str, Any]:
    tiers = ((1, 1.0),) if role is TOKEN else rng.choice(TIERS)
    return {
        "tiers": tiers,
        "segments": rng.choice(SEGMENTS),
        "context_s": rng.choice((0.0, 2.0**-12)),
        "target_s": rng.choice((float("inf"), 1 / 8, 1 / 4)),
        "kv_room_tokens": rng.choice((ENDLESS, 256.0, 1024.0)),
        "batch_limit": rng.choice((ENDLESS, 4.0, 16.0)),
        "phases_share_time": rng.random() < 0.7,
    }


def _limits(rng: random.Random) -> dict[str, Any]:
    every = {
        "usd_per_hour": rng.choice((2.0, 4.0, 6.5, 8.0)),
        "power_w": rng.choice((2048, 4096, 6144)),
        "machines": rng.choice((3, 5, 7)),
        "rack_units": rng.choice((6, 12)),
    }
    return {key: value for key, value in every.items() if rng.random() < 0.2}
