"""Token iteration time ``t_t(B, K) = b(B) + c K`` (DESIGN 3).

B is the number of requests in the batch, K the KV-cache tokens they hold. b is piecewise linear
and non-decreasing; c comes from single requests of growing context.

Not modelled: speculative decoding, and an interaction of batch and context (never measured
together in the built-in data, so both growing is extrapolated).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from provisioner.domain.profile import TokenPoint
from provisioner.performance.piecewise import (
    BoolArray,
    Curve,
    FloatArray,
    Repair,
    convex_minorant,
    non_decreasing,
)

MAX_BATCH = 512
"""Most requests in one batch, as in the published simulator."""


@dataclass(frozen=True)
class TokenCurve:
    """Fitted token iteration time of one instance.

    Attributes
    ----------
    base : Curve
        Seconds against B, context excluded.
    context_s : float
        Seconds per KV-cache token, at least 0.
    measured_kv_tokens : Curve
        Largest measured K against B: batch and context grow together only as far as this.
    repairs : tuple of Repair
        Measured times changed to make ``base`` non-decreasing.
    """

    base: Curve
    context_s: float
    measured_kv_tokens: Curve
    repairs: tuple[Repair, ...] = ()

    def time_s(self, batch: ArrayLike, kv_tokens: ArrayLike) -> FloatArray:
        """Time [s] of one iteration of ``batch`` requests holding ``kv_tokens`` together."""
        return self.base(batch) + self.context_s * np.asarray(kv_tokens, dtype=float)

    def extrapolated(self, batch: ArrayLike, kv_tokens: ArrayLike) -> BoolArray:
        """Whether B lies outside the measured range, or K beyond what was measured at B."""
        at = np.asarray(batch, dtype=float)
        outside = (at < self.base.x[0]) | (at > self.base.x[-1])
        largest = np.interp(at, self.measured_kv_tokens.x, self.measured_kv_tokens.y)
        return np.asarray(outside | (np.asarray(kv_tokens) > largest))

    @cached_property
    def segments(self) -> tuple[FloatArray, FloatArray]:
        """Intercepts a_i [s] and slopes s_i [s/request] of the convex minorant of b.

        ``max_i a_i + s_i B <= b(B)`` for every B up to `MAX_BATCH`.
        """
        knots = self.base.x[self.base.x < MAX_BATCH]
        x = np.append(knots, MAX_BATCH)
        return convex_minorant(x, self.base(x))

    @cached_property
    def minorant_gap(self) -> float:
        """Largest relative distance of the convex minorant below b, at a measured batch."""
        intercepts, slopes = self.segments
        below = np.max(intercepts[:, None] + slopes[:, None] * self.base.x, axis=0)
        return float(np.max((self.base.y - below) / self.base.y))


def fit_token(points: tuple[TokenPoint, ...]) -> TokenCurve:
    """Fit the token curve to measured points.

    c comes from the points of the smallest batch (one request, in the built-in data) by
    non-negative least squares on the relative error, and explains at most the whole time of any
    point; b at every batch is the median of time less c K, made non-decreasing.
    """
    batch = np.array([point.batch for point in points], dtype=float)
    context = np.array([point.kv_tokens for point in points])
    times = np.array([point.time_s for point in points])
    slope = _context_slope(context[batch == batch.min()], times[batch == batch.min()])
    slope = min(slope, float(np.min(times / context)))
    base = times - slope * context
    knots = np.unique(batch)
    heights = np.array([np.median(base[batch == b]) for b in knots])
    weights = np.array([float((batch == b).sum()) for b in knots])
    repaired, repairs = non_decreasing(knots, heights, weights)
    largest = np.array([context[batch == b].max() for b in knots])
    return TokenCurve(Curve(knots, repaired), slope, Curve(knots, largest), repairs)


def _context_slope(context: FloatArray, times: FloatArray) -> float:
    """Seconds per KV token: minimise ``sum ((b1 + c K) / t - 1)^2`` with b1, c >= 0."""
    if len(np.unique(context)) < 2:
        return 0.0
    scale = context.max()
    design = np.column_stack([1.0 / times, context / scale / times])
    (_, slope), _ = nnls(design, np.ones_like(times))
    return float(slope / scale)
