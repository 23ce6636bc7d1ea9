"""The bounding program never excludes what the guide finds, row by row and as a whole."""

import numpy as np
import pytest

from provisioner.capacity.bounding import bounding_candidates, least_prompt_s
from provisioner.domain.base import Role
from provisioner.planning.objectives import OBJECTIVES
from provisioner.search.find import bound, find
from tests.builders import example_search, search_for

INSTANCES = 200
WINDOW_S = 110.0
CLOSE = 1e-6
LIMITS = (
    [{"metric": "ttft", "percentile": 90, "at_most_s": 1.0}],
    [{"metric": "tbt", "percentile": 99, "at_most_s": 0.1}],
    [{"metric": "e2e", "percentile": 50, "at_most_slowdown": 1.6}],
    "splitwise",
    "interactive",
)


def random_case(seed):
    """A small scenario: one or two fixed workloads with SLOs of their own, any objective."""
    rng = np.random.default_rng(seed)
    workloads = [
        {
            "name": f"w{i}",
            "prompt_tokens": int(rng.choice([50, 700, 1500, 5000])),
            "output_tokens": int(rng.choice([1, 2, 20, 300])),
            "rate_per_s": float(np.round(10 ** rng.uniform(-1, 1.7), 3)),
            "slo": LIMITS[rng.integers(len(LIMITS))],
        }
        for i in range(rng.integers(1, 3))
    ]
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    asked = {"maximize" if objective.MAXIMIZE else "minimize": objective.NAME}
    names = rng.permutation(["dgx-a100", "dgx-h100", "dgx-h100-cap70"])
    return {
        "workloads": workloads,
        "hardware": [str(name) for name in names[: rng.integers(1, 3)]],
        "designs": [str(rng.choice(["split", "mixed"]))],
        "spares": {"prompt": int(rng.integers(0, 2))},
        "limits": {"machines": int(rng.integers(10, 40))},
        **asked,
    }


@pytest.mark.parametrize("block", range(8))
def test_no_plan_of_the_guide_beats_the_bound(block):
    found_some = 0
    for seed in range(block, INSTANCES, 8):
        search = search_for(**random_case(seed))
        found = find(search)
        if found is None:
            continue
        value = search.objective.value(found.problem, found.solution)
        limit = bound(search)
        if limit is None:
            assert search.objective.MAXIMIZE, "only throughput may be without a bound"
            continue
        found_some += 1
        if search.objective.MAXIMIZE:
            assert value <= limit * (1 + CLOSE), seed
        else:
            assert value >= limit * (1 - CLOSE), seed
    assert found_some >= INSTANCES // 8 // 3


@pytest.mark.parametrize("role", list(Role))
def test_every_coefficient_is_at_most_the_guides(role):
    guide = example_search().guide
    loose = {
        c.deployment.name: c
        for c in bounding_candidates(guide.targets, guide.deployments, (role,), WINDOW_S)[1]
    }
    for budget in guide.budgets:
        for tight in guide.candidates((role,), budget):
            bounding = loose[tight.deployment.name]
            assert (bounding.serves >= tight.serves).all()
            assert (bounding.prompt_s <= tight.prompt_s + 1e-12).all()
            assert bounding.target_s >= tight.target_s
            assert bounding.kv_room_tokens >= tight.kv_room_tokens
            assert bounding.batch_limit >= tight.batch_limit
            assert all(bounding.headroom(t.low) >= t.headroom for t in tight.tiers)
            assert (bounding.intercepts_s <= tight.intercepts_s).all()
            assert (bounding.slopes_s <= tight.slopes_s).all()


def test_prompt_work_of_one_length_by_hand():
    # Every prompt has 1000 tokens, all within TTFT p90 <= 2 s: 90 % must be done within the window
    # plus 2 s, at the best packed time per token (T = 2048, measured) plus each one's own square.
    search = search_for(
        workloads=[{"name": "w", "prompt_tokens": 1000, "output_tokens": 10, "rate_per_s": 1.0}],
        slo=[{"metric": "ttft", "percentile": 90, "at_most_s": 2.0}],
    )
    guide = search.guide
    for deployment in guide.deployments:
        curve = deployment.prompt
        packed = 1000 * min(float(curve.base(t)) / t for t in range(1, 2049)) + (
            1000**2 * curve.quadratic_s
        )
        expected = 0.9 * packed / (1 + 2.0 / WINDOW_S)
        found = least_prompt_s(guide.demand, guide.targets, deployment, WINDOW_S)
        assert found == pytest.approx([expected])


def test_long_prompts_run_alone_and_may_be_left_aside():
    # 4000 tokens exceed the batch limit, so nothing packs them: t_p(4000) for 90 % of them.
    search = search_for(
        workloads=[{"name": "w", "prompt_tokens": 4000, "output_tokens": 10, "rate_per_s": 1.0}],
        slo=[{"metric": "ttft", "percentile": 90, "at_most_s": 2.0}],
    )
    guide = search.guide
    deployment = guide.deployments[1]
    found = least_prompt_s(guide.demand, guide.targets, deployment, WINDOW_S)
    assert found == pytest.approx([0.9 * float(deployment.prompt_s(4000)) / (1 + 2 / WINDOW_S)])


def test_without_a_ttft_limit_no_prompt_work_is_urgent():
    search = search_for(slo=[{"metric": "tbt", "percentile": 90, "at_most_s": 0.1}])
    guide = search.guide
    assert not least_prompt_s(guide.demand, guide.targets, guide.deployments[0], WINDOW_S).any()
