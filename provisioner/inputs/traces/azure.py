"""Azure LLM inference traces: ``TIMESTAMP`` (date and time), ``ContextTokens``, ``GeneratedTokens``.

Times become seconds since 1970; the reader counts from the first request.
"""

from __future__ import annotations

import pandas as pd

NAME = "azure"
COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


def convert(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn date-times into seconds; a time that is none becomes NaN."""
    times = pd.to_datetime(frame["TIMESTAMP"], format="ISO8601", utc=True, errors="coerce")
    seconds = (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    return pd.DataFrame(
        {
            "arrival_s": seconds,
            "prompt_tokens": frame["ContextTokens"],
            "output_tokens": frame["GeneratedTokens"],
        }
    )
