"""Replay runs of the published Splitwise simulator by its own rules, and say where we differ.

Writes ``results/splitwise-sim/replay.csv`` and ``README.md`` there, or with ``--check`` tells
whether they are current. The published runs are not part of the project (see
``tests/simulation/reference.py``). Run from the repository's root: ``python scripts/referee.py``.
"""

import argparse
import csv
import io
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from provisioner.inputs.hardware import read_slo  # noqa: E402
from provisioner.simulation.published_metrics import (  # noqa: E402
    alone_s,
    keeps,
    latency_s,
    slowdown,
)
from tests.simulation import reference  # noqa: E402

FOLDER = ROOT / "results" / "splitwise-sim"
CLOSE = 0.01
KEYS = ("design", "prompt_machines", "token_machines", "workload", "rate")
COLUMNS = (
    *KEYS,
    "largest_difference",
    "at",
    "published",
    "ours",
    "slo_ok_published",
    "slo_ok_ours",
    "why",
)


@dataclass(frozen=True)
class Metric:
    """One percentile of both simulators, as a slowdown or in seconds."""

    name: str
    published: float
    ours: float

    @property
    def difference(self) -> float:
        """Relative to the published value."""
        return abs(self.ours / self.published - 1)


def replayed(row: dict) -> dict:
    """One line of the table."""
    name = "_".join(row[key] for key in KEYS)
    records = reference.simulated(name)
    _, prompts, outputs = reference.trace(name)
    seconds = latency_s(records)
    ratios = slowdown(seconds, alone_s(reference.machine("a100-80gb"), prompts, outputs))
    metrics = [
        Metric(f"{prefix}_p{q}", float(row[f"{prefix}_p{q}"]), latency.percentile(metric, q))
        for metric in ("ttft", "tbt", "e2e")
        for q in (50, 90, 99)
        for prefix, latency in ((metric, ratios), (f"{metric}_s", seconds))
    ]
    worst = max(metrics, key=lambda metric: metric.difference)
    ok = keeps(read_slo("splitwise"), ratios)
    return {
        **{key: row[key] for key in KEYS},
        "largest_difference": f"{worst.difference:.2%}",
        "at": worst.name,
        "published": f"{worst.published:.6g}",
        "ours": f"{worst.ours:.6g}",
        "slo_ok_published": row["slo_ok"],
        "slo_ok_ours": str(ok),
        "why": why(row, worst),
    }


def why(row: dict, worst: Metric) -> str:
    """Nothing within a per cent; else what the run has that the others do not."""
    if worst.difference <= CLOSE:
        return ""
    waits = float(row["ttft_s_p99"]) / float(row["ttft_s_p50"])
    stopped = int(row["preemptions"])
    return (
        f"saturated: TTFT P99 is {waits:.0f} times P50, with {stopped:,} pre-emptions, so one "
        "batch that KV memory holds back otherwise changes all that follow"
    )


def published() -> list[dict]:
    """Every published run."""
    return reference.rows(reference.FOLDER / "splitwise_sim_runs.csv")


def texts() -> dict[str, str]:
    """Both files."""
    rows = published()
    with ProcessPoolExecutor(2) as workers:
        lines = list(workers.map(replayed, rows))
    table = io.StringIO()
    writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return {"replay.csv": table.getvalue(), "README.md": readme(lines)}


def readme(lines: list[dict]) -> str:
    """What the table says, in sentences."""
    far = [line for line in lines if line["why"]]
    verdicts = sum(line["slo_ok_published"] == line["slo_ok_ours"] for line in lines)
    text = f"""# The published simulator, replayed

Made by `python scripts/referee.py`. {len(lines)} runs of the simulator published with the Splitwise
paper (commit 8f99e7d, run on two-minute traces), replayed on the same traces by its own rules
(`--compatible splitwise-sim`). Compared are TTFT, TBT and E2E at P50, P90 and P99, as slowdowns and
in seconds; `replay.csv` has the largest difference of each run.

- {len(lines) - len(far)} of {len(lines)} runs agree within 1 % in all eighteen values.
- {verdicts} of {len(lines)} runs have the same verdict on the SLO.
"""
    if far:
        text += "\n| run | largest difference | at | why |\n| --- | --- | --- | --- |\n"
    for line in far:
        machines = f"{line['prompt_machines']} + {line['token_machines']}"
        run = f"{line['design']} {machines}, {line['workload']} at {line['rate']}/s"
        text += f"| {run} | {line['largest_difference']} | {line['at']} | {line['why']} |\n"
    return text


def main() -> int:
    """Read the command line; return 1 where a check finds stale files."""
    parser = argparse.ArgumentParser(description="Replay runs of the published simulator.")
    parser.add_argument("--check", action="store_true", help="only tell whether they are current")
    check = parser.parse_args().check
    if reference.MISSING:
        print(reference.REASON, file=sys.stderr)
        return 2
    fresh = texts()
    if check:
        current = {name: (FOLDER / name).read_text(encoding="utf-8") for name in fresh}
        return int(current != fresh)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in fresh.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
