import pytest

from provisioner.planning.problem import exceeds, per_request
from tests.planning.builders import (
    PROMPT,
    TOKEN,
    candidate,
    demand,
    machine,
    problem,
    solution,
)

BOX, FAST = machine("box"), machine("fast")
TWICE = demand(3.0, 1.0)


@pytest.fixture(scope="module")
def stated():
    """Two prompt pools and a token pool on two machine types, which is all that is asked about."""
    return problem(
        TWICE,
        candidate(TOKEN, FAST, TWICE),
        candidate(PROMPT, BOX, TWICE),
        candidate(PROMPT, FAST, TWICE),
        spares={PROMPT: 2},
    )


def test_what_a_problem_is_made_of(stated):
    assert [m.name for m in stated.machines] == ["fast", "box"]
    assert stated.roles == (TOKEN, PROMPT)
    assert (stated.of_role(PROMPT), stated.of_role(TOKEN)) == ([1, 2], [0])
    assert (stated.of_machine(FAST), stated.of_machine(BOX)) == ([0, 2], [1])
    assert (stated.spares_of(PROMPT), stated.spares_of(TOKEN)) == (2, 0)


def test_per_request_keeps_the_mix(stated):
    one = per_request(stated).demand
    assert one.rate_per_s == pytest.approx([0.75, 0.25])
    assert one.total_rate_per_s == pytest.approx(1.0)
    assert one.iterations == pytest.approx(TWICE.iterations)


def test_a_solution_of_one_request_per_second_scaled_back(stated):
    # 8 requests/s are twice the 4 that are asked for.
    found = solution(stated, [1, 1, 1], [8.0, 4.0, 4.0], theta=8.0).scaled(1 / 4)
    assert found.theta == 2.0
    assert found.serve[:, 0] == pytest.approx([2.0, 1.0, 1.0])
    assert found.machines == (1, 1, 1)


@pytest.mark.parametrize("limit", [0.0, 1.0, 1e6])
def test_a_limit_is_exceeded_beyond_the_solvers_tolerance(limit):
    tolerance = 1e-6 * max(1.0, limit)
    assert not exceeds(limit, limit)
    assert not exceeds(limit + tolerance / 2, limit)
    assert exceeds(limit + tolerance * 2, limit)
