from provisioner.planning.objectives import power
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
BOX = machine("box", provisioned_power_w=1000)
CAPPED = machine("box-cap70", hardware="box", provisioned_power_w=700)


def test_a_cap_pays_when_it_slows_less_than_it_saves():
    # 4 machines at 1000 W. Capped and 1.25 times as slow 5 at 700 W = 3500; 1.5 times 6 = 4200.
    def capped(prompt_s):
        return problem(
            ONCE,
            candidate(MIXED, BOX, ONCE, prompt_s=1.0),
            candidate(MIXED, CAPPED, ONCE, prompt_s=prompt_s),
        )

    assert best(capped(1.25), power).machines == (0, 5)
    # One capped machine does 2/3 of one that is not: 3 + 2 take 4400, 2 + 3 take 4100, 1 + 5 take
    # 4500, 4 take 4000.
    assert best(capped(1.5), power).machines == (4, 0)


def test_value_by_hand():
    # Spares and existing machines draw too: (2 + 1) x 1000 + 3 x 700 W.
    stated = problem(ONCE, candidate(PROMPT, BOX, ONCE), candidate(TOKEN, CAPPED, ONCE))
    found = solution(stated, [2, 3], [1, 1], spares=[1, 0], owned={"box": 3})
    assert power.value(stated, found) == 3 * 1000 + 3 * 700
