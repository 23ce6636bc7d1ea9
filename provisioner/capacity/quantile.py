"""Inverse of a share: the least value that a given share of requests stays within."""

from __future__ import annotations

from collections.abc import Callable

_BISECTIONS = 60
_LEAST, _LARGEST = 1e-9, 1e6


def least_value(share: Callable[[float], float], quantile: float) -> float:
    """Least value at which a non-decreasing share reaches a quantile.

    Returns
    -------
    float
        Never below the true value and at most 1e-9 relative above it; infinite where the share
        does not reach the quantile below a million.
    """
    if share(_LARGEST) < quantile:
        return float("inf")
    low, high = _LEAST, _LARGEST
    for _ in range(_BISECTIONS):
        middle = float((low * high) ** 0.5)
        low, high = (low, middle) if share(middle) >= quantile else (middle, high)
    return high
