"""Prompt batch time ``t_p(T, Q)`` (DESIGN 3).

T is the total of the prompt lengths in the batch, Q the sum of their squares. Time is linear
between measured T, plus ``quadratic * Q`` for attention where twins of equal T show it.

Not modelled: chunks of one prompt in several batches, and reuse of a cached prefix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from provisioner.domain.profile import PromptPoint
from provisioner.performance.piecewise import BoolArray, Curve, FloatArray, Repair, non_decreasing

BATCH_TOKENS = 2048
"""Most prompt tokens that share a batch: throughput falls beyond (Splitwise paper, insight 4)."""


@dataclass(frozen=True)
class PromptCurve:
    """Fitted prompt batch time of one instance.

    Attributes
    ----------
    base : Curve
        Seconds against T, without the quadratic term.
    quadratic_s : float
        Seconds per squared token, at least 0.
    measured_squared_tokens : float
        Largest Q in the measurements; one very long prompt exceeds it before its T is too large.
    repairs : tuple of Repair
        Measured times changed to make ``base`` non-decreasing.
    """

    base: Curve
    quadratic_s: float
    measured_squared_tokens: float
    repairs: tuple[Repair, ...] = ()

    def time_s(self, tokens: ArrayLike, squared_tokens: ArrayLike) -> FloatArray:
        """Time [s] of batches with T ``tokens`` and Q ``squared_tokens``."""
        return self.base(tokens) + self.quadratic_s * np.asarray(squared_tokens, dtype=float)

    def extrapolated(self, tokens: ArrayLike, squared_tokens: ArrayLike = 0.0) -> BoolArray:
        """Whether T lies outside the measured range, or Q beyond it."""
        at = np.asarray(tokens, dtype=float)
        outside = (at < self.base.x[0]) | (at > self.base.x[-1])
        return np.asarray(outside | (np.asarray(squared_tokens) > self.measured_squared_tokens))

    @property
    def best_seconds_per_token(self) -> float:
        """Least ``base(T) / T`` over batches of at most `BATCH_TOKENS`; no packing beats it.

        A piecewise-linear function over T has its least quotient at a knot or at the limit.
        """
        knots = self.base.x[self.base.x <= BATCH_TOKENS]
        candidates = np.append(knots, BATCH_TOKENS)
        return float(np.min(self.base(candidates) / candidates))


def fit_prompt(points: tuple[PromptPoint, ...]) -> PromptCurve:
    """Fit the prompt curve to measured points.

    The quadratic coefficient is the least-squares slope of relative time over Q between twins of
    equal T, and 0 where there are none or it comes out negative; it explains at most the whole
    time of any point. At each T the curve takes the median of its points less the quadratic term;
    a falling curve is made monotone.
    """
    tokens = np.array([point.tokens for point in points], dtype=float)
    squared = np.array([point.squared_tokens for point in points], dtype=float)
    times = np.array([point.time_s for point in points])
    quadratic = min(_twin_slope(tokens, squared, times), float(np.min(times / squared)))
    base = times - quadratic * squared
    knots = np.unique(tokens)
    heights = np.array([np.median(base[tokens == t]) for t in knots])
    weights = np.array([1.0 / np.median(times[tokens == t]) ** 2 for t in knots])
    repaired, repairs = non_decreasing(knots, heights, weights)
    return PromptCurve(Curve(knots, repaired), quadratic, float(squared.max()), repairs)


def _twin_slope(tokens: FloatArray, squared: FloatArray, times: FloatArray) -> float:
    """Seconds per squared token from twins of equal T; deviations are relative to their mean."""
    numerator = denominator = 0.0
    for t in np.unique(tokens):
        twins = tokens == t
        scale = times[twins].mean()
        time = (times[twins] - scale) / scale
        square = (squared[twins] - squared[twins].mean()) / scale
        numerator += float(time @ square)
        denominator += float(square @ square)
    return max(numerator / denominator, 0.0) if denominator > 0 else 0.0
