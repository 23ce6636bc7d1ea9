"""The least value at which a share reaches a quantile."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.capacity.quantile import least_value


@given(st.floats(1e-3, 1e3), st.floats(0.01, 0.99))
def test_inverse_of_an_exponential_distribution(mean, quantile):
    found = least_value(lambda x: 1 - math.exp(-x / mean), quantile)
    assert found == pytest.approx(-mean * math.log(1 - quantile), rel=1e-6)
    assert 1 - math.exp(-found / mean) >= quantile


def test_a_jump_is_found_from_above():
    assert least_value(lambda x: float(x >= 2.5), 0.5) == pytest.approx(2.5)
    assert least_value(lambda x: float(x >= 2.5), 0.5) >= 2.5


def test_what_is_never_reached_is_infinite():
    assert least_value(lambda _: 0.4, 0.5) == math.inf
