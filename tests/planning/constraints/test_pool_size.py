import pytest

from provisioner.planning.constraints import pool_size
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

BOX = machine()


def sized(rate_per_s, tiers):
    once = demand(rate_per_s)
    return problem(
        once, candidate(PROMPT, BOX, once, prompt_s=0.5, tiers=tiers), candidate(TOKEN, BOX, once)
    )


@pytest.mark.parametrize(
    ("rate_per_s", "machines"),
    [
        (3.0, 3),  # work 1.5 = 3 x 0.5
        (3.25, 4),  # work 1.625 > 1.5, and a pool of four may be filled: 4 x 1.0
        (8.0, 4),  # work 4 = 4 x 1.0, where headroom 0.5 would need 8
        (8.25, 5),
    ],
)
def test_a_larger_pool_may_be_filled_further(rate_per_s, machines):
    assert best(sized(rate_per_s, ((1, 0.5), (4, 1.0)))).machines == (machines, 1)


def test_a_pool_below_its_lowest_size_cannot_be_bought():
    # Work of 0.5 would fit one machine; the SLO is held by three and more only.
    assert best(sized(1.0, ((3, 1.0),))).machines == (3, 1)


def test_a_limit_below_the_lowest_size_leaves_no_pool():
    # Throughput within two machines: no prompt machine can be had, so nothing is served.
    once = demand(1.0)
    stated = problem(
        once,
        candidate(PROMPT, BOX, once, prompt_s=0.5, tiers=((3, 1.0),)),
        candidate(TOKEN, BOX, once),
        limits={"machines": 2},
        scale_demand=True,
    )
    assert best(stated).machines[0] == 0


def test_sentences():
    stated = sized(1.0, ((3, 1.0),))
    found = [
        list(pool_size.violations(stated, solution(stated, [n, 1], [1.0, 1.0]))) for n in (0, 2, 3)
    ]
    assert found == [[], ["prompt__box__tp1: 2 machines, at least 3 needed"], []]
