from provisioner.planning.objectives import machines
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

ONCE = demand(4.0)
SLOW, FAST = machine("slow"), machine("fast", usd_per_hour=9.0)


def test_the_fewest_whatever_they_cost():
    # 4 s/s on slow ones, 2.4 on fast ones: three fast, or two fast and a slow, that is cheaper.
    stated = problem(
        ONCE,
        candidate(MIXED, SLOW, ONCE, prompt_s=1.0),
        candidate(MIXED, FAST, ONCE, prompt_s=0.6),
    )
    assert sum(best(stated, machines).machines) == 3
    assert sum(best(stated).machines) == 4


def test_value_by_hand():
    stated = problem(ONCE, candidate(PROMPT, SLOW, ONCE), candidate(TOKEN, FAST, ONCE))
    found = solution(stated, [2, 3], [1, 1], spares=[1, 0], owned={"slow": 3})
    assert machines.value(stated, found) == 6
