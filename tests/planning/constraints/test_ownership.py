import pytest

from provisioner.planning.constraints import ownership
from provisioner.planning.objectives import cost, power, throughput, throughput_per_watt
from tests.planning.builders import (
    MIXED,
    PROMPT,
    TOKEN,
    best,
    candidate,
    demand,
    machine,
    problem,
    solution,
)

OLD, NEW = machine("old", usd_per_hour=10.0), machine("new", usd_per_hour=2.0)
CAPPED = machine("old-cap70", hardware="old", usd_per_hour=10.0, provisioned_power_w=700)


def mixed(rate_per_s, *machines, **changes):
    once = demand(rate_per_s)
    return problem(once, *(candidate(MIXED, m, once, prompt_s=1.0) for m in machines), **changes)


def test_existing_machines_are_free_and_the_rest_is_bought_cheap():
    # Three machines' work, two old ones exist: the third is a new one for 2 USD/h.
    stated = mixed(3.0, OLD, NEW, existing={"old": 2})
    found = best(stated)
    assert found.machines == (2, 1)
    assert found.owned == {"old": 2}
    assert cost.value(stated, found) == 2.0


def test_an_existing_machine_is_not_used_twice():
    # Prompt and token role need two old machines each, two exist: two are paid.
    once = demand(2.0)
    stated = problem(
        once,
        candidate(PROMPT, OLD, once, prompt_s=1.0),
        candidate(TOKEN, OLD, once, segments=((0.0, 1 / 8),)),
        existing={"old": 2},
    )
    found = best(stated)
    assert found.machines == (2, 2)
    assert cost.value(stated, found) == 20.0


def test_capped_or_not_it_is_one_hardware():
    # Two old machines exist; prompts need two uncapped and tokens two capped ones.
    once = demand(2.0)
    stated = problem(
        once,
        candidate(PROMPT, OLD, once, prompt_s=1.0),
        candidate(TOKEN, CAPPED, once, segments=((0.0, 1 / 8),)),
        existing={"old": 2},
    )
    found = best(stated)
    assert sum(found.owned.values()) == 2
    assert cost.value(stated, found) == 20.0


def test_unused_existing_machines_are_neither_powered_nor_counted():
    # 1 of 5 is enough, and a limit of 1000 W leaves no more.
    stated = mixed(1.0, OLD, existing={"old": 5}, limits={"power_w": 1000, "machines": 1})
    found = best(stated)
    assert found.machines == (1,)
    assert found.owned == {"old": 1}
    assert power.value(stated, found) == 1000


def test_spares_may_be_existing_machines():
    stated = mixed(1.0, OLD, existing={"old": 2}, spares={MIXED: 1})
    assert cost.value(stated, best(stated)) == 0.0


@pytest.mark.parametrize("objective", [power, throughput, throughput_per_watt])
def test_existing_machines_are_free_whatever_is_optimised(objective):
    # Nothing asks for the rent here; still no machine is bought that is there already.
    stated = mixed(
        2.0,
        OLD,
        existing={"old": 3},
        limits={"machines": 2},
        scale_demand=objective.MAXIMIZE,
    )
    found = best(stated, objective)
    assert found.owned == {"old": found.machines[0]}
    assert cost.value(stated, found) == 0.0


def test_the_dearest_types_are_the_existing_ones():
    # Two old machines exist, three run: of one at 10 and two capped at 4 USD/h one is bought, at 4.
    capped = CAPPED.model_copy(update={"usd_per_hour": 4.0})
    once = demand(2.0)
    stated = problem(
        once,
        candidate(PROMPT, OLD, once, prompt_s=0.5),
        candidate(TOKEN, capped, once, segments=((0.0, 1 / 8),)),
        existing={"old": 2},
    )
    for objective in (cost, power):
        found = best(stated, objective)
        assert found.machines == (1, 2)
        assert found.owned == {"old": 1, "old-cap70": 1}
        assert cost.value(stated, found) == 4.0


def test_sentences():
    stated = mixed(1.0, OLD, CAPPED, NEW, existing={"old": 2})
    owned = {"old": 2, "old-cap70": 1, "new": 1}
    found = solution(stated, [1, 1, 1], [1.0, 0.0, 0.0], owned=owned)
    assert list(ownership.violations(stated, found)) == [
        "old: 2 owned, 1 used",
        "old: 3 owned machines, 2 exist",
        "new: 1 owned machines, 0 exist",
    ]
