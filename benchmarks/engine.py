"""Speed of the engine: differences between whole-process times, so that starting up is left out."""

import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

PEERS = (
    ("published Splitwise simulator (split, 20 and 70 requests/s)", "126 to 1,290"),
    ("AISimulate's Rust engine", "3,380"),
)
"""Requests per second of CPU time, measured on one core for the same kind of work."""
REPEATS = 3


@dataclass(frozen=True)
class Ran:
    """One process: requests simulated, seconds it and its engine took, peak memory [bytes]."""

    requests: int
    seconds: float
    peak_bytes: int
    engine_s: float


def timed(*arguments: str) -> Ran:
    """Run one process on one core."""
    pinned = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pinned, sys.executable, "-m", "benchmarks.process", *arguments]
    started = time.perf_counter()
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    requests, peak, engine_s = run.stdout.split()
    return Ran(int(requests), seconds, int(peak), float(engine_s))


def rate(name: str) -> tuple[float, float]:
    """Requests per second between 100 and 200 minutes: the median of pairs, and the least."""
    rates = []
    for _ in range(REPEATS):
        short, long = timed(name, "100"), timed(name, "200")
        rates.append((long.requests - short.requests) / (long.seconds - short.seconds))
    return statistics.median(rates), min(rates)


def growth() -> dict[str, tuple[float, float]]:
    """Time of 10x the requests, and of 10x the requests on 10x the machines, relative to 1x.

    Of the engine alone, and of whole processes, where fresh memory counts too.
    """
    start = timed("split", "0.1").seconds
    one, longer, larger = (
        [timed("split", *arguments) for _ in range(REPEATS)]
        for arguments in (("100",), ("1000",), ("100", "10"))
    )
    engine = [min(ran.engine_s for ran in runs) for runs in (one, longer, larger)]
    whole = [min(ran.seconds for ran in runs) - start for runs in (one, longer, larger)]
    return {
        "the engine's own time": (engine[1] / engine[0], engine[2] / engine[0]),
        "whole processes": (whole[1] / whole[0], whole[2] / whole[0]),
    }


def main(console: Console) -> None:
    """Print the tables."""
    for name in ("split", "mixed-pool", "colocated"):
        timed(name, "0.1")  # compiled and loaded once
    table = Table("simulator", "requests/s on one core", "least of three", box=None)
    for name in ("split", "mixed-pool", "colocated"):
        middle, least = rate(name)
        table.add_row(f"provisioner, {name}, 80 machines, 130/s", f"{middle:,.0f}", f"{least:,.0f}")
    for name, speed in PEERS:
        table.add_row(name, speed, "")
    console.print("Engine, from the difference of 200 and 100 simulated minutes", style="bold")
    console.print(table)
    for what, (longer, larger) in growth().items():
        console.print(
            f"{what}: 10x the requests take {longer:.1f}x the time; on 10x the machines "
            f"{larger:.1f}x"
        )
    many = timed("split", "1285")
    console.print(
        f"{many.requests:,} requests take {many.seconds:.0f} s and {many.peak_bytes / 1e9:.2f} GB"
    )
