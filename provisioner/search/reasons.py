"""Why nothing is feasible: which limit has to move, and to what value."""

from __future__ import annotations

import dataclasses
import math
import time

from provisioner.capacity.guide import longest_requests
from provisioner.capacity.unloaded import Reached, reached
from provisioner.domain.base import Role
from provisioner.domain.result import Reason
from provisioner.domain.scenario import DESIGN_ROLES
from provisioner.domain.slo import SloLimit
from provisioner.planning.limits import Limit, Total, limits_of
from provisioner.planning.problem import Problem
from provisioner.planning.solve import solve
from provisioner.search.find import Search, programs

_MARGIN = 1e-6
_SMALL_RATE_PER_S = 0.05
"""Demand for which throughput is still worth a plan: what the smallest cluster must serve."""


def slo_reasons(search: Search) -> list[Reason]:
    """Limits of the SLO that no number of machines meets; empty where some number would do."""
    roles = tuple(dict.fromkeys(r for d in search.case.scenario.designs for r in DESIGN_ROLES[d]))
    return [
        reason
        for index in range(len(search.guide.targets))
        for reason in _workload_reasons(search, index, roles)
    ]


def _workload_reasons(search: Search, index: int, roles: tuple[Role, ...]) -> list[Reason]:
    workload = search.case.workloads[index]
    limits = workload.slo.limits
    choices = list(reached(search.guide, index, roles))
    if any(not _broken(choice, limits) for choice in choices):
        return []
    single: dict[int, float] = {}
    for choice in choices:
        broken = _broken(choice, limits)
        if len(broken) == 1 and math.isfinite(choice.values[broken[0]]):
            value = single.get(broken[0], math.inf)
            single[broken[0]] = min(value, choice.values[broken[0]])
    if single:
        return [
            _slo_reason(workload.name, limits[i], value, alone=True)
            for i, value in sorted(single.items())
        ]
    closest = min(choices, key=lambda choice: _worst_excess(choice, limits))
    return [
        _slo_reason(workload.name, limits[i], closest.values[i], alone=False)
        for i in _broken(closest, limits)
    ]


def _broken(choice: Reached, limits: tuple[SloLimit, ...]) -> list[int]:
    return [i for i, limit in enumerate(limits) if choice.values[i] > limit.limit]


def _worst_excess(choice: Reached, limits: tuple[SloLimit, ...]) -> float:
    return max(v / limit.limit for v, limit in zip(choice.values, limits, strict=True))


def _slo_reason(workload: str, limit: SloLimit, value: float, *, alone: bool) -> Reason:
    needed = _rounded_up(value) if math.isfinite(value) else None
    unit = "x" if limit.unit == "slowdown" else " s"
    others = "" if alone else ", and the other limits named have to move too"
    return Reason(
        limit=f"{workload}: {limit.label}",
        value=limit.limit,
        needed=needed,
        alone=alone,
        sentence=(
            f"{workload}: {limit.label} of at most {limit.limit:g}{unit} cannot be met by any "
            + (
                f"number of machines; {needed:g}{unit} is the least that could be{others}"
                if needed is not None
                else "number of machines, at any value"
            )
        ),
    )


def _rounded_up(value: float) -> float:
    """Four significant digits, never below the value."""
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return float(f"{math.ceil(value * (1 + _MARGIN) / step) * step:.6g}")


def memory_reasons(search: Search) -> list[Reason]:
    """Workloads with requests longer than the KV room of every instance."""
    most = max(deployment.kv_room_tokens for deployment in search.guide.deployments)
    demand = search.guide.demand
    longest = longest_requests(demand, Role.TOKEN)
    return [
        Reason(
            limit=f"{workload.name}: longest request",
            value=float(longest[demand.workload == index].max()),
            needed=float(math.floor(most)),
            alone=True,
            sentence=(
                f"{workload.name}: requests of {longest[demand.workload == index].max():,.0f} "
                f"tokens fit no machine; the largest KV-cache room is {most:,.0f} tokens"
            ),
        )
        for index, workload in enumerate(demand.workloads)
        if longest[demand.workload == index].max() > most
    ]


def limit_reasons(search: Search) -> list[Reason]:
    """Limits of the site whose move alone makes the case feasible, or all that have to move."""
    deadline = time.monotonic() + search.case.scenario.time_limit_s
    problems = [_asked(search, problem) for _, _, problem in programs(search)]
    if not problems:
        return []
    alone = []
    for limit in limits_of(problems[0]):
        needed = _least(problems, limit, deadline)
        if needed is not None:
            alone.append(_limit_reason(limit, needed, alone=True))
    return alone or _together(problems, deadline)


def _asked(search: Search, problem: Problem) -> Problem:
    """The problem at a fixed demand: the scenario's, or a small one where throughput is asked."""
    if not problem.scale_demand:
        return problem
    demand = search.guide.demand
    small = demand.rate_per_s * (_SMALL_RATE_PER_S / demand.total_rate_per_s)
    workloads = tuple(
        dataclasses.replace(
            w, rate_per_s=w.rate_per_s * _SMALL_RATE_PER_S / demand.total_rate_per_s
        )
        for w in demand.workloads
    )
    reduced = dataclasses.replace(demand, rate_per_s=small, workloads=workloads)
    return dataclasses.replace(problem, demand=reduced, scale_demand=False)


def _least(problems: list[Problem], limit: Limit, deadline: float) -> float | None:
    """Least use of a limit once it is dropped, over all problems; None where that is no help."""
    best = None
    for problem in problems:
        own = next(x for x in limits_of(problem) if x.key == limit.key)
        left = max(deadline - time.monotonic(), 1.0)
        answer = solve(own.dropped(problem), own.use, left, no_worse_than=best)
        if answer.solution is not None:
            used = own.used(problem, answer.solution)
            best = used if best is None else min(best, used)
    return best


def _together(problems: list[Problem], deadline: float) -> list[Reason]:
    """Limits to move together, by the least sum of their uses relative to their values."""
    best: tuple[float, list[tuple[Limit, float]]] | None = None
    for problem in problems:
        limits = limits_of(problem)
        free = problem
        for limit in limits:
            free = limit.dropped(free)
        total = Total(tuple(limits))
        answer = solve(free, total, max(deadline - time.monotonic(), 1.0))
        if answer.solution is None:
            continue
        value = total.value(free, answer.solution)
        uses = [(limit, limit.used(free, answer.solution)) for limit in limits]
        if best is None or value < best[0]:
            best = value, uses
    if best is None:
        return []
    exceeded = [(limit, used) for limit, used in best[1] if used > limit.value]
    return [_limit_reason(limit, used, alone=False) for limit, used in exceeded]


def _limit_reason(limit: Limit, needed: float, *, alone: bool) -> Reason:
    needed = round(needed, 2)
    unit = limit.unit.removesuffix("s") if limit.value == 1 else limit.unit
    others = "" if alone else ", and the other limits named have to move too"
    return Reason(
        limit=f"limits.{limit.key}",
        value=limit.value,
        needed=needed,
        alone=alone,
        sentence=(
            f"limits.{limit.key} of {limit.value:,.10g} {unit} is too small; "
            f"{needed:,.10g} {limit.unit} is the least that would do, by the latency estimate"
            f"{others}"
        ),
    )
