"""Variables of the integer program; every one has a readable name.

========================  ==================================================================
``machines__C``           integer, working machines of candidate C
``serve__C__K``           share of class K that C's pool serves in its role, up to theta
``size__C__LOW``          1 when the pool has at least LOW machines and counts on its headroom
``sized__C__LOW``         machines of C under that headroom
``spare__C``              integer, spare machines of C
``owned__M``              integer, existing machines of type M in use
``uses__ROLE__M``         1 when type M is used in a role
``more__N__C``            1 when C has more machines than in cluster N, which failed
``theta``                 demand multiplier; only where throughput is the objective
========================  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pulp

from provisioner.domain.base import Role
from provisioner.planning.problem import Problem, Solution

_DUST = 1e-9

Variable = Any
"""A PuLP variable or affine expression; PuLP publishes no common type for 3.x and 4.x."""


@dataclass(frozen=True)
class Variables:
    """The decision variables by what they stand for."""

    machines: tuple[Variable, ...]
    serve: tuple[dict[int, Variable], ...]
    size: tuple[dict[int, Variable], ...]
    sized: tuple[dict[int, Variable], ...]
    spare: tuple[Variable | None, ...]
    owned: dict[str, Variable]
    uses: dict[tuple[Role, str], Variable]
    theta: Variable | None
    reach: tuple[dict[int, Variable], ...]

    def total(self, index: int) -> Variable:
        """Machines of a candidate, spares included."""
        spare = self.spare[index]
        return pulp.lpSum([self.machines[index]] + ([] if spare is None else [spare]))


def declare(model: pulp.LpProblem, problem: Problem, most: tuple[int, ...]) -> Variables:
    """Add all variables to a model.

    Parameters
    ----------
    most : tuple of int
        Per candidate, a number of machines that no optimal solution exceeds.
    """
    add = model.add_variable
    candidates = problem.candidates
    sized = [_is_sized(problem, i) for i in range(len(candidates))]
    sizes = tuple(
        [tier.low for tier in c.tiers if tier.low <= most[i]] if sized[i] else []
        for i, c in enumerate(candidates)
    )
    most = tuple(0 if sized[i] and not sizes[i] else most[i] for i in range(len(candidates)))
    classes = _class_names(problem)
    theta = add("theta", 0) if problem.scale_demand else None
    top = None if problem.scale_demand else 1
    return Variables(
        machines=tuple(
            add(f"machines__{c.name}", 0, most[i], "Integer") for i, c in enumerate(candidates)
        ),
        serve=tuple(
            {
                k: add(f"serve__{c.name}__{name}", 0, top)
                for k, name in enumerate(classes)
                if c.serves[k]
            }
            for c in candidates
        ),
        size=tuple(
            {low: add(f"size__{c.name}__{low}", 0, 1, "Integer") for low in lows}
            for c, lows in zip(candidates, sizes, strict=True)
        ),
        sized=tuple(
            {low: add(f"sized__{c.name}__{low}", 0, most[i]) for low in lows}
            for i, (c, lows) in enumerate(zip(candidates, sizes, strict=True))
        ),
        spare=tuple(
            add(f"spare__{c.name}", 0, problem.spares_of(c.role), "Integer")
            if problem.spares_of(c.role)
            else None
            for c in candidates
        ),
        owned=_owned(model, problem),
        uses=_uses(model, problem),
        theta=theta,
        reach=tuple(
            {count: add(f"reach__{c.name}__{count}", 0, 1, "Integer") for count in counts}
            for c, counts in zip(candidates, _reached(problem, most), strict=True)
        ),
    )


def _is_sized(problem: Problem, index: int) -> bool:
    """Whether a pool's size matters: for its headroom, or to tell an empty pool from a used one."""
    candidate = problem.candidates[index]
    alone = len(candidate.tiers) == 1 and candidate.tiers[0].low == 1
    rivals = [
        c
        for c in problem.candidates
        if c.role is candidate.role and c.deployment.name == candidate.deployment.name
    ]
    needed = problem.max_types_per_role or problem.spares_of(candidate.role) or len(rivals) > 1
    return bool(needed) or not alone


def _reached(problem: Problem, most: tuple[int, ...]) -> list[list[int]]:
    """Per candidate, in order, the counts that the cuts ask for and that are possible."""
    asked: list[set[int]] = [set() for _ in most]
    for cut in problem.cuts:
        for j, count in cut.counts:
            if count < most[j]:
                asked[j].add(count + 1)
    return [sorted(counts) for counts in asked]


def _class_names(problem: Problem) -> list[str]:
    """Names of the classes, numbered where workloads differ in punctuation only."""
    demand = problem.demand
    workloads = [demand.workloads[which].name for which in demand.workload]
    names = [
        _plain(f"{workload}__{name}".replace("+", "up"))
        for workload, name in zip(workloads, demand.names, strict=True)
    ]
    return [f"{name}__{k}" if names.count(name) > 1 else name for k, name in enumerate(names)]


def _owned(model: pulp.LpProblem, problem: Problem) -> dict[str, Variable]:
    existing = dict(problem.existing)
    return {
        m.name: model.add_variable(f"owned__{_plain(m.name)}", 0, existing[m.hardware], "Integer")
        for m in problem.machines
        if existing.get(m.hardware)
    }


def _uses(model: pulp.LpProblem, problem: Problem) -> dict[tuple[Role, str], Variable]:
    if problem.max_types_per_role is None:
        return {}
    pairs = dict.fromkeys((c.role, c.machine.name) for c in problem.candidates)
    return {
        (role, name): model.add_variable(f"uses__{role.value}__{_plain(name)}", 0, 1, "Integer")
        for role, name in pairs
    }


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def read_solution(problem: Problem, variables: Variables) -> Solution:
    """Read the values after a solve; integers are rounded, shares below `_DUST` are none.

    Of the machines used as many are existing ones as can be, whether the objective asks or not.
    """
    serve = np.zeros((len(problem.candidates), len(problem.demand.names)))
    for index, shares in enumerate(variables.serve):
        for k, variable in shares.items():
            share = variable.value() or 0.0
            serve[index, k] = share if share > _DUST else 0.0
    found = Solution(
        machines=tuple(_whole(variable) for variable in variables.machines),
        spares=tuple(0 if spare is None else _whole(spare) for spare in variables.spare),
        owned={},
        serve=serve,
        theta=1.0 if variables.theta is None else float(variables.theta.value() or 0.0),
    )
    return with_owned(problem, found)


def with_owned(problem: Problem, solution: Solution) -> Solution:
    """Use as many existing machines as there are, for the dearest machine types first."""
    left = dict(problem.existing)
    owned = {}
    for machine in sorted(problem.machines, key=lambda m: -m.price_usd_per_hour):
        if machine.hardware in left:
            used = sum(solution.total(j) for j in problem.of_machine(machine))
            owned[machine.name] = min(used, left[machine.hardware])
            left[machine.hardware] -= owned[machine.name]
    return replace(solution, owned=owned)


def _whole(variable: Variable) -> int:
    return round(variable.value() or 0.0)
