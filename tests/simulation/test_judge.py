"""The judge: percentiles, pooling, intervals, the warm-up, and passing without measuring."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from provisioner.capacity.targets import references_of
from provisioner.domain.base import Role
from provisioner.search.find import prepare
from provisioner.simulation.arrivals import offer
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.judge import judge, percentile
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import simulate
from provisioner.simulation.trial import new_trial, passes, values_of
from tests.search.judged import case_of

RULES = Rules("split")


@pytest.fixture(scope="module")
def case():
    """Two workloads with SLOs of their own."""
    one = {"name": "azure-conv", "rate_per_s": 4.0}
    other = {"name": "short", "prompt_tokens": 300, "output_tokens": 3, "rate_per_s": 2.0}
    slo = [{"metric": "e2e", "percentile": 75, "at_most_s": 0.4}]
    return case_of(workloads=[one, {**other, "slo": slo}])


@pytest.fixture(scope="module")
def trial(case):
    simulation = case.scenario.simulation
    offered = {seed: offer(case.workloads, "poisson", seed, 24.0) for seed in range(4)}
    window_s = (simulation.warmup_s, simulation.duration_s)
    return new_trial(case.workloads, references_of(case), offered, window_s)


@pytest.fixture(scope="module")
def deployments(case):
    return {d.machine.name: d for d in prepare(case).guide.deployments}


def pools_of(deployments, prompts, tokens):
    return (
        SimulatedPool(Role.PROMPT, deployments["dgx-h100"], prompts),
        SimulatedPool(Role.TOKEN, deployments["dgx-a100"], tokens),
    )


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.floats(0.01, 0.999))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(values, quantile):
    found = percentile(np.array(values, dtype=float), quantile)
    assert found in values
    below = sum(v <= found for v in values) / len(values)
    less = sum(v < found for v in values) / len(values)
    assert below >= quantile - 1e-9
    assert less < quantile


def test_of_no_values_the_percentile_is_0():
    assert percentile(np.array([]), 0.5) == 0.0


def by_hand(trial, pools):
    """Values of every limit: per seed, and all seeds together."""
    per_seed = []
    for traffic in trial.traffic:
        run = simulate(pools, traffic.offered.requests, RULES, trial.window_s)
        per_seed.append([np.array(v) for v in values_of(trial, traffic, run.records)])
    return per_seed


def test_seeds_are_pooled_and_the_interval_is_students(trial, case, deployments):
    pools = pools_of(deployments, 2, 4)
    verdict = judge(trial, case.workloads, pools, RULES)
    per_seed = by_hand(trial, pools)
    for i, metric in enumerate(verdict.slo.metrics):
        pooled = np.concatenate([values[i] for values in per_seed])
        quantile = metric.percentile / 100
        assert metric.value == np.quantile(pooled, quantile, method="inverted_cdf")
        each = [np.quantile(v[i], quantile, method="inverted_cdf") for v in per_seed]
        interval = stats.t.interval(0.95, len(each) - 1, metric.value, stats.sem(each))
        assert metric.low == pytest.approx(max(interval[0], 0.0))
        assert metric.high == pytest.approx(interval[1])


def test_only_requests_after_the_warm_up_are_judged(trial, case, deployments):
    verdict = judge(trial, case.workloads, pools_of(deployments, 2, 4), RULES)
    arrivals = [t.offered.requests.arrival_s for t in trial.traffic]
    assert verdict.requests == sum(map(len, arrivals))
    assert verdict.judged == sum(int((a >= 4.0).sum()) for a in arrivals)
    assert (verdict.warmup_s, verdict.duration_s) == (4.0, 24.0)


def test_limits_count_the_requests_of_their_own_workload(trial, case):
    for i, (name, limit) in enumerate(trial.limits):
        for traffic in trial.traffic:
            requests, own = traffic.offered.requests, traffic.offered.workload
            index = [w.name for w in case.workloads].index(name)
            judged = traffic.checks[i].judged
            assert (own[judged] == index).all()
            if limit.metric == "tbt":
                assert (requests.output_tokens[judged] > 1).all()


@pytest.mark.parametrize("prompts", [1, 2, 3])
@pytest.mark.parametrize("tokens", [1, 2, 4])
def test_passing_is_what_the_whole_verdict_says(trial, case, deployments, prompts, tokens):
    pools = pools_of(deployments, prompts, tokens)
    assert passes(trial, pools, RULES) is judge(trial, case.workloads, pools, RULES).slo.ok


def test_an_equal_value_keeps_the_limit(trial, case, deployments):
    """Limits set to the very values that are reached hold; a hair below they do not."""
    pools = pools_of(deployments, 2, 4)
    metrics = judge(trial, case.workloads, pools, RULES).slo.metrics

    def limited(factor):
        limits = []
        for (name, limit), metric in zip(trial.limits, metrics, strict=True):
            key = "at_most_s" if limit.unit == "s" else "at_most_slowdown"
            limits.append((name, limit.model_copy(update={key: metric.value * factor})))
        return dataclasses.replace(trial, limits=tuple(limits))

    assert passes(limited(1.0), pools, RULES)
    assert not passes(limited(1 - 1e-9), pools, RULES)


def test_pools_are_measured_in_their_order(trial, case, deployments):
    verdict = judge(trial, case.workloads, pools_of(deployments, 2, 4), RULES)
    prompt, token = verdict.pools
    assert prompt.mean_batch == 0
    assert token.mean_batch > 1
    for pool, machines, name in ((prompt, 2, "dgx-h100"), (token, 4, "dgx-a100")):
        idle_w = deployments[name].power.idle_w * machines
        assert 0 < pool.utilization <= 1
        assert idle_w < pool.mean_power_w < machines * 10_200


def test_little_s_law_holds_for_the_batch(trial, case, deployments):
    """Requests generating at a time = token iterations per second x time of each."""
    pools = pools_of(deployments, 3, 4)
    traffic = trial.traffic[0]
    run = simulate(pools, traffic.offered.requests, RULES)
    records = run.records
    generating = records.output_tokens > 1
    spent = (records.finish_s - records.token_start_s)[generating].sum()
    batch_s = run.state.instances["batch_s"].sum()
    assert batch_s == pytest.approx(spent, rel=1e-6)
