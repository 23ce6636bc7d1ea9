"""BurstGPT traces: ``Timestamp`` in seconds, ``Request tokens``, ``Response tokens``.

A request with no response tokens failed when the trace was taken; such rows are left out.
"""

from __future__ import annotations

import pandas as pd

NAME = "burstgpt"
COLUMNS = ("Timestamp", "Request tokens", "Response tokens")


def convert(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename the columns and leave failed requests out."""
    answered = frame[pd.to_numeric(frame["Response tokens"], errors="coerce") != 0]
    return pd.DataFrame(
        {
            "arrival_s": answered["Timestamp"],
            "prompt_tokens": answered["Request tokens"],
            "output_tokens": answered["Response tokens"],
        }
    )
