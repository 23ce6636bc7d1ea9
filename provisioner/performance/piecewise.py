"""Piecewise-linear curves with a stated rule outside the measured range, and monotone repair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

COLLINEAR = 1e-12
"""A point this close below a line, relative to its values, counts as on it."""


@dataclass(frozen=True)
class Curve:
    """Linear between knots; constant below the first, the last slope continues beyond the last.

    Attributes
    ----------
    x, y : float arrays
        Knots, ``x`` strictly increasing.
    """

    x: FloatArray
    y: FloatArray

    def __call__(self, at: ArrayLike) -> FloatArray:
        """Evaluate; shape follows the argument."""
        points = np.asarray(at, dtype=float)
        inside = np.interp(points, self.x, self.y)
        return np.asarray(inside + self.last_slope * np.maximum(points - self.x[-1], 0.0))

    @property
    def last_slope(self) -> float:
        """Slope of the last segment; 0 for a single knot."""
        if len(self.x) == 1:
            return 0.0
        return float((self.y[-1] - self.y[-2]) / (self.x[-1] - self.x[-2]))


@dataclass(frozen=True)
class Repair:
    """A value that was changed to make a curve non-decreasing."""

    x: float
    measured: float
    used: float


def non_decreasing(
    x: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, tuple[Repair, ...]]:
    """Make values non-decreasing in x by isotonic regression, and list what was changed."""
    repaired = np.asarray(isotonic_regression(y, weights=weight).x)
    changed = np.flatnonzero(~np.isclose(repaired, y, rtol=1e-9))
    return repaired, tuple(Repair(float(x[i]), float(y[i]), float(repaired[i])) for i in changed)


def convex_minorant(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Segments (intercepts, slopes) whose maximum is the largest convex function below the points.

    The lower convex hull of the points; a single point gives one flat segment. Slopes increase
    strictly: points on a line, up to rounding, make one segment.
    """
    if len(x) == 1:
        return np.array([y[0]]), np.array([0.0])
    hull = [0]
    for i in range(1, len(x)):
        while len(hull) > 1 and _above(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    left, right = np.array(hull[:-1]), np.array(hull[1:])
    slopes = (y[right] - y[left]) / (x[right] - x[left])
    return y[left] - slopes * x[left], slopes


def _above(x: FloatArray, y: FloatArray, a: int, b: int, c: int) -> bool:
    """Whether point b lies on or above the line from a to c, up to rounding."""
    line = y[a] + (y[c] - y[a]) * ((x[b] - x[a]) / (x[c] - x[a]))
    return bool(y[b] >= line - COLLINEAR * max(abs(y[a]), abs(y[b]), abs(y[c])))
