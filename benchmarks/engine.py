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
    """One process: requests simulated, seconds it took, peak memory [bytes]."""

    requests: int
    seconds: float
    peak_bytes: int


def timed(*arguments: str) -> Ran:
    """Run one process on one core."""
    pinned = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pinned, sys.executable, "-m", "benchmarks.process", *arguments]
    started = time.perf_counter()
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    requests, peak = map(int, run.stdout.split())
    return Ran(requests, seconds, peak)


def rate(name: str) -> tuple[float, float]:
    """Requests per second between 100 and 200 minutes: the median of pairs, and the least."""
    rates = []
    for _ in range(REPEATS):
        short, long = timed(name, "100"), timed(name, "200")
        rates.append((long.requests - short.requests) / (long.seconds - short.seconds))
    return statistics.median(rates), min(rates)


def growth() -> tuple[float, float]:
    """Time of 10x the requests, and of 10x the requests on 10x the machines, relative to 1x."""
    start = timed("split", "0.1").seconds
    one = min(timed("split", "100").seconds for _ in range(REPEATS)) - start
    longer = timed("split", "1000").seconds - start
    larger = timed("split", "100", "10").seconds - start
    return longer / one, larger / one


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
    longer, larger = growth()
    console.print(
        f"10x the requests take {longer:.1f}x the time; on 10x the machines {larger:.1f}x"
    )
    many = timed("split", "1285")
    console.print(
        f"{many.requests:,} requests take {many.seconds:.0f} s and {many.peak_bytes / 1e9:.2f} GB"
    )
