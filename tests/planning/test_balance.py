"""One routing per vector of counts: within every rule, level, whatever it starts from."""

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from provisioner.domain.base import Role
from provisioner.planning import iteration
from provisioner.planning.balance import balanced
from provisioner.planning.constraints import token_time
from provisioner.planning.objectives import cost, throughput
from provisioner.planning.solve import solve, violations
from provisioner.search.find import find
from tests.builders import example_search, search_for
from tests.planning.builders import UNHURRIED_S
from tests.planning.instances import random_problem

randoms = st.randoms(use_true_random=False)
some = settings(deadline=None, derandomize=True, max_examples=60)


def solved(rng: random.Random):
    """A random problem and its optimum."""
    problem = random_problem(rng, 4, scale_demand=rng.random() < 0.5)
    answer = solve(problem, throughput if problem.scale_demand else cost, UNHURRIED_S)
    assume(answer.solution is not None and answer.solution.theta > 0)
    return problem, answer.solution


@given(randoms)
@some
def test_a_balanced_solution_keeps_every_rule_and_the_counts(rng):
    problem, solution = solved(rng)
    level = balanced(problem, solution)
    assert violations(problem, level) == []
    assert (level.machines, level.theta) == (solution.machines, solution.theta)


@given(randoms)
@some
def test_balancing_does_not_depend_on_the_shares_it_starts_from(rng):
    problem, solution = solved(rng)
    level = balanced(problem, solution)
    nothing = dataclasses.replace(solution, serve=np.zeros_like(solution.serve))
    assert balanced(problem, nothing).serve == pytest.approx(level.serve, abs=1e-7)
    assert balanced(problem, nothing).serve.sum() > 0


def test_no_pool_of_a_hybrid_is_overfull_to_spare_another():
    seen = 0
    for seed in range(150):
        rng = random.Random(seed)
        problem = random_problem(rng, 12, scale_demand=rng.random() < 0.5)
        if len(problem.roles) < 3:
            continue
        answer = solve(problem, throughput if problem.scale_demand else cost, UNHURRIED_S)
        if answer.solution is not None and answer.solution.theta > 0:
            assert violations(problem, balanced(problem, answer.solution)) == []
            seen += len({problem.candidates[j].role for j in used(answer.solution)}) == 3
    assert seen > 0


def used(solution):
    return [j for j, count in enumerate(solution.machines) if count]


def test_pools_of_one_role_are_equally_full_where_their_machines_allow():
    found = find(example_search())
    problem, solution = found.problem, found.solution
    full = [
        max(u / n for u, n in iteration.usage(problem, solution, j, token_time.taken))
        for j in used(solution)
        if problem.candidates[j].role is Role.TOKEN
    ]
    assert len(full) > 1
    assert full == pytest.approx([full[0]] * len(full), abs=1e-4)


def test_equal_machines_share_in_proportion_to_their_number():
    """Of two kinds that differ in power only, the one request class is split by the counts."""
    found = find(
        search_for(
            hardware=["dgx-h100", "dgx-h100-cap70"],
            limits={"available": {"dgx-h100": 40}},
            minimize="power",
        )
    )
    problem = found.problem
    tokens = [j for j in problem.of_role(Role.TOKEN) if problem.candidates[j].serves.all()]
    counts = tuple(
        {Role.PROMPT: 20}.get(c.role, 3 + 3 * (j == tokens[0])) if c.serves.any() else 0
        for j, c in enumerate(problem.candidates)
    )
    level = balanced(problem, dataclasses.replace(found.solution, machines=counts))
    assert level.serve[tokens].sum(axis=1) == pytest.approx([2 / 3, 1 / 3], abs=1e-6)


def test_a_role_alone_serves_everything_however_overfull():
    search = example_search()
    problem = search.problem(search.guide.candidates((Role.PROMPT, Role.TOKEN), 10))
    tokens = [j for j in problem.of_role(Role.TOKEN) if problem.candidates[j].serves.all()]
    counts = tuple(int(j == tokens[0]) for j in range(len(problem.candidates)))
    nothing = np.zeros((len(counts), len(problem.demand.names)))
    start = dataclasses.replace(find(search).solution, machines=counts, serve=nothing)
    level = balanced(problem, start, most_full=None)
    generating = problem.demand.iterations > 0
    assert level.serve[tokens[0], generating] == pytest.approx(1.0)
    assert balanced(problem, start).serve.sum() == 0
