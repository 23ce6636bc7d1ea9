"""Our own format: ``arrival_s, prompt_tokens, output_tokens``."""

from __future__ import annotations

import pandas as pd

NAME = "own"
COLUMNS = ("arrival_s", "prompt_tokens", "output_tokens")


def convert(frame: pd.DataFrame) -> pd.DataFrame:
    """Pick the three columns; they already have our names and units."""
    return frame[list(COLUMNS)]
