from provisioner.planning.constraints import types_per_role
from tests.planning.builders import (
    MIXED,
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

BOX, DEAR = machine("box", accelerators=2), machine("dear", usd_per_hour=3.0)
ONCE = demand(4.0)


def two_types(**changes):
    """Work of four machines; two boxes are to be had."""
    return problem(
        ONCE,
        candidate(MIXED, BOX, ONCE, prompt_s=1.0, tensor_parallel=2),
        candidate(MIXED, DEAR, ONCE, prompt_s=1.0),
        limits={"available": {"box": 2}},
        **changes,
    )


def test_one_type_does_it_all():
    # Two boxes and two dear ones cost 2 + 6 = 8; one type alone must be four dear ones, 12.
    assert best(two_types()).machines == (2, 2)
    assert best(two_types(max_types_per_role=2)).machines == (2, 2)
    assert best(two_types(max_types_per_role=1)).machines == (0, 4)


def test_one_type_may_hold_several_deployments():
    # Class 0 fits the instance of two cards only, class 1 that of one: two pools, one type.
    twice = demand(1.0, 1.0)
    stated = problem(
        twice,
        candidate(MIXED, BOX, twice, tensor_parallel=2, serves=[True, False]),
        candidate(MIXED, BOX, twice, tensor_parallel=1, serves=[False, True]),
        max_types_per_role=1,
    )
    assert best(stated).machines == (1, 1)


def test_roles_are_counted_apart():
    twice = demand(1.0, 1.0)
    apart = problem(
        twice, candidate(PROMPT, BOX, twice), candidate(TOKEN, DEAR, twice), max_types_per_role=1
    )
    assert best(apart).machines == (1, 1)
    together = problem(
        twice,
        candidate(MIXED, BOX, twice, serves=[True, False]),
        candidate(MIXED, DEAR, twice, serves=[False, True]),
        max_types_per_role=1,
    )
    assert is_infeasible(together)


def test_sentences():
    stated = two_types(max_types_per_role=1)
    both = solution(stated, [2, 2], [0.5, 0.5])
    assert list(types_per_role.violations(stated, both)) == ["mixed: 2 machine types (box, dear)"]
