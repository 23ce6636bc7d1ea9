"""Distil the measurements published with Splitwise into points and power curves.

Input is ``data/perf_model.csv`` of the Splitwise simulator (commit 8f99e7d, MIT): single runs,
times in ms, power as a fraction of the board limit. Output is ``points/MODEL/ACCELERATOR.csv``
and ``power/ACCELERATOR.csv``; the same input gives the same bytes.

Left out: rows of the power-capped H100 (the H100 rows times a constant, not measured), rows listed
more than once (counted once), powers of 0 (not measured). Llama2-70B at tensor parallelism 2 and
batch 64 is corrupt: its points are kept and marked ``dropped``.

Many runs ended before the output length they were asked for; ``generated_tokens`` follows from
their times. Not repaired: prompt times that fall as the prompt grows; power that is known per run,
not per phase.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

Row = dict[str, object]

SOURCE = "Splitwise simulator data/perf_model.csv, commit 8f99e7d, MIT"
ACCELERATORS = {"a100-80gb": "a100-sxm-80gb", "h100-80gb": "h100-sxm-80gb"}
POINTS_ORDER = ["phase", "tensor_parallel", "prompt_tokens", "batch", "output_tokens"]
POINTS_HEADER = [
    *POINTS_ORDER,
    "generated_tokens",
    "time_s",
    "runs",
    "repeats_s",
    "quality",
    "source",
    "dropped",
]
POWER_HEADER = ["model", "tensor_parallel", "phase", "load", "power_w", "quality", "source"]
CORRUPT_CELL = ("llama2-70b", 2, 64)  # model, tensor parallelism, batch
CORRUPT_REASON = {
    "a100-sxm-80gb": "corrupt: prompt 0.794 s after 6.63 s at batch 32",
    "h100-sxm-80gb": "corrupt: prompt 0.361 s after 2.40 s at batch 32",
}
EARLY_STOP = 0.95  # share of the asked output below which a run counts as ended early

A100_LIMIT_W = 400.0
TOKEN_POWER_PROMPT_TOKENS = 512  # the only prompt length at which the batch was varied
PROMPT_POWER_SOURCE = (
    f"{SOURCE}: median peak_power x 400 W; peak of the whole run, reached in the prompt phase; "
    "running maximum over load, capped at 400 W"
)
TOKEN_POWER_SOURCE = (
    f"{SOURCE}: median average_power x 400 W at prompt 512; average of the whole run, prompt phase "
    "included; running maximum over load"
)
CLIMBS = "Splitwise paper (ISCA 2024): prompt power climbs with the batch up to the board limit"
BLOOM_RANGE = f"range of the whole-run averages of BLOOM-176B in {SOURCE}"
DECODE_H100 = "assumed; arXiv 2605.11999 reports 137-300 W for decode on H100-class parts"
CONSTANT_H100 = "constant in the Splitwise simulator, commit 8f99e7d, unused there, origin unknown"
GENERIC_POWER = {  # accelerator -> phase, load, power in W, quality, source
    "a100-sxm-80gb": [
        ("prompt", 128, 250, "estimated", f"assumed small-batch end; {CLIMBS}"),
        ("prompt", 2048, 400, "estimated", CLIMBS),
        ("token", 1, 216, "estimated", f"0.54 x 400 W, low end of the {BLOOM_RANGE}"),
        ("token", 64, 264, "estimated", f"0.66 x 400 W, high end of the {BLOOM_RANGE}"),
    ],
    "h100-sxm-80gb": [
        ("prompt", 128, 400, "estimated", f"assumed small-batch end; {CLIMBS}"),
        ("prompt", 2048, 700, "published", CLIMBS),
        ("token", 1, 250, "estimated", DECODE_H100),
        ("token", 64, 380, "published", CONSTANT_H100),
    ],
}


def read_runs(path: Path) -> pd.DataFrame:
    """Read the single runs, each once, without the synthetic accelerator.

    Parameters
    ----------
    path
        The published CSV.

    Returns
    -------
    pandas.DataFrame
        One row per run; ``accelerator`` is our name of the hardware.
    """
    runs = pd.read_csv(path).drop_duplicates()
    runs["accelerator"] = runs["hardware"].map(ACCELERATORS)
    return runs.dropna(subset="accelerator")


def is_corrupt(runs: pd.DataFrame) -> pd.Series:
    """Tell the runs of the corrupt cell from the others."""
    model, tensor_parallel, batch = CORRUPT_CELL
    return (
        (runs["model"] == model)
        & (runs["tensor_parallel"] == tensor_parallel)
        & (runs["batch_size"] == batch)
    )


def repeats(times_ms: Iterable[float]) -> list[str]:
    """Write single times in s with four significant digits, shortest first."""
    return [f"{time_ms / 1000:.4g}" for time_ms in sorted(times_ms)]


def generated_tokens(cell: pd.DataFrame) -> int:
    """Tokens that a median run generated: as asked, or fewer where the runs ended early."""
    generated = 1 + (cell["e2e_time"] - cell["prompt_time"]) / cell["token_time"]
    asked = int(cell["token_size"].iloc[0])
    median = round(generated.median())
    return median if median < EARLY_STOP * asked else asked


def point(phase: str, key: Iterable[object], cell: pd.DataFrame) -> Row:
    """Distil one cell of runs into one row; the time is the median of the repeats as written."""
    times = repeats(cell[f"{phase}_time"])
    corrupt = bool(is_corrupt(cell).any())
    by_token = phase == "token"
    place = dict(zip(POINTS_ORDER, (phase, *key), strict=False))  # prompt: no output_tokens
    return (
        {"output_tokens": "", "generated_tokens": generated_tokens(cell) if by_token else ""}
        | place
        | {
            "time_s": f"{statistics.median(map(float, times)):.6g}",
            "runs": len(times),
            "repeats_s": ";".join(times),
            "quality": "measured",
            "source": SOURCE,
            "dropped": CORRUPT_REASON[cell["accelerator"].iloc[0]] if corrupt else "",
        }
    )


def points(runs: pd.DataFrame) -> list[Row]:
    """Distil the runs of one model on one accelerator, in the order of ``POINTS_ORDER``.

    Prompt cells pool all output lengths, which come after the prompt and cannot change its time.
    """
    cells = ["tensor_parallel", "prompt_size", "batch_size"]
    by_phase = {"prompt": cells, "token": [*cells, "token_size"]}
    return [
        point(phase, key, cell)
        for phase, columns in by_phase.items()
        for key, cell in runs.groupby(columns, sort=True)
    ]


def watts(cells: pd.Series, limit: float) -> pd.Series:
    """Turn fractions of the board limit, by load, into a non-decreasing power in W."""
    return (cells * A100_LIMIT_W).cummax().clip(upper=limit)


def prompt_power(runs: pd.DataFrame) -> pd.Series:
    """Power in W by prompt tokens in the batch; cells of equal load are pooled by their median."""
    cells = runs.groupby(["prompt_size", "batch_size"])["peak_power"].median()
    load = [prompt * batch for prompt, batch in cells.index]
    return watts(cells.groupby(load).median(), limit=A100_LIMIT_W)


def token_power(runs: pd.DataFrame) -> pd.Series:
    """Power in W by requests in the batch, at the one prompt length where the batch varies."""
    cells = runs[runs["prompt_size"] == TOKEN_POWER_PROMPT_TOKENS]
    return watts(cells.groupby("batch_size")["average_power"].median(), limit=float("inf"))


def power(accelerator: str, runs: pd.DataFrame) -> Iterator[Row]:
    """Yield the generic rows of an accelerator, then the measured ones of each model."""
    for entry in GENERIC_POWER[accelerator]:
        yield dict(zip(POWER_HEADER, ("any", "any", *entry), strict=True))
    usable = runs[~is_corrupt(runs) & (runs["peak_power"] > 0) & (runs["average_power"] > 0)]
    for (model, tensor_parallel), cells in usable.groupby(["model", "tensor_parallel"], sort=True):
        for phase, curve, source in (
            ("prompt", prompt_power(cells), PROMPT_POWER_SOURCE),
            ("token", token_power(cells), TOKEN_POWER_SOURCE),
        ):
            for load, value in curve.items():
                values = (model, tensor_parallel, phase, load, f"{value:.4g}", "measured", source)
                yield dict(zip(POWER_HEADER, values, strict=True))


def write(rows: Iterable[Row], header: list[str], path: Path) -> None:
    """Write rows as CSV, making the folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows, columns=header).to_csv(path, index=False, lineterminator="\n")


def main() -> None:
    """Read the command line and write all files."""
    parser = argparse.ArgumentParser(description="Distil data/perf_model.csv of Splitwise.")
    parser.add_argument("perf_model_csv", type=Path)
    parser.add_argument("output_dir", type=Path)
    arguments = parser.parse_args()
    output: Path = arguments.output_dir
    runs = read_runs(arguments.perf_model_csv)
    for accelerator in sorted(set(runs["accelerator"])):
        cells = runs[runs["accelerator"] == accelerator]
        write(power(accelerator, cells), POWER_HEADER, output / f"power/{accelerator}.csv")
        for model in sorted(set(cells["model"])):
            rows = points(cells[cells["model"] == model])
            write(rows, POINTS_HEADER, output / f"points/{model}/{accelerator}.csv")


if __name__ == "__main__":
    main()
