"""Why no number of machines will do: which limit of the SLO has to move, and to what value.

Ample clusters, of one kind of machine per role, are put to the judge: where even those break a
limit, the value that they reach is the least that could be asked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from provisioner.capacity.guide import longest_requests
from provisioner.domain.base import Role
from provisioner.domain.result import Reason
from provisioner.domain.slo import SloLimit
from provisioner.search.best import Best
from provisioner.search.find import Search
from provisioner.search.hunt import Hunt
from provisioner.search.trials import Counts

_MARGIN = 1e-6
Values = tuple[float, ...]
"""What one ample cluster reaches, in the order of a workload's limits."""


def slo_reasons(best: Best) -> list[Reason]:
    """Limits of the SLO that no number of machines meets; empty where some number would do.

    Raises
    ------
    OutOfTimeError
        Where time is up before.
    """
    workloads = best.setting.search.case.workloads
    reached: list[list[Values]] = [[] for _ in workloads]
    for hunt in best.hunts:
        for counts in _ample(hunt):
            values = iter(m.value for m in hunt.trials.verdict(counts).slo.metrics)
            for index, workload in enumerate(workloads):
                reached[index].append(tuple(itertools.islice(values, len(workload.slo.limits))))
    return [
        reason
        for workload, choices in zip(workloads, reached, strict=True)
        for reason in _workload_reasons(workload.name, workload.slo.limits, choices)
    ]


def _ample(hunt: Hunt) -> Iterator[Counts]:
    """Clusters of one kind per role with as many machines as are ever looked at."""
    most = hunt.problem.most
    assert most is not None
    working = [role for role in hunt.roles if role is not Role.MIXED]
    for roles in (working, [role for role in hunt.roles if role is Role.MIXED]):
        if not roles:
            continue
        for chosen in itertools.product(*(hunt.ruled_out.members(role) for role in roles)):
            yield tuple(most[j] if j in chosen else 0 for j in range(len(most)))


def _workload_reasons(
    name: str, limits: tuple[SloLimit, ...], choices: list[Values]
) -> list[Reason]:
    if any(not _broken(choice, limits) for choice in choices):
        return []
    single: dict[int, float] = {}
    for choice in choices:
        broken = _broken(choice, limits)
        if len(broken) == 1 and math.isfinite(choice[broken[0]]):
            value = single.get(broken[0], math.inf)
            single[broken[0]] = min(value, choice[broken[0]])
    if single:
        return [
            _slo_reason(name, limits[i], value, alone=True) for i, value in sorted(single.items())
        ]
    closest = min(choices, key=lambda choice: _worst_excess(choice, limits))
    return [_slo_reason(name, limits[i], closest[i], alone=False) for i in _broken(closest, limits)]


def _broken(choice: Values, limits: tuple[SloLimit, ...]) -> list[int]:
    return [i for i, limit in enumerate(limits) if choice[i] > limit.limit]


def _worst_excess(choice: Values, limits: tuple[SloLimit, ...]) -> float:
    return max(v / limit.limit for v, limit in zip(choice, limits, strict=True))


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
