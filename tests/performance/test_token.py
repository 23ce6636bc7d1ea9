import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, minimize

from provisioner.domain.base import Quality
from provisioner.domain.profile import TokenPoint
from provisioner.performance.token import MAX_BATCH, TokenCurve, fit_token

ROUNDING = 1e-9
TABLE_TOLERANCE = 0.004
"""The published table prints three digits; the widest last digit is 0.05 of 30.3 ms, and 0.2 %
comes from runs that are listed twice there and counted once here."""
POOLED_TOLERANCE = 0.008
"""At batch 1 the published median pools prompt lengths, runs listed twice counted twice."""
REPAIR_TOLERANCE = 0.015
"""Making the curve non-decreasing moves Llama2-70B at batch 2 by up to 1.2 %."""
# Splitwise simulator, data/perf_model.csv, commit 8f99e7d: medians at tensor parallelism 8
# by batch (prompt 512 above batch 1), counted apart from this project's data.
PUBLISHED_MS = {
    "bloom-176b/a100-sxm-80gb/tp8": [49.3, 50.0, 51.0, 53.0, 57.3, 65.4, 96.6],
    "bloom-176b/h100-sxm-80gb/tp8": [36.1, 36.9, 38.1, 38.1, 40.6, 45.8, 63.8],
    "llama2-70b/a100-sxm-80gb/tp8": [45.0, 44.6, 45.8, 46.5, 50.4, 53.0, 71.6],
    "llama2-70b/h100-sxm-80gb/tp8": [30.4, 30.3, 31.8, 32.5, 34.2, 38.6, 50.2],
}
BATCHES = [1, 2, 4, 8, 16, 32, 64]
FLAT_MS = 47.6  # what that simulator itself answers at batch 64, BLOOM-176B on A100
unhurried = settings(deadline=None)


@st.composite
def measured(draw):
    """Draw points as wild as one likes: several contexts per batch, so that c is fitted."""
    cells = st.tuples(st.sampled_from([1, 2, 8, 64, 600]), st.sampled_from([2, 64, 512, 4096]))
    chosen = draw(st.lists(cells, min_size=1, max_size=12, unique=True))
    times = draw(st.lists(st.floats(0.01, 1), min_size=len(chosen), max_size=len(chosen)))
    return tuple(
        TokenPoint(prompt, batch, 2, 2, time_s, (time_s,), Quality.MEASURED, "drawn")
        for (batch, prompt), time_s in zip(chosen, times, strict=True)
    )


def single_requests(points):
    """K and time of the points of the smallest batch."""
    least = min(p.batch for p in points)
    kv = np.array([p.kv_tokens for p in points if p.batch == least])
    return kv, np.array([p.time_s for p in points if p.batch == least])


def most(points):
    return min(p.time_s / p.kv_tokens for p in points)


def by_bounded_least_squares(points):
    """Fit c beside its own b(1) by another algorithm, on relative errors."""
    kv, times = single_requests(points)
    if len(set(kv)) < 2:
        return 0.0
    design = np.column_stack([1 / times, kv / kv.max() / times])
    fit = lsq_linear(design, np.ones_like(times), bounds=(0, np.inf), method="bvls", tol=1e-15)
    return min(float(fit.x[1]) / kv.max(), most(points))


def by_optimizer(points):
    """Fit c beside its own b(1) by a general optimizer, on relative errors."""
    kv, times = single_requests(points)
    unit_s, unit_kv = times.mean(), kv.max()

    def loss(v):
        residual = (v[0] * unit_s + v[1] * unit_s * kv / unit_kv) / times - 1
        return float(residual @ residual)

    found = np.array([0.5, 0.5])
    for _ in range(3):  # again from where it stopped: it stops early in a flat valley
        found = minimize(loss, found, bounds=[(0, None), (0, None)], tol=1e-15).x
    return min(found[1] * unit_s / unit_kv, most(points))


def test_base_is_pooled_by_the_number_of_points(build):
    # c = 0, because time falls with K. b(1) = median(0.4, 0.3, 0.2) of three points,
    # b(2) = 0.1 of one: (3 x 0.3 + 0.1) / 4 = 0.25.
    points = (
        build.token_point(1, 100, 0.4),
        build.token_point(1, 200, 0.3),
        build.token_point(1, 300, 0.2),
        build.token_point(2, 200, 0.1),
    )
    curve = fit_token(points)
    assert curve.context_s == 0
    assert list(curve.base.y) == pytest.approx([0.25, 0.25])


def test_curve_by_hand(build):
    # One request: 0.1 + 0.001 K fits K = 100, 300 exactly (0.2, 0.4 s). Four requests with K = 400
    # take 0.7 s, so b(4) = 0.7 - 0.4 = 0.3; between, b(2) = 0.1 + 0.2 / 3 and so on.
    points = (
        build.token_point(1, 100, 0.2),
        build.token_point(1, 300, 0.4),
        build.token_point(4, 400, 0.7),
    )
    curve = fit_token(points)
    assert curve.context_s == pytest.approx(0.001)
    assert list(curve.base.y) == pytest.approx([0.1, 0.3])
    assert curve.time_s(2, 500) == pytest.approx(0.1 + 0.2 / 3 + 0.5)
    assert list(curve.measured_kv_tokens.y) == [300, 400]
    assert curve.repairs == ()


def test_falling_base_is_pooled_and_listed(build):
    # No context term (one K per batch). b(1) = 0.3 and b(2) = 0.1 fall: both become 0.2.
    curve = fit_token((build.token_point(1, 100, 0.3), build.token_point(2, 200, 0.1)))
    assert list(curve.base.y) == pytest.approx([0.2, 0.2])
    assert [(r.x, r.measured) for r in curve.repairs] == [(1, 0.3), (2, 0.1)]


def test_context_term_explains_at_most_the_whole_time_of_any_point(build):
    # One request shows 0.001 s per token (0.1, 0.3 s at K = 100, 300, so b(1) = 0). 64 requests
    # with K = 6400 take only 0.64 s: with that term b(64) would be -5.76 s. 0.64 / 6400 = 1e-4.
    points = (
        build.token_point(1, 100, 0.1),
        build.token_point(1, 300, 0.3),
        build.token_point(64, 6400, 0.64),
    )
    curve = fit_token(points)
    assert curve.context_s == pytest.approx(1e-4)
    assert np.all(curve.base.y >= 0)


@given(measured())
@unhurried
def test_context_term_is_the_constrained_least_squares_one(points):
    expected, small = by_bounded_least_squares(points), 1e-9 * most(points)
    assert fit_token(points).context_s == pytest.approx(expected, rel=1e-6, abs=small)


def test_built_in_context_terms_agree_with_an_optimizer(profiles):
    for profile in profiles.values():
        found = fit_token(profile.token).context_s
        assert found == pytest.approx(by_optimizer(profile.token), rel=1e-3, abs=1e-11), (
            profile.name
        )


@given(measured(), st.floats(1, 600), st.floats(0, 600), st.floats(1, 1e6), st.floats(0, 1e6))
@unhurried
def test_time_is_positive_and_monotone_in_both_loads(points, batch, more_requests, kv, more_kv):
    curve = fit_token(points)
    time_s = curve.time_s(batch, kv)
    assert time_s > 0
    assert curve.time_s(batch + more_requests, kv) >= time_s * (1 - ROUNDING)
    assert curve.time_s(batch, kv + more_kv) >= time_s * (1 - ROUNDING)


@given(measured(), st.floats(0, 1e4))
@unhurried
def test_last_slope_continues_beyond_the_measured_range(points, beyond):
    curve = fit_token(points)
    last = curve.base.x[-1]
    expected = curve.time_s(last, 10) + curve.base.last_slope * beyond
    assert curve.time_s(last + beyond, 10) == pytest.approx(expected, rel=ROUNDING)


@given(measured(), st.floats(1, 700), st.floats(1, 3e6))
@unhurried
def test_extrapolated_exactly_outside_the_measured_range(points, batch, kv):
    batches = [p.batch for p in points]
    knots = sorted(set(batches))
    largest = [max(p.kv_tokens for p in points if p.batch == b) for b in knots]
    inside = knots[0] <= batch <= knots[-1] and kv <= np.interp(batch, knots, largest)
    assert bool(fit_token(points).extrapolated(batch, kv)) is not inside


def test_a_batch_below_the_smallest_measured_one_is_extrapolated(build):
    curve = fit_token((build.token_point(4, 400), build.token_point(8, 800)))
    assert list(curve.extrapolated([3, 4, 8, 9], 400)) == [True, False, False, True]


def test_batch_and_context_growing_together_is_extrapolated(build):
    # K of 9000 was measured alone and 800 in a batch of 8: at a batch of 8, 9000 is beyond.
    curve = fit_token((build.token_point(1, 9000), build.token_point(8, 800)))
    assert list(curve.extrapolated([1, 8, 8], [9000, 800, 9000])) == [False, False, True]


def test_measured_points_are_not_extrapolated(profiles):
    for profile in profiles.values():
        batch = np.array([p.batch for p in profile.token])
        kv = np.array([p.kv_tokens for p in profile.token])
        curve = fit_token(profile.token)
        assert not curve.extrapolated(batch, kv).any()
        assert curve.extrapolated(batch.max() + 1, 1)
        assert curve.extrapolated(1, kv.max() + 1)


def minorant(curve: TokenCurve, batch):
    intercepts, slopes = curve.segments
    return np.max(intercepts[:, None] + slopes[:, None] * batch, axis=0)


@given(measured())
@unhurried
def test_minorant_is_never_above_b_for_any_batch(points):
    curve, every = fit_token(points), np.arange(1, MAX_BATCH + 1)
    assert np.all(minorant(curve, every) <= curve.base(every) * (1 + ROUNDING) + 1e-12)


def test_built_in_minorants_are_convex_below_b_and_meet_it_at_the_ends(profiles):
    for profile in profiles.values():
        curve, every = fit_token(profile.token), np.arange(1, MAX_BATCH + 1)
        below = minorant(curve, every)
        assert np.all(below <= curve.base(every) * (1 + ROUNDING)), profile.name
        assert below[[0, -1]] == pytest.approx(curve.base([1, MAX_BATCH])), profile.name
        measured_batches = curve.base.x.astype(int) - 1
        gap = np.max(1 - below[measured_batches] / curve.base.y)
        assert curve.minorant_gap == pytest.approx(gap, abs=ROUNDING), profile.name
        assert curve.minorant_gap < 0.05, profile.name


def test_minorant_gap_by_hand(build):
    # b(1) = 1, b(2) = 3, b(3) = 3, then flat to 512: the minorant is the line from (1, 1) to
    # (512, 3), 1 + 2 / 511 at B = 2. It is farthest below b there: 1 - (1 + 2 / 511) / 3.
    points = tuple(build.token_point(b, 100 * b, t) for b, t in [(1, 1.0), (2, 3.0), (3, 3.0)])
    assert fit_token(points).minorant_gap == pytest.approx(1 - (1 + 2 / 511) / 3)


@pytest.mark.parametrize("name", PUBLISHED_MS)
def test_measured_points_are_the_published_medians(profiles, name):
    for batch, expected_ms in zip(BATCHES, PUBLISHED_MS[name], strict=True):
        runs = [r for p in profiles[name].token if p.batch == batch for r in p.repeats_s]
        tolerance = TABLE_TOLERANCE if batch > 1 else POOLED_TOLERANCE
        assert np.median(runs) * 1000 == pytest.approx(expected_ms, rel=tolerance)


@pytest.mark.parametrize("name", PUBLISHED_MS)
def test_curve_gives_the_published_medians_of_batches(profiles, name):
    curve = fit_token(profiles[name].token)
    for batch, expected_ms in zip(BATCHES[1:], PUBLISHED_MS[name][1:], strict=True):
        kv_tokens = batch * (512 + 128 / 2)
        tolerance = TABLE_TOLERANCE + REPAIR_TOLERANCE
        assert curve.time_s(batch, kv_tokens) * 1000 == pytest.approx(expected_ms, rel=tolerance)


def test_token_time_grows_with_the_batch_unlike_in_the_published_simulator(profiles):
    curve = fit_token(profiles["bloom-176b/a100-sxm-80gb/tp8"].token)
    assert curve.time_s(64, 64 * 576) * 1000 > 2 * FLAT_MS
