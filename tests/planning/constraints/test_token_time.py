import pytest

from provisioner.planning.constraints import token_time
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
ONCE = demand(50.0)  # L = 50 x 8 = 400 iterations/s, M = 50 x 548 = 27,400 KV-tokens/s
LINE = (0.02, 0.005)  # s L = 2.0 instances


def token_machines(**changes):
    candidates = candidate(PROMPT, BOX, ONCE), candidate(TOKEN, BOX, ONCE, **changes)
    return best(problem(ONCE, *candidates)).machines[1]


@pytest.mark.parametrize(
    ("changes", "machines"),
    [
        ({"segments": (LINE,)}, 2),  # stable: 2.0 <= n
        ({"segments": (LINE,), "target_s": 0.1}, 3),  # 2.0 <= n (1 - 0.02/0.1): 2.5
        ({"segments": (LINE,), "target_s": 0.04}, 4),  # 2.0 <= n (1 - 0.02/0.04)
        ({"segments": (LINE, (0.0, 0.008)), "target_s": 0.1}, 4),  # 0.008 L = 3.2 <= n
        ({"segments": (LINE,), "context_s": 1e-4}, 5),  # 2.0 + 1e-4 x 27,400 = 4.74 <= n
    ],
)
def test_machines_by_segment_target_and_context(changes, machines):
    assert token_machines(**changes) == machines


def test_prompts_of_a_mixed_pool_take_iteration_time():
    # 50/s x 0.01 s = 0.5 of prompts: 2.0 + 0.5 <= n. Where the phases may overlap, 2.0 <= n.
    changes = {"segments": (LINE,), "prompt_s": 0.01}
    together = candidate(MIXED, BOX, ONCE, **changes)
    apart = candidate(MIXED, BOX, ONCE, phases_share_time=False, **changes)
    assert best(problem(ONCE, together)).machines == (3,)
    assert best(problem(ONCE, apart)).machines == (2,)


@pytest.mark.parametrize("target_s", [0.02, 0.02 * (1 - 1e-15)])
def test_an_iteration_time_that_does_not_grow_with_the_batch(target_s):
    # a = tau and s = c = 0: one machine generates at the target whatever the load.
    assert token_machines(segments=((0.02, 0.0),), target_s=target_s) == 1


def test_a_pool_slower_than_its_target_is_not_used():
    # One iteration takes longer than the target allows: the dear machine has to do it.
    dear = machine("dear", usd_per_hour=9.0)
    stated = problem(
        ONCE,
        candidate(PROMPT, BOX, ONCE),
        candidate(TOKEN, BOX, ONCE, segments=((0.2, 0.001),), target_s=0.1),
        candidate(TOKEN, dear, ONCE, segments=(LINE,)),
    )
    assert best(stated).machines == (1, 0, 2)


def test_sentences():
    stated = problem(ONCE, candidate(MIXED, BOX, ONCE, segments=(LINE,), target_s=0.1))
    found = [list(token_time.violations(stated, solution(stated, [n], [1.0]))) for n in (2, 3)]
    assert found == [["mixed__box__tp1: 0.4 instances short of 0.1 s a token"], []]
