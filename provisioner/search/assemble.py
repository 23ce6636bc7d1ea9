"""From the cluster that won and what was measured of it to the plan that people read."""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.capacity.demand import Demand
from provisioner.domain.base import Role
from provisioner.domain.plan import Plan, Pool, RoutingShare
from provisioner.domain.result import Binding, MetricValue
from provisioner.domain.slo import percentile_label
from provisioner.domain.verdict import PoolMeasure, Verdict
from provisioner.domain.workload import FloatArray
from provisioner.planning.counted import counted
from provisioner.planning.limits import limits_of
from provisioner.planning.problem import Problem, Solution
from provisioner.search.shares import classes_of
from provisioner.search.winner import Winner

_LEAST_SHARE = 1e-9
_METRICS_OF = {
    Role.PROMPT: ("ttft", "e2e"),
    Role.TOKEN: ("tbt", "e2e"),
    Role.MIXED: ("ttft", "tbt", "e2e"),
}
"""Metrics that the machines of a role answer for."""


def plan_of(winner: Winner, verdict: Verdict, demand: Demand, shares: FloatArray) -> Plan:
    """Pools and routing, in order of role, machine and tensor parallelism.

    Parameters
    ----------
    demand : Demand
        The scenario's, at ``theta`` 1.
    shares : float array, places x classes
    """
    problem = winner.space.problem
    solution = counted(problem, winner.counts)
    measures = dict(zip(_working(winner), verdict.pools, strict=True))
    owned = dict(solution.owned)
    pools = []
    for j in _used(problem, solution):
        name = problem.candidates[j].machine.name
        existing = min(owned.get(name, 0), solution.total(j))
        owned[name] = owned.get(name, 0) - existing
        pools.append(_pool(problem, solution, j, existing, measures[j]))
    return Plan(
        design=winner.space.design,
        rate_per_s=demand.total_rate_per_s * winner.theta,
        pools=tuple(pools),
        routing=tuple(
            share
            for j in _used(problem, solution)
            for share in _routing(problem, j, demand, shares[j])
        ),
    )


def _working(winner: Winner) -> list[int]:
    """Places in the order of the verdict's pools."""
    return [j for j, count in enumerate(winner.counts) if count]


def _used(problem: Problem, solution: Solution) -> list[int]:
    candidates = problem.candidates
    used = [j for j in range(len(candidates)) if solution.total(j) > 0]
    return sorted(
        used, key=lambda j: (problem.roles.index(candidates[j].role), candidates[j].deployment.name)
    )


def _pool(
    problem: Problem, solution: Solution, j: int, existing: int, measure: PoolMeasure
) -> Pool:
    candidate = problem.candidates[j]
    machine, total = candidate.machine, solution.total(j)
    idle_w = candidate.deployment.power.idle_w
    return Pool(
        role=candidate.role,
        machine=machine.name,
        hardware=machine.hardware,
        tensor_parallel=candidate.deployment.tensor_parallel,
        instances_per_machine=candidate.instances,
        machines=total,
        spares=solution.spares[j],
        existing=existing,
        utilization=measure.utilization,
        usd_per_hour=machine.price_usd_per_hour * (total - existing),
        provisioned_power_w=machine.provisioned_power_w * total,
        rack_units=machine.rack_units * total,
        mean_power_w=measure.mean_power_w + idle_w * solution.spares[j],
    )


def _routing(
    problem: Problem, j: int, demand: Demand, shares: FloatArray
) -> Iterator[RoutingShare]:
    candidate = problem.candidates[j]
    for (workload, name), share in zip(classes_of(demand), shares, strict=True):
        if share > _LEAST_SHARE:
            yield RoutingShare(
                workload=workload,
                request_class=name,
                role=candidate.role,
                machine=candidate.machine.name,
                tensor_parallel=candidate.deployment.tensor_parallel,
                share=float(min(share, 1.0)),
            )


def bindings_of(winner: Winner, verdict: Verdict) -> tuple[Binding, ...]:
    """The tightest SLO limit of every pool and all limits of the site, fullest first."""
    problem = winner.space.problem
    solution = counted(problem, winner.counts)
    found = [
        binding
        for j in _working(winner)
        for binding in _pool_binding(problem, j, verdict.slo.metrics)
    ]
    found += [
        Binding(
            "cluster", f"limits.{limit.key}", _ratio(limit.used(problem, solution), limit.value)
        )
        for limit in limits_of(problem)
    ]
    return tuple(sorted(found, key=lambda binding: -binding.used))


def _pool_binding(problem: Problem, j: int, metrics: tuple[MetricValue, ...]) -> Iterator[Binding]:
    candidate = problem.candidates[j]
    own = [metric for metric in metrics if metric.metric in _METRICS_OF[candidate.role]]
    if own:
        tightest = max(own, key=lambda metric: _ratio(metric.value, metric.limit))
        label = f"{tightest.metric} {percentile_label(tightest.percentile)}"
        if len({metric.workload for metric in metrics}) > 1:
            label = f"{tightest.workload}: {label}"
        where = f"{candidate.role.value} {candidate.deployment.name}"
        yield Binding(where, label, _ratio(tightest.value, tightest.limit))


def _ratio(used: float, value: float) -> float:
    return used / value if value else 1.0
