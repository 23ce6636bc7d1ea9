import pytest

from provisioner.errors import InputError
from provisioner.planning.objectives import throughput
from provisioner.planning.solve import solve
from tests.planning.builders import (
    CLOSE,
    MIXED,
    PROMPT,
    TOKEN,
    UNHURRIED_S,
    best,
    candidate,
    demand,
    machine,
    problem,
    solution,
)

BOX = machine("box")


def split(rate_per_s, **changes):
    """Build a prompt machine that does 10 requests/s and a token machine that does 5."""
    once = demand(rate_per_s)
    return problem(
        once,
        candidate(PROMPT, BOX, once, prompt_s=0.1),
        candidate(TOKEN, BOX, once, segments=((0.0, 1 / 40),)),
        scale_demand=True,
        **changes,
    )


def test_the_slower_role_gets_more_machines():
    # Of seven machines two do 20 prompts/s and five generate 25; 3 + 4 would do 20 as well, and
    # 2.33 + 4.67 is no choice.
    assert best(split(1.0, limits={"machines": 6}), throughput).machines == (2, 4)
    stated = split(1.0, limits={"machines": 7})
    assert throughput.value(stated, best(stated, throughput)) == pytest.approx(20.0)


@pytest.mark.parametrize("rate_per_s", [1e-12, 1e-9, 1e-3, 1.0, 1e5, 1e9])
def test_the_rate_that_is_multiplied_does_not_matter(rate_per_s):
    # theta is 20 / rate: the answer is in requests/s, and no tolerance is in units of theta.
    stated = split(rate_per_s, limits={"machines": 6})
    answer = solve(stated, throughput, UNHURRIED_S)
    assert answer.solution.machines == (2, 4)
    assert answer.solution.theta * rate_per_s == pytest.approx(20.0, rel=CLOSE)
    assert answer.solution.serve[:, 0] * rate_per_s == pytest.approx(20.0, rel=CLOSE)
    assert throughput.value(stated, answer.solution) == pytest.approx(20.0, rel=CLOSE)
    assert answer.bound == pytest.approx(20.0, rel=CLOSE)


def test_workloads_grow_in_proportion():
    # 1/s of 1 s and 3/s of 1/3 s: theta = 3 fills six machines; 12 requests/s in all.
    both = demand(1.0, 3.0)
    stated = problem(
        both,
        candidate(MIXED, BOX, both, prompt_s=[1.0, 1 / 3]),
        limits={"machines": 6},
        scale_demand=True,
    )
    found = best(stated, throughput)
    assert found.theta == pytest.approx(3.0)
    assert throughput.value(stated, found) == pytest.approx(12.0)


def test_a_class_that_no_pool_may_serve_leaves_nothing():
    both = demand(1.0, 1.0)
    stated = problem(
        both,
        candidate(MIXED, BOX, both, prompt_s=1.0, serves=[True, False]),
        limits={"machines": 6},
        scale_demand=True,
    )
    assert best(stated, throughput).theta == 0


@pytest.mark.parametrize(
    ("limits", "price"),
    [
        ({}, 1.0),
        ({"available": {"other": 3}}, 1.0),
        ({"usd_per_hour": 10.0}, None),  # money does not bound what costs nothing
    ],
)
def test_a_machine_that_may_be_bought_without_end_is_named(limits, price):
    once = demand(1.0)
    endless = machine("endless", usd_per_hour=price)
    stated = problem(
        once,
        candidate(MIXED, machine("other", usd_per_hour=5.0), once, prompt_s=1.0),
        candidate(MIXED, endless, once, prompt_s=1.0),
        limits={"available": {"other": 3}, **limits},
        scale_demand=True,
    )
    with pytest.raises(InputError, match="endless"):
        solve(stated, throughput, UNHURRIED_S)


def test_work_that_takes_no_time_has_no_bound():
    # The bounding program's where the SLO leaves prompts free and every output is one token.
    once = demand(1.0)
    stated = problem(once, candidate(MIXED, BOX, once), limits={"machines": 2}, scale_demand=True)
    answer = solve(stated, throughput, UNHURRIED_S)
    assert answer.bound is None
    assert not answer.optimal


def test_value_by_hand():
    stated = split(3.0)
    assert throughput.value(stated, solution(stated, [1, 1], [2, 2], theta=2.0)) == 6.0
