"""Stopping a command while it writes: nothing is there, or all of it and the exit code says so."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")

IMPORT = ("workload", "import", "data/minute.csv", "--name", "minute")
STOPPED = """
import os, sys
from pathlib import Path

from provisioner.cli import main

number, after = int(sys.argv[1]), int(sys.argv[2])
write, written = Path.write_text, []

def stopped(self, *arguments, **options):
    result = write(self, *arguments, **options)
    written.append(self)
    if len(written) == after:
        os.kill(os.getpid(), number)
    return result

Path.write_text = stopped
main(sys.argv[3:])
"""


def stopped(number, after, *arguments):
    """Run a command that gets a signal when it has written so many files."""
    return subprocess.run(
        [sys.executable, "-c", STOPPED, str(int(number)), str(after), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("after", [1, 8])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_run_is_written_waits_for_its_end(small, here, number, after):
    ran = stopped(number, after, "plan", *small, "--out", "run")

    assert ran.returncode == 0
    assert "1 machine serves" in ran.stdout
    assert "written: run" in ran.stderr
    assert names_in(here) == ["run"]
    assert len(names_in(here / "run")) == 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_workload_is_written_waits_for_its_end(trace, here, number):
    ran = stopped(number, 1, *IMPORT)

    assert ran.returncode == 0
    assert names_in(here / "workloads") == ["minute.csv", "minute.yaml"]


def test_what_was_killed_while_writing_is_cleared_by_the_next(provisioner, small, here):
    assert stopped(signal.SIGKILL, 1, "plan", *small, "--out", "run").returncode == -signal.SIGKILL
    assert [name[:5] for name in names_in(here)] == [".run."]

    assert provisioner("plan", *small, "--out", "run").code == 0
    assert names_in(here) == ["run"]


def test_a_workload_that_was_killed_while_written_is_cleared_by_the_next(provisioner, trace, here):
    assert stopped(signal.SIGKILL, 1, *IMPORT).returncode == -signal.SIGKILL
    assert len(names_in(here / "workloads")) == 1

    assert provisioner(*IMPORT).code == 0
    assert names_in(here / "workloads") == ["minute.csv", "minute.yaml"]


def test_signals_are_as_before_afterwards(provisioner, small, here):
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    provisioner("plan", *small, "--out", "run")

    assert [signal.getsignal(number) for number in numbers] == before
