"""Waiting times against the closed forms of queueing theory."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.capacity.queueing import (
    LOADS,
    MAX_SERVERS,
    Wait,
    erlang_c,
    erlang_c_at_loads,
    wait,
)

SERVICE_S = 0.2


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9, 0.99])
def test_one_server_waits_with_probability_rho(rho):
    # M/M/1: a request waits exactly when the server is busy.
    assert float(erlang_c(1, rho)) == pytest.approx(rho)


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.8])
def test_two_servers_closed_form(rho):
    # M/M/2: C = 2 rho^2 / (1 + rho).
    assert float(erlang_c(2, rho)) == pytest.approx(2 * rho**2 / (1 + rho))


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_erlang_c_equals_its_sum(servers, rho):
    # C = (a^m / m!) / (1 - rho) / (sum_k<m a^k / k! + (a^m / m!) / (1 - rho)), a = m rho.
    a = servers * rho
    last = a**servers / math.factorial(servers) / (1 - rho)
    below = sum(a**k / math.factorial(k) for k in range(servers))
    assert float(erlang_c(servers, rho)) == pytest.approx(last / (below + last), rel=1e-9)


def test_table_equals_the_function():
    assert np.array_equal(erlang_c_at_loads(7), erlang_c(7, LOADS))


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
def test_mean_wait_of_one_server_is_pollaczek_khinchine(rho):
    # M/D/1: mean wait rho S / (2 (1 - rho)); the share rho that waits has mean S / (2 (1 - rho)).
    found = wait(1, rho, SERVICE_S, SERVICE_S**2)
    assert found.probability * found.mean_s == pytest.approx(rho * SERVICE_S / (2 * (1 - rho)))


@pytest.mark.parametrize("servers", [1, 3, 20])
def test_mean_wait_of_exponential_service_is_exact(servers):
    # M/M/m: E[W] = C S / (m (1 - rho)); exponential service has E[S^2] = 2 S^2.
    found = wait(servers, 0.8, SERVICE_S, 2 * SERVICE_S**2)
    expected = float(erlang_c(servers, 0.8)) * SERVICE_S / (servers * 0.2)
    assert found.probability * found.mean_s == pytest.approx(expected)


@given(st.integers(1, 300), st.floats(0.01, 0.98), st.floats(0, 5))
def test_more_servers_never_wait_longer(servers, rho, seconds):
    at = np.array([seconds])
    few = wait(servers, rho, SERVICE_S, 2 * SERVICE_S**2).at_most(at)
    many = wait(servers + 1, rho, SERVICE_S, 2 * SERVICE_S**2).at_most(at)
    assert many[0] >= few[0] - 1e-12


def test_pools_above_the_largest_count_as_the_largest():
    assert wait(MAX_SERVERS + 50, 0.9, 1, 1) == wait(MAX_SERVERS, 0.9, 1, 1)


def test_idle_pools_do_not_wait_and_nobody_waits_less_than_nothing():
    assert wait(3, 0.0, 1, 1) == Wait(0.0, 0.0)
    assert list(Wait(0.0, 0.0).at_most(np.array([-1.0, 0.0, 1.0]))) == [0, 1, 1]


def test_simulated_queue_agrees():
    # 200,000 arrivals at 4 servers, exponential service, first come first served: the share of
    # waits within t lies within 4 standard errors (waits correlate over some 50 requests).
    rng = np.random.default_rng(0)
    n, servers, rho = 200_000, 4, 0.8
    arrivals = np.cumsum(rng.exponential(SERVICE_S / servers / rho, n))
    service = rng.exponential(SERVICE_S, n)
    free = [0.0] * servers
    waits = np.empty(n)
    for i in range(n):
        first = min(range(servers), key=free.__getitem__)
        start = max(arrivals[i], free[first])
        waits[i], free[first] = start - arrivals[i], start + service[i]
    for t in (0.0, 0.1, 0.3):
        expected = float(wait(servers, rho, SERVICE_S, 2 * SERVICE_S**2).at_most(np.array([t]))[0])
        error = 4 * math.sqrt(expected * (1 - expected) * 50 / n)
        assert np.mean(waits <= t + 1e-12) == pytest.approx(expected, abs=error)
