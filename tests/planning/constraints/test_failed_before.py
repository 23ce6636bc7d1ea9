import itertools

import pytest

from provisioner.planning.constraints import failed_before
from provisioner.planning.problem import Cut
from tests.planning.builders import (
    PROMPT,
    TOKEN,
    best,
    candidate,
    demand,
    is_infeasible,
    machine,
    problem,
    solution,
)

CHEAP, DEAR = machine("cheap"), machine("dear", usd_per_hour=1.5)
ONCE = demand(1.0)
MOST = (4, 4, 2)


def pools(*cuts, most=MOST):
    """Two kinds of prompt machines and one of token machines; one of each is always enough."""
    kinds = ((PROMPT, CHEAP), (PROMPT, DEAR), (TOKEN, CHEAP))
    made = [candidate(role, box, ONCE) for role, box in kinds]
    return problem(ONCE, *made, cuts=tuple(Cut(cut) for cut in cuts), most=most)


@pytest.mark.parametrize(
    ("cuts", "machines"),
    [
        ((), (1, 0, 1)),
        ((((0, 1), (1, 0)),), (0, 1, 1)),  # one dear machine at 1.5 beats two cheap ones
        ((((0, 1), (1, 1)),), (2, 0, 1)),
        ((((0, 1), (1, 1)), ((0, 3), (1, 0))), (0, 2, 1)),
        ((((0, 4), (1, 0)), ((2, 1),)), (0, 1, 2)),
    ],
)
def test_the_cheapest_cluster_that_is_not_ruled_out(cuts, machines):
    assert best(pools(*cuts)).machines == machines


def test_where_everything_is_ruled_out_nothing_is_left():
    assert is_infeasible(pools(((0, 4), (1, 4))))
    assert is_infeasible(pools(((2, 2),)))


@pytest.mark.parametrize("cut", [((0, 2), (1, 1)), ((0, 0), (1, 3), (2, 1)), ((2, 1),)])
def test_rows_and_plain_check_agree_on_every_cluster(cut):
    """A cluster is left where fixing its counts leaves the program feasible."""
    for counts in itertools.product(range(4), range(4), range(1, 3)):
        if counts[0] + counts[1] == 0:
            continue
        stated = pools(cut, most=counts)
        point = solution(stated, list(counts), [0.0, 0.0, 1.0])
        kept = not list(failed_before.violations(stated, point))
        assert kept is not all(counts[j] <= count for j, count in cut)
        assert is_infeasible(stated) is not kept
