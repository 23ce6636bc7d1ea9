from provisioner.planning.objectives import cost
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
SLOW, FAST = machine("slow", usd_per_hour=2.0), machine("fast", usd_per_hour=3.0)


def test_the_cheapest_of_all_combinations():
    # 4/s take 4 s/s on slow ones (2 USD/h) and 2.4 on fast ones (3.01). Four slow: 8; three fast:
    # 9.03. One fast carries 5/12, the rest is 7/3 on three slow: 9.01. Two fast carry 5/6, the rest
    # is 2/3 on one slow: 8.02.
    dearer = FAST.model_copy(update={"usd_per_hour": 3.01})
    stated = problem(
        ONCE,
        candidate(MIXED, SLOW, ONCE, prompt_s=1.0),
        candidate(MIXED, dearer, ONCE, prompt_s=0.6),
    )
    assert best(stated).machines == (4, 0)


def test_value_by_hand():
    # (2 prompt + 1 spare) x 2 + 4 token x 3 USD/h, less one slow and two fast ones that exist.
    stated = problem(ONCE, candidate(PROMPT, SLOW, ONCE), candidate(TOKEN, FAST, ONCE))
    found = solution(stated, [2, 4], [1, 1], spares=[1, 0], owned={"slow": 1, "fast": 2})
    assert cost.value(stated, found) == 3 * 2 + 4 * 3 - 2 - 2 * 3


def test_a_machine_without_a_price_is_free():
    free = machine("free", usd_per_hour=None)
    stated = problem(ONCE, candidate(MIXED, free, ONCE), candidate(MIXED, SLOW, ONCE))
    assert best(stated).machines[1] == 0
