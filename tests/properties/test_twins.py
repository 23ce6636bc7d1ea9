"""Rows for the solver and plain-number checks say the same, whatever the problem.

A new constraint or objective is covered as soon as it is in its folder's list.
"""

from __future__ import annotations

import random
from dataclasses import replace
from types import ModuleType

import numpy as np
import pulp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.planning import solver
from provisioner.planning.constraints import CONSTRAINTS, pool_size
from provisioner.planning.objectives import OBJECTIVES, cost, throughput
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.solve import solve, violations
from provisioner.planning.variables import Variables, declare
from tests.planning.builders import CLOSE, UNHURRIED_S
from tests.planning.instances import random_problem

MOST = 8
"""More machines than any random vector has of a candidate."""
EIGHTHS = 8
unhurried = settings(deadline=None, derandomize=True)
randoms = st.randoms(use_true_random=False)


def point(rng: random.Random, problem: Problem, beyond: set[str]) -> Solution:
    """Draw whole numbers and shares in eighths; about half of the classes are served in full.

    What `served`, `spare_machines` and `ownership` tell the solver by the bounds of variables is
    kept, unless they are named in ``beyond``.
    """
    theta = rng.choice((0.5, 1.0, 2.0)) if problem.scale_demand else 1.0
    candidates = problem.candidates
    existing = dict(problem.existing)
    serve = np.array([_shares(rng, problem, k, theta) for k in range(len(problem.demand.names))]).T
    if "served" not in beyond:
        serve = np.where([c.serves for c in candidates], serve, 0.0)
    spare, owned = (int(name in beyond) for name in ("spare_machines", "ownership"))
    return Solution(
        machines=tuple(rng.choice((0, 1, 1, 2, 3, 4)) for _ in candidates),
        spares=tuple(rng.randint(0, problem.spares_of(c.role) + spare) for c in candidates),
        owned={
            m.name: rng.randint(0, existing.get(m.hardware, 0) + owned) for m in problem.machines
        },
        serve=serve,
        theta=theta,
    )


def _shares(rng: random.Random, problem: Problem, k: int, theta: float) -> list[float]:
    """Shares of one class: in full through one prompt and token or mixed pool each, or anyhow."""
    candidates = problem.candidates
    if rng.random() < 0.3:
        return [theta * rng.randint(0, EIGHTHS) / EIGHTHS for _ in candidates]
    shares = [0.0] * len(candidates)
    mixed = rng.randint(0, EIGHTHS) / EIGHTHS
    for role, share in (("prompt", 1 - mixed), ("token", 1 - mixed), ("mixed", mixed)):
        pools = [j for j, c in enumerate(candidates) if c.role == role and c.serves[k]]
        if pools:
            shares[rng.choice(pools)] += theta * share
    if "mixed" not in problem.roles or len(problem.roles) == 1:
        full = max(sum(shares[j] for j in problem.of_role(role)) for role in problem.roles)
        shares = [share * theta / full if full else 0.0 for share in shares]
    return shares


def near_an_optimum(rng: random.Random, problem: Problem) -> Solution | None:
    """Solve and add or take away one machine, spare or existing machine, or nothing."""
    objective = throughput if problem.scale_demand else cost
    found = solve(problem, objective, UNHURRIED_S).solution
    if found is None:
        return None
    j, step = rng.randrange(len(problem.candidates)), rng.choice((-1, 0, 1))
    field, kept = rng.choice((("machines", found.machines), ("spares", found.spares)))
    changed = tuple(max(n + step * (i == j), 0) for i, n in enumerate(kept))
    name, owned = rng.choice(problem.machines).name, dict(found.owned)
    owned[name] = max(owned.get(name, 0) + rng.choice((-1, 0, 0, 1)), 0)
    return replace(found, owned=owned, **{field: changed})


def is_feasible(problem: Problem, fixed: Solution, constraints: tuple[ModuleType, ...]) -> bool:
    """Let the solver fill in the variables that tell which pools are used."""
    model = pulp.LpProblem("fixed", pulp.LpMinimize)
    variables = declare(model, problem, (MOST,) * len(problem.candidates))
    model.setObjective(pulp.lpSum(variables.machines))
    pairs = list(_pairs(variables, fixed))
    if any(variable is None and value for variable, value in pairs):
        return False
    for number, (variable, value) in enumerate(pairs):
        if variable is not None:
            model.addConstraint(variable + 0 == value, f"fixed__{number}")
    for constraint in constraints:
        for name, row in constraint.rows(problem, variables):
            model.addConstraint(row, name)
    outcome = solver.solve(model, UNHURRIED_S)
    assert outcome.status in ("optimal", "infeasible")
    return outcome.found


def _pairs(variables: Variables, fixed: Solution):
    """Yield (variable or None where there is none, value) for everything in a solution."""
    yield from zip(variables.machines, fixed.machines, strict=True)
    yield from zip(variables.spare, fixed.spares, strict=True)
    for name, count in fixed.owned.items():
        yield variables.owned.get(name), count
    for j, shares in enumerate(fixed.serve):
        for k, share in enumerate(shares):
            yield variables.serve[j].get(k), float(share)
    yield variables.theta, fixed.theta if variables.theta is not None else 0.0


@given(randoms, st.booleans(), st.booleans())
@settings(unhurried, max_examples=200)
def test_all_constraints_together(rng, scale_demand, near):
    problem = random_problem(rng, most=4, scale_demand=scale_demand)
    drawn = near_an_optimum(rng, problem) if near else None
    drawn = drawn or point(rng, problem, {constraint.NAME for constraint in CONSTRAINTS})
    found = violations(problem, drawn)
    assert is_feasible(problem, drawn, CONSTRAINTS) is (not found), found


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: constraint.NAME)
@given(randoms, st.booleans())
@settings(unhurried, max_examples=40)
def test_each_constraint(constraint, rng, scale_demand):
    # `pool_size` goes along: its rows are what tells which pools are used.
    problem = random_problem(rng, most=4, scale_demand=scale_demand)
    drawn = point(rng, problem, {constraint.NAME})
    members = (pool_size, constraint) if constraint is not pool_size else (pool_size,)
    found = [sentence for member in members for sentence in member.violations(problem, drawn)]
    assert is_feasible(problem, drawn, members) is (not found), found


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.NAME)
@given(randoms)
@settings(unhurried, max_examples=40)
def test_an_optimum_breaks_nothing_and_is_worth_what_the_solver_says(objective, rng):
    problem = random_problem(rng, most=4, scale_demand=objective.MAXIMIZE)
    answer = solve(problem, objective, UNHURRIED_S)
    assert answer.optimal
    if answer.solution is None:
        return
    assert violations(problem, answer.solution) == []
    value = objective.value(problem, answer.solution)
    if np.isfinite(value):
        assert answer.bound == pytest.approx(value, rel=CLOSE, abs=CLOSE)
    if not hasattr(objective, "PER"):
        assert answer.model.objective.value() == pytest.approx(value, rel=CLOSE, abs=CLOSE)
