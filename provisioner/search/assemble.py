"""From a solution of the program to the plan that people read: pools, routing, what binds."""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.capacity.candidate import Candidate
from provisioner.capacity.usage import PoolLoad
from provisioner.domain.plan import Plan, Pool, RoutingShare
from provisioner.domain.result import Binding
from provisioner.planning import iteration
from provisioner.planning.constraints import batch_limit, kv_room, token_time
from provisioner.planning.limits import limits_of
from provisioner.planning.problem import prompt_work
from provisioner.search.find import Found

_LEAST_SHARE = 1e-9


def plan_of(found: Found) -> Plan:
    """Pools and routing of a solution, in order of role, machine and tensor parallelism."""
    problem, solution = found.problem, found.solution
    used = _used(found)
    owned = dict(solution.owned)
    pools = []
    for j in used:
        candidate = problem.candidates[j]
        existing = min(owned.get(candidate.machine.name, 0), solution.total(j))
        owned[candidate.machine.name] = owned.get(candidate.machine.name, 0) - existing
        pools.append(_pool(found, j, existing))
    return Plan(
        design=found.design,
        rate_per_s=problem.demand.total_rate_per_s * solution.theta,
        pools=tuple(pools),
        routing=tuple(share for j in used for share in _routing(found, j)),
    )


def _used(found: Found) -> list[int]:
    candidates = found.problem.candidates
    used = [j for j in range(len(candidates)) if found.solution.total(j) > 0]
    roles = found.problem.roles
    return sorted(
        used, key=lambda j: (roles.index(candidates[j].role), candidates[j].deployment.name)
    )


def _pool(found: Found, j: int, existing: int) -> Pool:
    candidate, solution = found.problem.candidates[j], found.solution
    machine, total = candidate.machine, solution.total(j)
    return Pool(
        role=candidate.role,
        machine=machine.name,
        hardware=machine.hardware,
        tensor_parallel=candidate.deployment.tensor_parallel,
        instances_per_machine=candidate.instances,
        machines=total,
        spares=solution.spares[j],
        existing=existing,
        utilization=_utilization(found, j),
        usd_per_hour=machine.price_usd_per_hour * (total - existing),
        provisioned_power_w=machine.provisioned_power_w * total,
        rack_units=machine.rack_units * total,
    )


def _utilization(found: Found, j: int) -> float:
    candidate = found.problem.candidates[j]
    if candidate.handles_tokens:
        return max(used for _, used in _token_uses(found, j))
    return prompt_work(found.problem, found.solution, j) / _instances(found, j)


def _instances(found: Found, j: int) -> int:
    return found.solution.machines[j] * found.problem.candidates[j].instances


def _token_uses(found: Found, j: int) -> list[tuple[str, float]]:
    """Share in use of the iteration time, KV room and batch limit of one pool."""
    label = found.problem.candidates[j].token_label
    rules = ((label, token_time), ("KV-cache room", kv_room), (label, batch_limit))
    uses = []
    for name, rule in rules:
        pairs = list(iteration.usage(found.problem, found.solution, j, rule.taken))
        uses.append((name, max(used / available for used, available in pairs)))
    return uses


def _routing(found: Found, j: int) -> Iterator[RoutingShare]:
    candidate, demand = found.problem.candidates[j], found.problem.demand
    for k, name in enumerate(demand.names):
        share = found.solution.serve[j, k] / found.solution.theta
        if share > _LEAST_SHARE:
            yield RoutingShare(
                workload=demand.workloads[demand.workload[k]].name,
                request_class=name,
                role=candidate.role,
                machine=candidate.machine.name,
                tensor_parallel=candidate.deployment.tensor_parallel,
                share=float(min(share, 1.0)),
            )


def bindings_of(found: Found) -> tuple[Binding, ...]:
    """The tightest rule of every pool and all limits of the site, fullest first."""
    found_bindings = [_pool_binding(found, j) for j in _used(found)]
    found_bindings += [
        Binding(
            "cluster", f"limits.{x.key}", _ratio(x.used(found.problem, found.solution), x.value)
        )
        for x in limits_of(found.problem)
    ]
    return tuple(sorted(found_bindings, key=lambda binding: -binding.used))


def _ratio(used: float, value: float) -> float:
    return used / value if value else 1.0


def _pool_binding(found: Found, j: int) -> Binding:
    candidate = found.problem.candidates[j]
    where = f"{candidate.role.value} {candidate.deployment.name}"
    uses = []
    if candidate.handles_tokens:
        uses += _token_uses(found, j)
    if candidate.handles_prompts:
        uses.append(_prompt_use(found, j, candidate))
    label, used = max(uses, key=lambda pair: pair[1])
    return Binding(where, label, used)


def _prompt_use(found: Found, j: int, candidate: Candidate) -> tuple[str, float]:
    machines = found.solution.machines[j]
    tier = max((t for t in candidate.tiers if t.low <= machines), key=lambda t: t.headroom)
    work = prompt_work(found.problem, found.solution, j)
    return tier.label or "prompt time", work / _instances(found, j) / tier.headroom


def pool_loads(found: Found) -> tuple[PoolLoad, ...]:
    """The working pools, as the latency estimate wants them."""
    return tuple(
        PoolLoad(found.problem.candidates[j], found.solution.machines[j], found.solution.serve[j])
        for j in _used(found)
        if found.solution.machines[j] > 0
    )
