"""Throughput per dollar and per watt: Dinkelbach's method against what one can list by hand."""

import math

import pytest

from provisioner.planning import solve as solving
from provisioner.planning.objectives import (
    cost,
    throughput,
    throughput_per_usd,
    throughput_per_watt,
)
from provisioner.planning.solve import Answer, solve
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

ONCE = demand(1.0)
BOX = machine("box", provisioned_power_w=500)
RATIOS = [(throughput_per_usd, 1.0), (throughput_per_watt, 500.0)]


def split(**changes):
    """Build a prompt machine that does 3 requests/s and a token machine that does 2."""
    return problem(
        ONCE,
        candidate(PROMPT, BOX, ONCE, prompt_s=1 / 3),
        candidate(TOKEN, BOX, ONCE, segments=((0.0, 1 / 16),)),
        scale_demand=True,
        **changes,
    )


@pytest.mark.parametrize(("objective", "each"), RATIOS)
@pytest.mark.parametrize(
    ("limit", "ratio"),
    [
        (2, 2 / 2),  # 1 + 1 machines: 2 requests/s
        (3, 3 / 3),  # 1 + 2: 3
        (4, 4 / 4),  # 2 + 2: 4, 1 + 2: 3 of 3
        (5, 6 / 5),  # 2 + 3: 6
        (9, 6 / 5),  # 4 + 5: 10 of 9 is less
        (10, 12 / 10),  # 4 + 6: the same again
    ],
)
def test_integers_decide_which_ratio_is_reached(objective, each, limit, ratio):
    stated = split(limits={"machines": limit})
    answer = solve(stated, objective, UNHURRIED_S)
    assert objective.value(stated, answer.solution) * each == pytest.approx(ratio, rel=CLOSE)
    assert answer.bound * each == pytest.approx(ratio, rel=CLOSE)


def test_the_best_ratio_is_not_the_most_throughput():
    # Two small machines do 1 request/s each at 1 USD/h; one large does 4 at 3 USD/h. All together
    # 6/5 requests/s per USD/h; the large one alone 4/3.
    stated = problem(
        ONCE,
        candidate(MIXED, machine("small"), ONCE, prompt_s=1.0),
        candidate(MIXED, machine("large", usd_per_hour=3.0), ONCE, prompt_s=0.25),
        limits={"available": {"small": 2, "large": 1}},
        scale_demand=True,
    )
    found = best(stated, throughput_per_usd)
    assert found.machines == (0, 1)
    assert throughput_per_usd.value(stated, found) == pytest.approx(4 / 3)
    assert throughput.value(stated, best(stated, throughput)) == pytest.approx(6.0)


def test_per_watt_and_per_dollar_differ():
    # 1 request/s for 1 USD/h and 500 W against 1 request/s for 2 USD/h and 400 W.
    stated = problem(
        ONCE,
        candidate(MIXED, BOX, ONCE, prompt_s=1.0),
        candidate(
            MIXED, machine("cool", usd_per_hour=2.0, provisioned_power_w=400), ONCE, prompt_s=1.0
        ),
        limits={"machines": 3},
        scale_demand=True,
    )
    assert best(stated, throughput_per_usd).machines[1] == 0
    assert best(stated, throughput_per_watt).machines[0] == 0


def test_what_exists_already_serves_for_nothing():
    # Two existing boxes do 2 requests/s for 0 USD/h: no ratio is better than infinite.
    stated = problem(
        ONCE,
        candidate(MIXED, BOX, ONCE, prompt_s=1.0),
        limits={"machines": 5},
        existing={"box": 2},
        scale_demand=True,
    )
    found = best(stated, throughput_per_usd)
    assert cost.value(stated, found) == 0.0
    assert math.isinf(throughput_per_usd.value(stated, found))
    # Watts are drawn all the same.
    value = throughput_per_watt.value(stated, best(stated, throughput_per_watt))
    assert value == pytest.approx(1 / 500)


@pytest.mark.parametrize(("objective", "each"), RATIOS)
def test_nothing_for_nothing_is_zero(objective, each):
    # One machine cannot be a prompt and a token machine.
    stated = split(limits={"machines": 1})
    found = best(stated, objective)
    assert found.theta == 0
    assert objective.value(stated, found) == 0.0


@pytest.mark.parametrize(("objective", "each"), RATIOS)
def test_value_by_hand(objective, each):
    # 6 requests/s with five machines.
    stated = split()
    found = solution(stated, [2, 3], [6, 6], theta=6.0)
    assert objective.value(stated, found) == pytest.approx(6 / 5 / each)


def _solver_that_answers(monkeypatch, answers):
    left = iter(answers)
    monkeypatch.setattr(solving, "_solve_linear", lambda *_: next(left))


FIVE = split(limits={"machines": 5})
GOOD = solution(FIVE, [2, 3], [6, 6], theta=6.0)
WORSE = solution(FIVE, [2, 2], [4, 4], theta=4.0)
STOPPED = {"bound": None, "optimal": False, "model": None}


@pytest.mark.parametrize("later", [None, WORSE])
def test_at_the_time_limit_the_best_ratio_so_far_is_kept_and_not_called_optimal(monkeypatch, later):
    first = Answer(GOOD, 6.0, True, None)
    _solver_that_answers(monkeypatch, [first, Answer(later, **STOPPED)])
    answer = solve(FIVE, throughput_per_usd, UNHURRIED_S)
    assert answer.solution.machines == (2, 3)
    assert not answer.optimal
    assert answer.bound is None


def test_at_the_time_limit_a_better_ratio_is_taken(monkeypatch):
    first = Answer(WORSE, 4.0, True, None)
    _solver_that_answers(monkeypatch, [first, Answer(GOOD, **STOPPED)])
    answer = solve(FIVE, throughput_per_usd, UNHURRIED_S)
    assert answer.solution.machines == (2, 3)
    assert not answer.optimal


def test_stopped_before_any_solution(monkeypatch):
    _solver_that_answers(monkeypatch, [Answer(None, **STOPPED)])
    answer = solve(FIVE, throughput_per_usd, UNHURRIED_S)
    assert answer.solution is None
    assert not answer.optimal
