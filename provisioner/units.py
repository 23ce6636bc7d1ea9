"""Unit conversions; they happen where data enters and where it is shown, nowhere else."""

from __future__ import annotations

SECONDS_PER_HOUR = 3600.0
MS_PER_S = 1000.0
WATTS_PER_KW = 1000.0
JOULES_PER_WH = 3600.0
JOULES_PER_KWH = 3.6e6
TOKENS_PER_MILLION = 1e6
TOKENS_PER_THOUSAND = 1e3
