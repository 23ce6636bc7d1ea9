"""The analytic latency estimate against scans and sampling."""

import itertools

import numpy as np
import pytest

from provisioner.capacity import latency, queueing
from provisioner.capacity.guide import POOL_SIZES, prompt_limits
from provisioner.capacity.latency import Mix, Service, TokenState
from provisioner.capacity.targets import BUDGETS, Limit, budget_shape
from provisioner.domain.base import Role
from provisioner.domain.workload import histogram_of
from tests.builders import example_search

EVERYONE = np.array([True])
SAMPLES = 400_000


@pytest.fixture(scope="module")
def guide():
    """Real lengths, whose variety the estimate is about."""
    return example_search().guide


def test_headroom_is_the_largest_load_that_passes(guide):
    target, deployment = guide.targets[0], guide.deployments[1]
    service = guide.service(Role.PROMPT, deployment, EVERYONE, target, 1.0)
    limits = prompt_limits(target, 8)
    found, labels = latency.headroom(POOL_SIZES, service, target.prompt, limits)
    for size, value, label in zip(POOL_SIZES, found, labels, strict=True):
        passing = [
            load
            for load in queueing.LOADS
            if all(share(service, target, size, load, x) >= x.quantile for x in limits)
        ]
        assert value == (max(passing) if passing else 0.0)
        if passing and max(passing) < queueing.LOADS[-1]:
            above = max(passing) + 1 / 200
            broken = {
                x.label for x in limits if share(service, target, size, above, x) < x.quantile
            }
            assert label in broken


def share(service, target, servers, load, limit):
    wait = queueing.wait(int(servers), load, service.mean_s, service.mean_sq_s)
    return latency.ttft_share(service, target.prompt, wait, limit)


def test_ttft_share_agrees_with_sampling(guide):
    target, deployment = guide.targets[0], guide.deployments[1]
    service = guide.service(Role.PROMPT, deployment, EVERYONE, target, 1.0)
    wait = queueing.wait(4, 0.8, service.mean_s, service.mean_sq_s)
    rng = np.random.default_rng(0)
    cell = rng.choice(len(target.prompt.share), SAMPLES, p=target.prompt.share)
    waits = np.where(
        rng.random(SAMPLES) < wait.probability, rng.exponential(wait.mean_s, SAMPLES), 0.0
    )
    for limit in target.ttft:
        sampled = np.mean(service.prompt_s[cell] + waits <= limit.value * limit.scale_s[cell])
        expected = latency.ttft_share(service, target.prompt, wait, limit)
        error = 4 * np.sqrt(expected * (1 - expected) / SAMPLES) + 1e-9
        assert sampled == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("role", [Role.TOKEN, Role.MIXED])
def test_generation_shares_agree_with_sampling(guide, role):
    target, deployment = guide.targets[0], guide.deployments[1]
    lengths = target.lengths
    state = latency.token_state(deployment, guide.mix(role, deployment, EVERYONE), 20.0)
    transfer = guide.token_limits(role, deployment, 8, target).transfer
    mean, deviation = latency.generation(state, lengths, transfer)
    rng = np.random.default_rng(1)
    cell = rng.choice(len(lengths.share), SAMPLES, p=lengths.share)
    times = rng.normal(mean[cell], deviation[cell])
    for limit in target.tbt:
        allowed = 1.2 * limit.scale_s[cell] * lengths.iterations[cell]
        expected = latency.tbt_share(1.2, limit, lengths, mean, deviation)
        error = 4 * np.sqrt(expected * (1 - expected) / SAMPLES) + 1e-9
        assert np.mean(times <= allowed) == pytest.approx(expected, abs=error)
    for limit in target.e2e:
        ttft = 1.5 * limit.budget_scale_s[cell]
        expected = latency.e2e_share(1.2, limit, 1.5, lengths, mean, deviation)
        error = 4 * np.sqrt(expected * (1 - expected) / SAMPLES) + 1e-9
        assert np.mean(ttft + times <= 1.2 * limit.scale_s[cell]) == pytest.approx(
            expected, abs=error
        )


@pytest.mark.parametrize("role", [Role.TOKEN, Role.MIXED])
@pytest.mark.parametrize("budget", [5, 8, 10])
def test_largest_batch_is_the_edge(guide, role, budget):
    deployment, target = guide.deployments[1], guide.targets[0]
    mix = guide.mix(role, deployment, EVERYONE)
    limits = guide.token_limits(role, deployment, budget, target)
    batch, label = latency.largest_batch(deployment, mix, [limits])
    if batch == 0:
        assert limits.broken(latency.token_state(deployment, mix, 1.0)) == label
        return
    assert limits.broken(latency.token_state(deployment, mix, batch)) == ""
    above = limits.broken(latency.token_state(deployment, mix, batch * 1.001 + 0.001))
    assert above == label or label in ("KV-cache room", "batch of 512")


def test_gap_of_a_mixed_pool_solves_its_balance(guide):
    # A share f = 1.1 E[t_p] lambda of the time goes to prompts, lambda = B / (E[o-1] gap), and
    # the rest to token iterations: gap = t_t / (1 - f).
    deployment = guide.deployments[1]
    mix = guide.mix(Role.MIXED, deployment, EVERYONE)
    state = latency.token_state(deployment, mix, 12.0)
    rate = 12.0 / (mix.iterations * state.gap_s)
    busy = 1.1 * mix.prompt_s * rate
    assert state.gap_s == pytest.approx(state.iteration_s / (1 - busy))


def test_a_token_pool_has_no_prompts_in_its_gaps(guide):
    deployment = guide.deployments[1]
    state = latency.token_state(deployment, Mix(100.0, 1000.0), 9.0)
    assert state.gap_s == state.iteration_s == pytest.approx(float(deployment.token_s(9, 9000)))
    assert state.gap_variance_s2 == 0


def test_one_token_outputs_have_no_tbt():
    lengths = histogram_of(np.array([100]), np.array([1]))
    state = TokenState(1.0, 1.0, 1.0, 0.0, 0.0)
    mean, deviation = latency.generation(state, lengths, np.array([9.0]))
    assert mean[0] == deviation[0] == 0
    limit = Limit("tbt p50", 0.5, 1e-9, np.ones(1))
    assert latency.tbt_share(1e-9, limit, lengths, mean, deviation) == 1


def test_budget_shape_is_the_published_limits():
    assert [budget_shape(q) for q in (0.5, 0.9, 0.99)] == pytest.approx([2, 3, 6])
    assert [budget_shape(q) for q in (0.1, 0.999)] == [2, 6]
    assert all(a < b for a, b in itertools.pairwise(BUDGETS))


def test_service_of_a_mixed_pool_waits_for_the_iteration_in_progress(guide):
    deployment, target = guide.deployments[1], guide.targets[0]
    service = guide.service(Role.MIXED, deployment, EVERYONE, target, 8.0)
    kv = guide.mix(Role.MIXED, deployment, EVERYONE).kv_tokens
    assert isinstance(service, Service)
    assert service.delay_s == pytest.approx(float(deployment.token_s(8, 8 * kv)))
