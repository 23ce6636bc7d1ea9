"""The published Splitwise simulator's traces: arrivals in seconds, prompt and token sizes."""

from __future__ import annotations

import pandas as pd

NAME = "splitwise-sim"
COLUMNS = ("arrival_timestamp", "prompt_size", "token_size")


def convert(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename the columns; units are ours already."""
    return pd.DataFrame(
        {
            "arrival_s": frame["arrival_timestamp"],
            "prompt_tokens": frame["prompt_size"],
            "output_tokens": frame["token_size"],
        }
    )
