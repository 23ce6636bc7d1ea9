import pytest

from provisioner.planning.limits import Total, hardware_count, limits_of, rack_units
from provisioner.planning.solve import solve
from tests.planning.builders import (
    PROMPT,
    TOKEN,
    UNHURRIED_S,
    candidate,
    demand,
    is_infeasible,
    machine,
    problem,
    solution,
)

BOX = machine("box-1.5", usd_per_hour=2.0, rack_units=4)
CAPPED = machine("box-cap70", hardware="box-1.5", provisioned_power_w=700, rack_units=4)
ONCE = demand(3.0)
LIMITS = {
    "usd_per_hour": 5.0,
    "power_w": 4000.0,
    "machines": 4,
    "rack_units": 12.0,
    "available": {"box-1.5": 3, "unheard-of": 0},
}


def three_and_three(limits=LIMITS, **changes):
    """Three prompt machines at 2 USD/h, three capped token machines at 1 USD/h."""
    return problem(
        ONCE,
        candidate(PROMPT, BOX, ONCE, prompt_s=1.0),
        candidate(TOKEN, CAPPED, ONCE, segments=((0.0, 1 / 8),)),
        limits=limits,
        **changes,
    )


def test_every_limit_with_its_value_and_unit():
    found = [(limit.key, limit.value, limit.unit) for limit in limits_of(three_and_three())]
    assert found == [
        ("usd_per_hour", 5.0, "USD/h"),
        ("power_w", 4000.0, "W"),
        ("machines", 4, "machines"),
        ("rack_units", 12.0, "rack units"),
        ("available.box-1.5", 3, "machines"),
        ("available.unheard-of", 0, "machines"),
    ]
    assert limits_of(three_and_three({})) == []


def test_uses_by_hand():
    # 3 + 1 spare prompt and 3 token machines, two of which exist: 4 x 2 + 3 x 1 - 2 x 1 USD/h,
    # 4 x 1000 + 3 x 700 W, 7 machines of 4 units.
    stated = three_and_three()
    found = solution(stated, [3, 3], [1, 1], spares=[1, 0], owned={"box-cap70": 2})
    assert [x.used(stated, found) for x in limits_of(stated)] == [9.0, 6100.0, 7.0, 28.0, 7.0, 0.0]


def test_least_use_of_a_limit_once_it_is_dropped_is_what_would_do():
    # Each is what six machines take; the others do not bind.
    six = {"usd_per_hour": 9.0, "power_w": 5100.0, "machines": 6, "rack_units": 24.0}
    for key, needed in six.items():
        stated = three_and_three({key: LIMITS[key]})
        (limit,) = limits_of(stated)
        assert is_infeasible(stated)
        freed = limit.dropped(stated)
        answer = solve(freed, limit.use, UNHURRIED_S)
        assert limit.used(stated, answer.solution) == needed
        assert not is_infeasible(three_and_three({key: needed}))


@pytest.mark.parametrize("index", range(6))
def test_only_the_limit_asked_for_is_dropped(index):
    stated = three_and_three()
    every = limits_of(stated)
    left = limits_of(every[index].dropped(stated))
    assert [x.key for x in left] == [x.key for x in every if x is not every[index]]
    assert limits_of(stated) == every


def test_total_is_the_sum_of_uses_relative_to_their_values():
    # 9/5 + 5100/4000 + 6/4 + 24/12 + 6/3 + 0/1 for six machines, and no fewer will do.
    stated = three_and_three()
    total = Total(tuple(limits_of(stated)))
    free = stated
    for limit in limits_of(stated):
        free = limit.dropped(free)
    answer = solve(free, total, UNHURRIED_S)
    assert answer.solution.machines == (3, 3)
    expected = 9 / 5 + 5100 / 4000 + 6 / 4 + 24 / 12 + 6 / 3
    assert total.value(free, answer.solution) == pytest.approx(expected)
    assert answer.bound == pytest.approx(expected)


def test_a_weighted_count_is_minimised_like_any_objective():
    stated = three_and_three({})
    for use, least in ((rack_units(stated), 24.0), (hardware_count(stated, "box-1.5"), 6.0)):
        answer = solve(stated, use, UNHURRIED_S)
        assert use.value(stated, answer.solution) == least
        assert not use.MAXIMIZE
