import pytest

from provisioner.planning.constraints import staffed
from tests.planning.builders import (
    PROMPT,
    TOKEN,
    best,
    candidate,
    demand,
    machine,
    problem,
    solution,
)

BOX, STRICT = machine("box"), machine("strict", usd_per_hour=5.0)


@pytest.mark.parametrize("rate_per_s", [1e-15, 1e-9, 1e-6])
def test_the_smallest_demand_needs_a_machine_in_each_role(rate_per_s):
    # The work of 1e-9/s x 0.1 s is below any tolerance; a pool that serves it has a machine.
    once = demand(rate_per_s)
    stated = problem(
        once,
        candidate(PROMPT, BOX, once, prompt_s=0.1),
        candidate(TOKEN, BOX, once, segments=((0.01, 0.01),)),
    )
    assert best(stated).machines == (1, 1)


@pytest.mark.parametrize("rare_per_s", [1e-12, 1e-7])
def test_a_rare_class_beside_a_frequent_one_needs_its_machine(rare_per_s):
    # Prompts of 100/s x 0.1 s fill 10 boxes, which may not serve the rare class: one strict one.
    both = demand(100.0, rare_per_s)
    stated = problem(
        both,
        candidate(PROMPT, BOX, both, prompt_s=0.1, serves=[True, False]),
        candidate(PROMPT, STRICT, both, prompt_s=0.1, serves=[False, True]),
        candidate(TOKEN, BOX, both),
    )
    assert best(stated).machines == (10, 1, 1)


def test_sentences():
    once = demand(1.0)
    stated = problem(once, candidate(PROMPT, BOX, once), candidate(TOKEN, BOX, once))
    empty = solution(stated, [1, 0], [1.0, 0.5])
    assert list(staffed.violations(stated, empty)) == [
        "token__box__tp1: serves 0.5 with no machine"
    ]
    assert list(staffed.violations(stated, solution(stated, [1, 0], [1.0, 0.0]))) == []
