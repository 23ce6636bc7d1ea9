"""Arrivals: rates, seeds, common random numbers, and a trace's own bursts."""

import dataclasses

import numpy as np
import pytest

from provisioner.domain.trace import Trace
from provisioner.errors import InputError
from provisioner.simulation.arrivals import draw_lengths, offer, replay_once
from tests.search.judged import case_of

LONG_S = 400.0


@pytest.fixture(scope="module")
def workloads():
    """Conversation lengths, and a fixed length besides."""
    fixed = {"name": "fixed", "prompt_tokens": 90, "output_tokens": 7, "rate_per_s": 3.0}
    return case_of(workloads=[{"name": "azure-conv", "rate_per_s": 20.0}, fixed]).workloads


@pytest.fixture(scope="module")
def traced(workloads):
    """A bursty trace: ten requests within the first second of every ten, for 100 s."""
    arrival_s = np.sort(np.add.outer(10.0 * np.arange(10), np.linspace(0, 0.9, 10)).ravel())
    prompts = np.arange(1, 101)
    trace = Trace(arrival_s, prompts, prompts[::-1].copy())
    return dataclasses.replace(workloads[0], trace=trace, rate_per_s=100 / trace.period_s)


def test_poisson_arrivals_come_at_their_rates(workloads):
    offered = offer(workloads, "poisson", 0, LONG_S)
    number = np.bincount(offered.workload)
    for found, rate in zip(number, (20.0, 3.0), strict=True):
        assert found == pytest.approx(rate * LONG_S, abs=5 * np.sqrt(rate * LONG_S))
    times = offered.requests.arrival_s
    assert (np.diff(times) >= 0).all()
    assert 0 <= times[0] <= times[-1] < LONG_S
    gaps = np.diff(times[offered.workload == 0])
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.1)  # as of an exponential


def test_seeds_differ_and_the_same_seed_gives_the_same_bytes(workloads):
    one, same, other = (offer(workloads, "poisson", seed, 60.0) for seed in (3, 3, 4))
    assert one.requests.arrival_s.tobytes() == same.requests.arrival_s.tobytes()
    assert one.requests.prompt_tokens.tobytes() == same.requests.prompt_tokens.tobytes()
    assert not np.array_equal(one.requests.arrival_s[:50], other.requests.arrival_s[:50])


def test_more_demand_is_the_same_requests_closer_together(workloads):
    slow = offer(workloads[:1], "poisson", 5, LONG_S)
    fast = offer(workloads[:1], "poisson", 5, LONG_S, factor=2.5)
    n = len(slow)
    assert fast.requests.arrival_s[:n] == pytest.approx(slow.requests.arrival_s / 2.5)
    assert np.array_equal(fast.requests.prompt_tokens[:n], slow.requests.prompt_tokens)
    assert np.array_equal(fast.requests.output_tokens[:n], slow.requests.output_tokens)


def test_drawn_lengths_have_the_moments_of_the_histogram(workloads):
    histogram = workloads[0].histogram
    uniform = np.random.default_rng(0).random((200_000, 4))
    prompts, outputs = draw_lengths(histogram, uniform)
    n = histogram.requests.sum()
    for found, total in (
        (prompts, histogram.prompt_sum),
        (outputs, histogram.output_sum),
        (prompts * outputs, histogram.product_sum),
        (prompts.astype(float) ** 2, histogram.prompt_sq_sum),
        (outputs.astype(float) ** 2, histogram.output_sq_sum),
    ):
        assert found.mean() == pytest.approx(total.sum() / n, rel=0.02)
    assert min(prompts.min(), outputs.min()) >= 1


def test_a_replay_at_its_own_rate_is_the_trace_shifted(traced):
    offered = offer((traced,), "replay", 1, traced.trace.period_s).requests
    assert sorted(offered.prompt_tokens) == sorted(traced.trace.prompt_tokens)
    pairs = set(zip(offered.prompt_tokens, offered.output_tokens, strict=True))
    assert pairs == set(zip(traced.trace.prompt_tokens, traced.trace.output_tokens, strict=True))
    first = int(np.flatnonzero(offered.prompt_tokens == 1)[0])
    around = np.concatenate([offered.arrival_s[first:], offered.arrival_s[:first]])
    own = np.mod(around - around[0], traced.trace.period_s)
    assert own == pytest.approx(traced.trace.arrival_s, abs=1e-9)


@pytest.mark.parametrize("factor", [0.3, 1.0, 2.4])
def test_a_replay_comes_at_the_rate_asked_for(traced, factor):
    duration_s = traced.trace.period_s
    number = [len(offer((traced,), "replay", seed, duration_s, factor)) for seed in range(40)]
    assert np.mean(number) == pytest.approx(100 * factor, rel=0.08)


def test_more_demand_repeats_every_request_of_a_replay(traced):
    few = offer((traced,), "replay", 2, 100.0, 1.3).requests
    many = offer((traced,), "replay", 2, 100.0, 2.9).requests
    key = set(zip(many.arrival_s, many.prompt_tokens, strict=True))
    assert set(zip(few.arrival_s, few.prompt_tokens, strict=True)) <= key


def test_a_long_window_goes_round_the_trace(traced):
    offered = offer((traced,), "replay", 0, 250.0).requests
    assert len(offered) == pytest.approx(250 * 100 / traced.trace.period_s, abs=10)
    assert offered.arrival_s[-1] > 200


def test_a_trace_once_keeps_its_times(traced):
    offered = replay_once(traced)
    assert np.array_equal(offered.requests.arrival_s, traced.trace.arrival_s)
    assert np.array_equal(offered.requests.output_tokens, traced.trace.output_tokens)


def test_more_requests_than_can_be_simulated_are_refused(workloads):
    with pytest.raises(InputError, match="check its unit"):
        offer(workloads, "poisson", 0, 60.0, factor=1e6)
