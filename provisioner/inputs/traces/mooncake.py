"""Mooncake traces: JSON lines with ``timestamp`` in milliseconds, input and output length.

The prefix blocks in ``hash_ids`` are ignored: prefix reuse is not modelled.
"""

from __future__ import annotations

import pandas as pd

from provisioner.units import MS_PER_S

NAME = "mooncake"
COLUMNS = ("timestamp", "input_length", "output_length")


def convert(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn milliseconds into seconds and rename."""
    return pd.DataFrame(
        {
            "arrival_s": pd.to_numeric(frame["timestamp"], errors="coerce") / MS_PER_S,
            "prompt_tokens": frame["input_length"],
            "output_tokens": frame["output_length"],
        }
    )
