"""Azure LLM inference traces: ``TIMESTAMP``, ``ContextTokens``, ``GeneratedTokens``.

Timestamps are dates with times. Times without a zone are UTC; nanoseconds are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from provisioner.domain.workload import FloatArray, IntArray
from provisioner.inputs.traces.trace_format import TraceFormat

_DATE_TIME = re.compile(r"\s*(\d{4}-\d\d-\d\d[ T]\d\d[\d:.]*)\s*(Z|[+-]\d\d:?\d\d)?\s*", re.ASCII)
_LAST = pd.Timestamp("2262-01-01", tz="UTC")
"""Nanoseconds since 1970 fit into 64 bits until then."""


def nanoseconds(cells: Sequence[str] | FloatArray) -> IntArray:
    """Nanoseconds since 1970; negative where a cell is no date and time of then or later."""
    times = pd.to_datetime(
        pd.Series([_with_zone(str(cell)) for cell in cells], dtype=object),
        format="ISO8601",
        utc=True,
        errors="coerce",
    )
    kept = times.where(times < _LAST).dt.tz_localize(None)
    return kept.to_numpy(dtype="datetime64[ns]").view(np.int64)


def _with_zone(cell: str) -> str | None:
    """Write a time with its zone; None where a cell is none.

    Left alone, pandas takes "now" and bare years for times, and pandas 2.2 gives a time without a
    zone that of the time before.
    """
    found = _DATE_TIME.fullmatch(cell)
    return f"{found[1]}{found[2] or 'Z'}" if found else None


FORMAT = TraceFormat(
    name="azure",
    columns=("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    arrival="a date and time from 1970 on, such as 2023-11-16 18:15:46.6805900,",
    ticks_per_s=1e9,
    ticks=nanoseconds,
    arrival_is_text=True,
)
