from provisioner.planning.constraints import spare_machines
from provisioner.planning.objectives import cost, power, throughput
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

BOX, FAST = machine("box"), machine("fast", usd_per_hour=3.5)
ONCE = demand(4.0)


def pools(*others, **changes):
    """Four boxes do what one fast machine does."""
    return problem(
        ONCE,
        candidate(MIXED, BOX, ONCE, prompt_s=1.0),
        candidate(MIXED, FAST, ONCE, prompt_s=0.25),
        *others,
        **changes,
    )


def test_a_spare_changes_which_type_is_best():
    # Without: one fast at 3.5 beats four boxes at 4. With a spare of the cheapest type in use:
    # 3.5 + 3.5 against 4 + 1, or one of each and a spare box, 1 + 3.5 + 1 = 5.5.
    assert best(pools()).machines == (0, 1)
    stated = pools(spares={MIXED: 1})
    found = best(stated)
    assert (found.machines, found.spares) == ((4, 0), (1, 0))
    assert cost.value(stated, found) == 5.0


def test_spares_are_of_the_cheapest_type_in_use():
    # Two boxes are to be had, spares included. One fast and a fast spare: 7. One box and its spare
    # leave 3/4 of the work to one fast: 1 + 1 + 3.5 = 5.5.
    found = best(pools(spares={MIXED: 1}, limits={"available": {"box": 2}}))
    assert (found.machines, found.spares) == ((1, 1), (1, 0))
    # Without a box that works there is none to stand by.
    found = best(pools(spares={MIXED: 1}, limits={"available": {"box": 1}}))
    assert (found.machines, found.spares) == ((0, 1), (0, 1))


def test_rent_decides_which_is_cheapest_then_power_then_the_name():
    twin = machine("twin", provisioned_power_w=900)
    last = machine("zwin", provisioned_power_w=900)
    once = demand(3.0)
    stated = problem(
        once,
        *(candidate(MIXED, m, once, prompt_s=1.0) for m in (BOX, last, twin)),
        limits={"available": {"box": 1, "zwin": 1, "twin": 3}},
        spares={MIXED: 1},
    )
    every = solution(stated, [1, 1, 1], [1 / 3] * 3, spares=[0, 0, 1])
    assert list(spare_machines.violations(stated, every)) == []
    assert best(stated, power).spares == (0, 0, 1)


def test_spares_of_each_role_that_asks():
    once = demand(1.0)
    stated = problem(
        once, candidate(PROMPT, BOX, once), candidate(TOKEN, BOX, once), spares={TOKEN: 2}
    )
    found = best(stated)
    assert (found.machines, found.spares) == ((1, 1), (0, 2))


def test_there_are_no_more_spares_than_asked_for():
    # A box of four cards as one instance and as four: both pools are of the cheapest type, and
    # four machines leave room for a spare in each.
    box = machine("box", accelerators=4)
    once = demand(1.0, 1.0)
    stated = problem(
        once,
        candidate(MIXED, box, once, tensor_parallel=4, prompt_s=1.0, serves=[True, False]),
        candidate(MIXED, box, once, tensor_parallel=1, prompt_s=4.0, serves=[False, True]),
        limits={"available": {"box": 4}},
        spares={MIXED: 1},
        scale_demand=True,
    )
    assert sum(best(stated, throughput).spares) == 1
    two = solution(stated, [1, 1], [[1, 0], [0, 1]], spares=[1, 1])
    assert list(spare_machines.violations(stated, two)) == ["mixed role: 2 spares of 1"]


def test_a_role_that_is_not_used_needs_no_spare():
    # A prompt, a token and a spare prompt machine at 1 USD/h each against one fast mixed machine.
    once = demand(1.0)
    stated = problem(
        once,
        candidate(PROMPT, BOX, once),
        candidate(TOKEN, BOX, once),
        candidate(MIXED, machine("mix", usd_per_hour=2.5), once),
        spares={PROMPT: 1},
    )
    found = best(stated)
    assert (found.machines, found.spares) == ((0, 0, 1), (0, 0, 0))


def test_sentences():
    stated = pools(spares={MIXED: 1})

    def sentences(machines, spares):
        point = solution(stated, machines, [0.5, 0.5], spares=spares)
        return list(spare_machines.violations(stated, point))

    wrong = "mixed__fast__tp1: a spare, though not the cheapest in use"
    assert sentences([2, 1], [1, 0]) == []
    assert sentences([2, 1], [0, 0]) == ["mixed role: 0 spares of 1"]
    assert sentences([2, 1], [1, 1]) == ["mixed role: 2 spares of 1", wrong]
    assert sentences([2, 1], [0, 1]) == [wrong]
    assert sentences([0, 0], [0, 1]) == ["mixed role: 1 spares of 0", wrong]


def test_a_spare_belongs_to_a_pool_that_works():
    box = machine("box", accelerators=2)
    once = demand(1.0)
    stated = problem(
        once,
        candidate(MIXED, box, once, tensor_parallel=1),
        candidate(MIXED, box, once, tensor_parallel=2),
        spares={MIXED: 1},
    )
    idle = solution(stated, [1, 0], [1.0, 0.0], spares=[0, 1])
    assert list(spare_machines.violations(stated, idle)) == [
        "mixed__box__tp2: a spare, though not the cheapest in use"
    ]
