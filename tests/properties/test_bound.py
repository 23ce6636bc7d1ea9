"""The bounding program row by row: looser than the guide, and as worked out by hand."""

import pytest

from provisioner.capacity.bounding import bounding_candidates, least_prompt_s
from provisioner.domain.base import Role
from tests.builders import example_search, search_for

WINDOW_S = 110.0


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
