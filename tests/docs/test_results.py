"""What is kept in results/ is what its commands make."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation import reference

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.skipif(reference.MISSING, reason=reference.REASON)
def test_the_replay_of_the_published_simulator_is_current():
    run = subprocess.run([sys.executable, "scripts/referee.py", "--check"], cwd=ROOT, check=False)
    assert run.returncode == 0, "stale: python scripts/referee.py"


def test_every_verdict_of_the_replay_is_the_published_one():
    text = (ROOT / "results" / "splitwise-sim" / "README.md").read_text(encoding="utf-8")
    assert "- 51 of 51 runs have the same verdict on the SLO." in text
