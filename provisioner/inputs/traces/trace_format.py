"""What a trace format is: the columns that identify it, and how to read its arrival times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provisioner.domain.workload import FloatArray, IntArray

Ticks = NDArray[np.float64] | NDArray[np.int64]


def numbers(cells: Sequence[str] | FloatArray) -> FloatArray:
    """Numbers as written; NaN where a cell is none."""
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        return cells.astype(np.float64)
    return np.array([_number(cell) for cell in cells], dtype=np.float64)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


@dataclass(frozen=True)
class TraceFormat:
    """One format.

    Attributes
    ----------
    name : str
    columns : tuple of str
        Names of its columns for arrival, prompt length and output length.
    arrival : str
        What its arrival column must hold, for error messages.
    ticks_per_s : float
        Ticks of its clock in a second.
    ticks : callable
        From cells of the arrival column to ticks; negative or NaN where a cell is wrong. Kept
        apart from seconds so that the first arrival can be subtracted without rounding.
    arrival_is_text : bool
        Whether arrivals are something else than plain numbers.
    failed_without_output : bool
        Whether requests with no output tokens failed when the trace was taken, and are left out.
    """

    name: str
    columns: tuple[str, str, str]
    arrival: str
    ticks_per_s: float = 1.0
    ticks: Callable[[Sequence[str] | FloatArray], FloatArray | IntArray] = numbers
    arrival_is_text: bool = False
    failed_without_output: bool = False
