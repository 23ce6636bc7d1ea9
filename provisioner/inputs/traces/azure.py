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

_DATE_TIME = re.compile(r"\s*\d{4}-\d\d-\d\d[ T]\d", re.ASCII)
_LAST = pd.Timestamp("2262-01-01", tz="UTC")
"""Nanoseconds since 1970 fit into 64 bits until then."""


def nanoseconds(cells: Sequence[str] | FloatArray) -> IntArray:
    """Nanoseconds since 1970; negative where a cell is no date and time of then or later."""
    # Without the pattern pandas takes "now" and bare years for times.
    texts = [cell if _DATE_TIME.match(cell) else None for cell in map(str, cells)]
    times = pd.to_datetime(
        pd.Series(texts, dtype=object), format="ISO8601", utc=True, errors="coerce"
    )
    kept = times.where(times < _LAST).dt.tz_localize(None)
    return kept.to_numpy(dtype="datetime64[ns]").view(np.int64)


FORMAT = TraceFormat(
    name="azure",
    columns=("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    arrival="a date and time from 1970 on, such as 2023-11-16 18:15:46.6805900,",
    ticks_per_s=1e9,
    ticks=nanoseconds,
    arrival_is_text=True,
)
