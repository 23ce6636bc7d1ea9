import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.performance.piecewise import Curve, convex_minorant, non_decreasing
from provisioner.performance.token import fit_token

ROUNDING = 1e-9
unhurried = settings(deadline=None)


@st.composite
def points(draw, least=1, most=9):
    """Draw increasing x and positive y of the sizes that profiles have."""
    x = draw(st.lists(st.integers(1, 600), min_size=least, max_size=most, unique=True))
    y = draw(st.lists(st.floats(1e-3, 10), min_size=len(x), max_size=len(x)))
    return np.array(sorted(x), dtype=float), np.array(y)


def below(segments, x):
    intercepts, slopes = segments
    return np.max(intercepts[:, None] + slopes[:, None] * np.atleast_1d(x), axis=0)


def largest_convex_below(x, y, at):
    """Brute force: the lowest chord of any two points around `at`, or the point there itself."""
    heights = list(y[x == at])
    for (x1, y1), (x2, y2) in itertools.combinations(zip(x, y, strict=True), 2):
        if x1 <= at <= x2:
            heights.append(y1 + (y2 - y1) * (at - x1) / (x2 - x1))
    return min(heights)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (1.0, 10.0),  # constant below the first knot
        (2.0, 10.0),
        (3.0, 12.0),  # half way from 10 to 14
        (4.0, 14.0),
        (8.0, 15.0),
        (16.0, 17.0),  # the last slope, (15 - 14) / (8 - 4) = 1/4, continues: 15 + 8 / 4
    ],
)
def test_curve_is_linear_between_knots_with_stated_ends(at, value):
    curve = Curve(np.array([2.0, 4.0, 8.0]), np.array([10.0, 14.0, 15.0]))
    assert curve(at) == pytest.approx(value)


def test_curve_of_one_knot_is_constant():
    curve = Curve(np.array([5.0]), np.array([3.0]))
    assert curve.last_slope == 0
    assert list(curve([0.0, 5.0, 1e6])) == [3.0, 3.0, 3.0]


def test_curve_keeps_the_shape_of_its_argument():
    curve = Curve(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert curve(1.5).shape == ()
    assert curve(np.ones((2, 3))).shape == (2, 3)


@given(points(least=2), st.floats(0, 1000))
@unhurried
def test_last_slope_continues_beyond_the_last_knot(drawn, beyond):
    x, y = drawn
    expected = y[-1] + (y[-1] - y[-2]) / (x[-1] - x[-2]) * beyond
    assert Curve(x, y)(x[-1] + beyond) == pytest.approx(expected, rel=ROUNDING, abs=1e-6)


def test_falling_values_are_pooled_by_weight():
    # 4 then 1 falls. Pooled with weights 1 and 2: (1 * 4 + 2 * 1) / 3 = 2.
    x, y, weight = np.array([1.0, 2, 3]), np.array([4.0, 1, 5]), np.array([1.0, 2, 1])
    repaired, repairs = non_decreasing(x, y, weight)
    assert list(repaired) == pytest.approx([2, 2, 5])
    assert [(r.x, r.measured, r.used) for r in repairs] == [(1, 4, 2), (2, 1, 2)]


@given(points(), st.data())
@unhurried
def test_isotonic_repair_is_the_weighted_min_max_and_lists_every_change(drawn, data):
    # Robertson, Wright, Dykstra, Order Restricted Statistical Inference (1988), theorem 1.4.4: the
    # value at i is the largest over a <= i of the smallest over b >= i of the mean of a..b.
    x, y = drawn
    weight = np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=len(x), max_size=len(x))))
    repaired, repairs = non_decreasing(x, y, weight)
    for i in range(len(x)):
        means = [
            [np.average(y[a : b + 1], weights=weight[a : b + 1]) for b in range(i, len(x))]
            for a in range(i + 1)
        ]
        assert repaired[i] == pytest.approx(max(map(min, means)), rel=ROUNDING)
    assert np.all(np.diff(repaired) >= 0)
    assert {r.x for r in repairs} == set(x[~np.isclose(repaired, y, rtol=1e-9)])


def test_minorant_by_hand():
    # b(1) = 1, b(2) = 3, b(3) = 3, b(5) = 9. The chord from 1 to 3 has slope 1 and passes (2, 2)
    # below b(2); from 3 to 5 the slope is 3. Segments: 0 + 1 B and -6 + 3 B.
    intercepts, slopes = convex_minorant(np.array([1.0, 2, 3, 5]), np.array([1.0, 3, 3, 9]))
    assert list(intercepts) == pytest.approx([0, -6])
    assert list(slopes) == pytest.approx([1, 3])


def test_minorant_of_one_point_is_flat():
    intercepts, slopes = convex_minorant(np.array([4.0]), np.array([2.0]))
    assert list(intercepts) == [2.0]
    assert list(slopes) == [0.0]


@given(points())
@unhurried
def test_minorant_is_the_lowest_chord_at_every_batch(drawn):
    x, y = drawn
    segments = convex_minorant(x, y)
    for at in np.linspace(x[0], x[-1], 23):
        assert below(segments, at)[0] == pytest.approx(largest_convex_below(x, y, at), rel=1e-7)


@given(points())
@unhurried
def test_minorant_never_exceeds_the_points(drawn):
    x, y = drawn
    assert np.all(below(convex_minorant(x, y), x) <= y + ROUNDING * y.max())


@given(points(least=2), st.integers(1, 6))
@unhurried
def test_minorant_has_strictly_increasing_slopes(drawn, parts):
    x, y = drawn
    # Points put onto the segments in between are collinear only up to rounding.
    finer = np.unique(
        np.concatenate([np.linspace(a, b, parts + 1) for a, b in itertools.pairwise(x)])
    )
    _, slopes = convex_minorant(finer, np.interp(finer, x, y))
    assert np.all(np.diff(slopes) > 0)
    assert len(slopes) <= len(x) - 1


@given(
    st.lists(st.integers(1, 600), min_size=2, max_size=20, unique=True),
    st.floats(1e-3, 10),
    st.floats(0, 0.1),
)
@unhurried
def test_minorant_of_points_on_a_line_is_one_segment(batches, intercept, slope):
    # Rounding puts a good part of such points an ulp below the chord of their neighbours.
    x = np.array(sorted(batches), dtype=float)
    intercepts, slopes = convex_minorant(x, intercept + slope * x)
    assert list(slopes) == pytest.approx([slope], abs=1e-12 * intercept)
    assert list(intercepts) == pytest.approx([intercept])


def test_minorant_keeps_a_bend_that_is_more_than_rounding():
    # The middle point lies 1e-9 below the line: a thousand times what rounding explains.
    _, slopes = convex_minorant(np.array([1.0, 2, 3]), np.array([1.0, 2 - 1e-9, 3]))
    assert len(slopes) == 2


def test_built_in_minorants_have_no_two_neighbours_of_equal_slope(profiles):
    for profile in profiles.values():
        _, slopes = fit_token(profile.token).segments
        assert np.all(np.diff(slopes) > 1e-9), profile.name
