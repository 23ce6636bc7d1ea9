from provisioner.planning.constraints import availability
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

BOX, DEAR = machine("box"), machine("dear", usd_per_hour=3.0)
CAPPED = machine("box-cap70", hardware="box", provisioned_power_w=700)


def split(rate_per_s, **changes):
    """Prompts on boxes, tokens on capped ones, as many of each as requests per second."""
    once = demand(rate_per_s)
    return problem(
        once,
        candidate(PROMPT, BOX, once, prompt_s=1.0),
        candidate(TOKEN, CAPPED, once, segments=((0.0, 1 / 8),)),
        **changes,
    )


def test_capped_or_not_it_is_one_hardware():
    assert best(split(2.0, limits={"available": {"box": 4}})).machines == (2, 2)
    assert is_infeasible(split(2.0, limits={"available": {"box": 3}}))


def test_spares_and_existing_machines_count():
    changes = {"spares": {TOKEN: 1}, "existing": {"box": 9}}
    assert best(split(2.0, limits={"available": {"box": 5}}, **changes)).spares == (0, 1)
    assert is_infeasible(split(2.0, limits={"available": {"box": 4}}, **changes))


def test_none_available_is_none_used():
    once = demand(1.0)
    stated = problem(
        once,
        candidate(MIXED, BOX, once),
        candidate(MIXED, DEAR, once),
        limits={"available": {"box": 0, "unheard-of": 2}},
    )
    assert best(stated).machines == (0, 1)


def test_sentences():
    stated = split(2.0, limits={"available": {"box": 3, "unheard-of": 0}})
    found = solution(stated, [2, 2], [1.0, 1.0])
    assert list(availability.violations(stated, found)) == ["4 machines of box, 3 available"]
