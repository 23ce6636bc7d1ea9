import numpy as np
import pytest

from provisioner.planning.constraints import prompt_time
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

BOX = machine()


def test_two_types_and_exactly_three_machines():
    # 2.4/s take 3.0 s/s on a box (1 USD/h) and 1.8 s/s on a fast one (1.6 USD/h).
    # 3 boxes = 3.0; 2 boxes carry 2/3, the rest is 0.6 on one fast: 2 + 1.6 = 3.6;
    # 1 box carries 1/3, the rest is 1.2 on two fast: 1 + 3.2 = 4.2; two fast alone = 3.2.
    once = demand(2.4)
    stated = problem(
        once,
        candidate(PROMPT, BOX, once, prompt_s=1.25),
        candidate(PROMPT, machine("fast", usd_per_hour=1.6), once, prompt_s=0.75),
        candidate(TOKEN, BOX, once),
    )
    found = best(stated)
    assert found.machines == (3, 0, 1)
    assert cost.value(stated, found) == 4.0


def test_a_machine_of_two_instances_does_twice_as_much():
    # 2.4/s x 1.25 s = 3.0 instances = 1.5 machines of two.
    once = demand(2.4)
    pair = machine("pair", accelerators=2)
    stated = problem(once, candidate(MIXED, pair, once, prompt_s=1.25))
    assert best(stated).machines == (2,)
    whole = problem(once, candidate(MIXED, pair, once, tensor_parallel=2, prompt_s=1.25))
    assert best(whole).machines == (3,)


def test_classes_go_where_they_are_handled_relatively_faster():
    # Class 0 takes 1 s on a and 2 s on b, class 1 the reverse; 3/s of each. Apart they fill three
    # of each type, together on one type 3 + 6 = 9 machines.
    twice = demand(3.0, 3.0)
    stated = problem(
        twice,
        candidate(MIXED, machine("a"), twice, prompt_s=[1.0, 2.0]),
        candidate(MIXED, machine("b"), twice, prompt_s=[2.0, 1.0]),
    )
    found = best(stated)
    assert found.machines == (3, 3)
    assert found.serve == pytest.approx(np.eye(2))


def test_sentences():
    once = demand(2.0)
    stated = problem(once, candidate(MIXED, BOX, once, prompt_s=1.0, tiers=((1, 0.5),)))
    found = [list(prompt_time.violations(stated, solution(stated, [n], [1.0]))) for n in (3, 4)]
    assert found == [["mixed__box__tp1: 2 s/s of prompt work in 1.5"], []]
