"""What is kept in results/ is what its commands make."""

import csv
import importlib.util
from pathlib import Path

import pytest

from tests.simulation import reference

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "results" / "splitwise-sim"
SAMPLE = slice(2, None, 12)
"""Runs of the table that are made again; `scripts/referee.py --check` makes all."""


@pytest.fixture(scope="module")
def referee():
    """The script that makes the table."""
    spec = importlib.util.spec_from_file_location("referee", ROOT / "scripts" / "referee.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kept_lines():
    with (FOLDER / "replay.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(reference.MISSING, reason=reference.REASON)
def test_the_replay_of_the_published_simulator_is_current(referee):
    rows = referee.published()
    kept = kept_lines()
    assert len(rows) == len(kept)
    for row, line in list(zip(rows, kept, strict=True))[SAMPLE]:
        assert referee.replayed(row) == line, "stale: python scripts/referee.py"


def test_the_summary_is_of_the_table(referee):
    kept = kept_lines()
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == referee.readme(kept)
    assert all(line["slo_ok_published"] == line["slo_ok_ours"] for line in kept)
