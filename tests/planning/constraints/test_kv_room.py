import pytest

from provisioner.planning.constraints import kv_room
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
ONCE = demand(100.0)  # L = 800 iterations/s, M = 54,800 KV-tokens/s


@pytest.mark.parametrize(
    ("changes", "machines"),
    [
        ({}, 3),  # a M / room = 0.05 x 54,800 / 1000 = 2.74
        ({"context_s": 1e-5}, 4),  # and c M = 0.548: 3.288
        ({"segments": ((0.05, 0.001),)}, 4),  # and s L = 0.8: 3.54
        ({"kv_room_tokens": 548.0}, 5),  # 5.0 exactly
    ],
)
def test_machines_by_room(changes, machines):
    fields = {"segments": ((0.05, 0.0),), "kv_room_tokens": 1000.0, **changes}
    stated = problem(ONCE, candidate(PROMPT, BOX, ONCE), candidate(TOKEN, BOX, ONCE, **fields))
    assert best(stated).machines == (1, machines)


def test_prompts_of_a_mixed_pool_stretch_the_iterations():
    # 2.74 as above, and 100/s x 0.01 s = 1.0 of prompts.
    fields = {"segments": ((0.05, 0.0),), "kv_room_tokens": 1000.0, "prompt_s": 0.01}
    assert best(problem(ONCE, candidate(MIXED, BOX, ONCE, **fields))).machines == (4,)


def test_sentences():
    fields = {"segments": ((0.05, 0.0),), "kv_room_tokens": 1000.0}
    stated = problem(ONCE, candidate(MIXED, BOX, ONCE, **fields))
    found = [list(kv_room.violations(stated, solution(stated, [n], [1.0]))) for n in (2, 3)]
    assert found == [["mixed__box__tp1: 0.74 instances short of 1000 KV tokens"], []]
