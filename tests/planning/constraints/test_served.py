import pytest

from provisioner.planning.constraints import served
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

BOX, DEAR, OTHER = machine("box"), machine("dear", usd_per_hour=3.0), machine("other")


def test_a_class_is_shared_where_one_type_is_not_enough():
    # 2/s x 1 s of prompts fill two machines. Only one box at 1 USD/h is to be had, so the other
    # half of the class goes to a dear one; both are full, hence x = 1/2 each.
    once = demand(2.0)
    stated = problem(
        once,
        candidate(PROMPT, BOX, once, prompt_s=1.0),
        candidate(PROMPT, DEAR, once, prompt_s=1.0),
        candidate(TOKEN, OTHER, once),
        limits={"available": {"box": 1}},
    )
    found = best(stated)
    assert found.machines == (1, 1, 1)
    assert found.serve[:, 0] == pytest.approx([0.5, 0.5, 1.0])


def test_mixed_machines_need_no_token_machine():
    # One mixed machine at 3 USD/h against a prompt and a token machine at 1 USD/h each: 2 < 3.
    # With two classes of which the token machine may generate one, the mixed one is needed too,
    # and then it serves both: 3 < 3 + 2.
    once, twice = demand(1.0), demand(1.0, 1.0)
    split = [candidate(PROMPT, BOX, once), candidate(TOKEN, BOX, once)]
    assert best(problem(once, *split, candidate(MIXED, DEAR, once))).machines == (1, 1, 0)
    split = [
        candidate(PROMPT, BOX, twice),
        candidate(TOKEN, BOX, twice, serves=[True, False]),
    ]
    assert best(problem(twice, *split, candidate(MIXED, DEAR, twice))).machines == (0, 0, 1)


@pytest.mark.parametrize("role", [PROMPT, TOKEN, MIXED])
def test_a_class_that_no_pool_may_serve_is_infeasible(role):
    twice = demand(1.0, 1.0)
    candidates = [
        candidate(r, BOX, twice, serves=[True, r is not role]) for r in (PROMPT, TOKEN, MIXED)
    ]
    used = candidates[:2] if role is not MIXED else candidates[2:]
    assert is_infeasible(problem(twice, *used))


def test_sentences():
    twice = demand(1.0, 1.0)
    stated = problem(
        twice, candidate(PROMPT, BOX, twice), candidate(TOKEN, BOX, twice, serves=[True, False])
    )

    def sentences(prompt, token):
        return list(served.violations(stated, solution(stated, [1, 1], [prompt, token])))

    name = stated.demand.names[0]
    assert sentences([0.75, 1.0], [0.75, 1.0])[0] == f"class {name}: 0.75 of 1"
    assert sentences([1.0, 1.0], [0.5, 1.0])[0] == f"class {name}: 1 prompts, 0.5 generated"
    assert sentences([1.0, 1.0], [1.0, 1.0]) == [
        f"class {name}: not to be served by token__box__tp1"
    ]
