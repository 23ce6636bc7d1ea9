"""Runs of the published simulator (commit 8f99e7d), and the same runs set up for ours.

Not part of the project: read from ../shared/reference beside the repository, or from the folder
that PROVISIONER_REFERENCE names.
"""

import csv
import gzip
import os
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np

from provisioner.simulation.published import PublishedMachine, PublishedPools, simulate_published

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "reference"
FOLDER = Path(os.environ.get("PROVISIONER_REFERENCE", BESIDE))
MISSING = not (FOLDER / "splitwise_sim_runs.csv").is_file()
REASON = f"no runs of the published simulator in {FOLDER}; PROVISIONER_REFERENCE names another"

KV_BYTES = 4_014_080  # BLOOM-176B: 2 * 14336 hidden * 70 layers * 2 bytes
ROOM_TOKENS = (8 * 80 * 2**30 - 329e9) / KV_BYTES  # eight GPUs of 80 GiB, less the weights
TRANSFER_S_PER_TOKEN = KV_BYTES / (200 * 2**30)

TYPES = {
    "AA": ("a100-80gb", "a100-80gb"),
    "HH": ("h100-80gb", "h100-80gb"),
    "HA": ("h100-80gb", "a100-80gb"),
    "HHcap": ("h100-80gb", "h100-80gb-pcap"),
}


def rows(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        return list(csv.DictReader(file))


@cache
def machine(hardware):
    """BLOOM-176B on eight GPUs: medians over prompt_size * batch_size, as published."""
    prompt, token = defaultdict(list), defaultdict(list)
    for row in rows(FOLDER / "splitwise_perf_model.csv"):
        if (row["model"], row["hardware"], row["tensor_parallel"]) == ("bloom-176b", hardware, "8"):
            x = int(row["prompt_size"]) * int(row["batch_size"])
            prompt[x].append(float(row["prompt_time"]) / 1000)
            token[x].append(float(row["token_time"]) / 1000)
    tables = (
        tuple((x, float(np.median(times))) for x, times in sorted(by_x.items()))
        for by_x in (prompt, token)
    )
    return PublishedMachine(*tables, kv_room_tokens=ROOM_TOKENS)


def run_row(name):
    """The row of a run, by ``design_prompt_token_workload_rate`` as its files are named."""
    keys = ("design", "prompt_machines", "token_machines", "workload", "rate")
    for row in rows(FOLDER / "splitwise_sim_runs.csv"):
        if "_".join(row[key] for key in keys) == name:
            return row
    raise LookupError(name)


def requests(name):
    """Every request of a run, in order of arrival: a dictionary of columns."""
    table = sorted(
        rows(FOLDER / "per_request" / f"{name}.csv.gz"), key=lambda row: float(row["request_ids"])
    )
    return {key: np.array([float(row[key]) for row in table]) for key in table[0]}


def trace(name):
    _, _, _, workload, rate = name.split("_")
    table = rows(FOLDER / "traces" / f"rr_{workload}_{rate}_2min.csv")
    keys = ("arrival_timestamp", "prompt_size", "token_size")
    return tuple(np.array([float(row[key]) for row in table]) for key in keys)


@cache
def simulated(name):
    """Our records of a run."""
    design, first, second = name.split("_")[:3]
    family, _, kind = design.partition("-")
    prompt, token = range(int(first)), range(int(first), int(first) + int(second))
    if family == "Baseline":
        machines = [machine(f"{kind.lower()}-80gb")] * len(prompt)
        pools = PublishedPools(mixed=tuple(prompt))
    else:
        machines = [machine(TYPES[kind][0])] * len(prompt) + [machine(TYPES[kind][1])] * len(token)
        pools = PublishedPools(tuple(prompt), tuple(token), (), TRANSFER_S_PER_TOKEN)
    return simulate_published(*trace(name), machines, pools)
