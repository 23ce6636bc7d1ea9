"""Small problems with round numbers, so that a test can derive their optimum by hand.

One KV-cache token takes one byte, every machine has one accelerator unless told otherwise, and
nothing limits a candidate but what the test states.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from provisioner.capacity.candidate import Candidate, Tier, candidate_name
from provisioner.capacity.demand import Demand, classify
from provisioner.domain.base import Quality, Role
from provisioner.domain.machine import Machine
from provisioner.domain.model import Model
from provisioner.domain.profile import PowerPoint, Profile, PromptPoint, TokenPoint
from provisioner.domain.scenario import Limits
from provisioner.domain.slo import Slo, SloLimit
from provisioner.domain.workload import Workload, histogram_of
from provisioner.performance.deployment import Deployment, deploy
from provisioner.planning.objective import Objective
from provisioner.planning.objectives import cost
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.solve import solve, violations

PROMPT, TOKEN, MIXED = Role.PROMPT, Role.TOKEN, Role.MIXED
UNHURRIED_S = 30.0
"""Time limit of a solve that must end by itself."""
CLOSE = 1e-6
"""Relative distance at which two values of an objective are the same."""
REQUEST = (64, 9)
"""Prompt and output tokens: 8 iterations and 8 x (64 + 9/2) = 548 KV-token iterations."""

ORIGIN = {"quality": Quality.MEASURED, "source": "made up for this test"}
MODEL = Model(
    name="tiny",
    layers=1,
    hidden_size=1,
    heads=1,
    kv_heads=1,
    head_dim=1,
    bytes_per_value=0.5,
    weight_bytes=1.0,
    sources={},
)


def machine(name: str = "box", **changes: Any) -> Machine:
    """Build a machine of 1 USD/h, 1000 W and one rack unit whose network limits nothing."""
    fields: dict[str, Any] = {
        "name": name,
        "hardware": name,
        "accelerator": "card",
        "accelerators": 1,
        "accelerator_memory_bytes": 1e6,
        "accelerator_idle_power_w": 50,
        "accelerator_max_power_w": 300,
        "network_bytes_per_s": 2.0**40,
        "transfer_floor_s": 0.5,
        "server_idle_power_w": 100,
        "provisioned_power_w": 1000,
        "rack_units": 1,
        "usd_per_hour": 1.0,
        "sources": {},
    }
    return Machine(**{**fields, **changes})


def deployment(machine: Machine, tensor_parallel: int = 1) -> Deployment:
    """Deploy the tiny model; the same machine and size give the same object, as in a search."""
    return _deployment(machine.model_dump_json(), tensor_parallel)


@cache
def _deployment(machine_json: str, tensor_parallel: int) -> Deployment:
    profile = Profile(
        model=MODEL.name,
        accelerator="card",
        tensor_parallel=tensor_parallel,
        prompt=tuple(PromptPoint(t, 1, t / 1000, (t / 1000,), **ORIGIN) for t in (100, 200)),
        token=tuple(TokenPoint(98, b, 2, 2, b / 100, (b / 100,), **ORIGIN) for b in (1, 2)),
        prompt_power=tuple(PowerPoint(t, 100.0 + t, **ORIGIN) for t in (100, 200)),
        token_power=tuple(PowerPoint(b, 100.0 + b, **ORIGIN) for b in (1, 2)),
    )
    return deploy(MODEL, Machine.model_validate_json(machine_json), profile)


def workload(
    rate_per_s: float = 1.0, name: str = "chat", requests: tuple[tuple[int, int], ...] = (REQUEST,)
) -> Workload:
    """Build a workload of these (prompt, output) lengths, equally often; its SLO plays no part."""
    slo = Slo(name="any", limits=(SloLimit(metric="ttft", percentile=50, at_most_s=1.0),))
    prompt, output = np.array(requests, dtype=np.int64).T
    return Workload(name, rate_per_s, histogram_of(prompt, output), slo, "made up for this test")


def demand(*rates_per_s: float) -> Demand:
    """One class per rate, each a workload of its own; all requests are `REQUEST`."""
    return classify(tuple(workload(rate, f"w{i}") for i, rate in enumerate(rates_per_s)))


def candidate(
    role: Role,
    machine: Machine,
    demand: Demand,
    *,
    tensor_parallel: int = 1,
    prompt_s: float | list[float] = 0.0,
    tiers: tuple[tuple[int, float], ...] = ((1, 1.0),),
    segments: tuple[tuple[float, float], ...] = ((0.0, 0.0),),
    serves: list[bool] | None = None,
    level: int | None = None,
    **changes: Any,
) -> Candidate:
    """Build a candidate that does any amount of work until the test says what work takes.

    Parameters
    ----------
    prompt_s : float or list of float
        Prompt seconds per request, of every class or per class.
    segments : tuple of (a_i, s_i)
        Iteration time: seconds, seconds per request of the batch.
    level : int
        Which of several SLO levels; None where there is one.
    """
    deployed = deployment(machine, tensor_parallel)
    classes = len(demand.names)
    fields: dict[str, Any] = {
        "name": candidate_name(role, deployed, level or 0, 1 if level is None else 2),
        "role": role,
        "deployment": deployed,
        "serves": np.ones(classes, dtype=bool) if serves is None else np.array(serves),
        "prompt_s": np.broadcast_to(np.array(prompt_s, dtype=float), (classes,)),
        "tiers": tuple(Tier(low, headroom) for low, headroom in tiers),
        "intercepts_s": np.array([a for a, _ in segments]),
        "slopes_s": np.array([s for _, s in segments]),
        "context_s": 0.0,
        "target_s": np.inf,
        "kv_room_tokens": 2.0**40,
        "batch_limit": 2.0**40,
        "phases_share_time": True,
    }
    return Candidate(**{**fields, **changes})


def problem(
    demand: Demand,
    *candidates: Candidate,
    limits: dict[str, Any] | None = None,
    existing: dict[str, int] | None = None,
    spares: dict[Role, int] | None = None,
    **changes: Any,
) -> Problem:
    """Build a problem; limits, existing machines and spares as a scenario writes them."""
    return Problem(
        demand=demand,
        candidates=candidates,
        limits=Limits(**(limits or {})),
        existing=tuple((existing or {}).items()),
        spares=tuple((spares or {}).items()),
        **changes,
    )


def best(problem: Problem, objective: Objective = cost) -> Solution:
    """Solve to the end; what comes out must pass every plain-number check."""
    answer = solve(problem, objective, UNHURRIED_S)
    assert answer.optimal
    assert answer.solution is not None
    assert violations(problem, answer.solution) == []
    return answer.solution


def is_infeasible(problem: Problem) -> bool:
    """Solve and tell whether it was proved that there is no solution."""
    answer = solve(problem, cost, UNHURRIED_S)
    assert answer.optimal
    return answer.solution is None


def solution(
    problem: Problem,
    machines: list[int],
    serve: list[float] | np.ndarray,
    *,
    spares: list[int] | None = None,
    owned: dict[str, int] | None = None,
    theta: float = 1.0,
) -> Solution:
    """Build a solution; a single number per candidate is its share of every class."""
    shares = np.array(serve, dtype=float).reshape(len(problem.candidates), -1)
    shares = np.broadcast_to(shares, (len(problem.candidates), len(problem.demand.names)))
    return Solution(
        machines=tuple(machines),
        spares=tuple(spares or [0] * len(machines)),
        owned=owned or {},
        serve=shares,
        theta=theta,
    )
