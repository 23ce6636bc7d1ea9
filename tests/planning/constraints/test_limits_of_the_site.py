"""Money, power, machines and rack units: rows of one shape, tested side by side."""

import pytest

from provisioner.planning.constraints import machine_limit, money, power_budget, rack_space
from provisioner.planning.objectives import throughput
from tests.planning.builders import (
    MIXED,
    best,
    candidate,
    demand,
    is_infeasible,
    machine,
    problem,
    solution,
)

BOX = machine("box", usd_per_hour=3.0, provisioned_power_w=1000, rack_units=4)
ONCE = demand(1.0)
LIMITS = [
    (money, "usd_per_hour", 3.0, "USD/h"),
    (power_budget, "power_w", 1000.0, "W"),
    (machine_limit, "machines", 1, "machines"),
    (rack_space, "rack_units", 4.0, "rack units"),
]


def site(rate_per_s=1.0, **changes):
    once = demand(rate_per_s)
    return problem(once, candidate(MIXED, BOX, once, prompt_s=0.5), **changes)


@pytest.mark.parametrize(("constraint", "key", "each", "unit"), LIMITS)
def test_throughput_is_two_requests_per_machine_that_is_allowed(constraint, key, each, unit):
    # What three machines take and half as much again allows three: 3 / 0.5 s = 6 requests/s.
    limit = 3 * each if key == "machines" else 3.5 * each
    stated = site(limits={key: limit}, scale_demand=True)
    found = best(stated, throughput)
    assert throughput.value(stated, found) == pytest.approx(6.0)


@pytest.mark.parametrize(("constraint", "key", "each", "unit"), LIMITS)
def test_the_limit_itself_is_allowed_and_a_little_less_is_not(constraint, key, each, unit):
    # 6 requests/s need three machines.
    assert best(site(6.0, limits={key: 3 * each})).machines == (3,)
    less = 3 * each - 1 if key == "machines" else 3 * each * (1 - 1e-5)
    assert is_infeasible(site(6.0, limits={key: less}))


@pytest.mark.parametrize(("constraint", "key", "each", "unit"), LIMITS)
def test_spares_count(constraint, key, each, unit):
    changes = {"limits": {key: 3 * each}, "spares": {MIXED: 1}}
    found = best(site(4.0, **changes))
    assert (found.machines, found.spares) == ((2,), (1,))
    assert is_infeasible(site(6.0, **changes))


@pytest.mark.parametrize(("constraint", "key", "each", "unit"), LIMITS)
def test_existing_machines_count_in_all_but_money(constraint, key, each, unit):
    stated = site(6.0, limits={key: each}, existing={"box": 2})
    if constraint is money:
        assert best(stated).owned == {"box": 2}
    else:
        assert is_infeasible(stated)


@pytest.mark.parametrize(("constraint", "key", "each", "unit"), LIMITS)
def test_sentences(constraint, key, each, unit):
    limited, free = site(limits={key: 2 * each}), site()
    three = solution(limited, [3], [1.0])
    assert list(constraint.violations(free, three)) == []
    assert list(constraint.violations(limited, solution(limited, [2], [1.0]))) == []
    (sentence,) = constraint.violations(limited, three)
    assert sentence == f"{3 * each:g} {unit} of {2 * each:g}"


@pytest.mark.parametrize(("price", "count"), [(0.1, 3), (12.29, 43), (98.32, 43)])
def test_a_budget_of_whole_machines_is_not_lost_to_rounding(price, count):
    # 3 x 0.1 is 0.30000000000000004 and 0.3 / 0.1 is 2.9999999999999996: three all the same.
    box = machine("box", usd_per_hour=price)
    stated = problem(
        ONCE,
        candidate(MIXED, box, ONCE, prompt_s=0.5),
        limits={"usd_per_hour": round(price * count, 2)},
        scale_demand=True,
    )
    assert best(stated, throughput).machines == (count,)
