from provisioner.planning.constraints import one_level
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

BOX, TWIN = machine("box"), machine("twin")
TWICE = demand(1.0, 1.0)  # a strict workload and a loose one, 1 s of prompts each


def levels(loose_on):
    """Strict pools may fill half their time and serve both; loose ones all of it, one workload."""
    return problem(
        TWICE,
        candidate(PROMPT, BOX, TWICE, level=0, prompt_s=1.0, tiers=((1, 0.5),)),
        candidate(PROMPT, loose_on, TWICE, level=1, prompt_s=1.0, serves=[False, True]),
        candidate(TOKEN, BOX, TWICE, serves=[True, False], level=0),
        candidate(TOKEN, TWIN, TWICE, serves=[False, True], level=1),
    )


def test_one_level_per_deployment_and_role():
    # On one deployment the strict level must serve both: 2 / 0.5 = 4 machines. On two, the strict
    # takes 1 / 0.5 = 2 and the loose 1.
    assert best(levels(BOX)).machines == (4, 0, 1, 1)
    assert best(levels(TWIN)).machines == (2, 1, 1, 1)


def test_sentences():
    stated = levels(BOX)
    both = solution(stated, [2, 1, 1, 1], [[1, 0], [0, 1], [1, 0], [0, 1]])
    assert list(one_level.violations(stated, both)) == [
        "several SLO levels at once: prompt__box__tp1__slo0, prompt__box__tp1__slo1"
    ]
