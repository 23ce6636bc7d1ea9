import pytest

from provisioner.planning.constraints import batch_limit
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
ONCE = demand(50.0)  # L = 400 iterations/s


@pytest.mark.parametrize(
    ("changes", "machines"),
    [
        ({}, 3),  # a L / limit = 0.05 x 400 / 8 = 2.5
        ({"segments": ((0.05, 0.001),)}, 3),  # and s L = 0.4: 2.9
        ({"segments": ((0.05, 0.002),)}, 4),  # and s L = 0.8: 3.3
        ({"batch_limit": 4.0}, 5),  # 5.0 exactly
    ],
)
def test_machines_by_limit(changes, machines):
    fields = {"segments": ((0.05, 0.0),), "batch_limit": 8.0, **changes}
    stated = problem(ONCE, candidate(PROMPT, BOX, ONCE), candidate(TOKEN, BOX, ONCE, **fields))
    assert best(stated).machines == (1, machines)


def test_sentences():
    fields = {"segments": ((0.05, 0.0),), "batch_limit": 8.0}
    stated = problem(ONCE, candidate(MIXED, BOX, ONCE, **fields))
    found = [list(batch_limit.violations(stated, solution(stated, [n], [1.0]))) for n in (2, 3)]
    assert found == [["mixed__box__tp1: 0.5 instances short of batches of 8"], []]
