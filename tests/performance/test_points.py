"""Stored points are what was published; needs the published file beside the repository."""

import csv
import statistics
import subprocess
import sys
from collections import defaultdict

import pytest

PUBLISHED = "../shared/reference/splitwise_perf_model.csv"
ACCELERATORS = {"a100-80gb": "a100-sxm-80gb", "h100-80gb": "h100-sxm-80gb"}
ROUNDING = 0.002
"""Stored times have four significant digits (0.05 %)."""


@pytest.fixture(scope="module")
def published(repository):
    """The measurements as their authors published them: the only check from outside on the data."""
    path = (repository / PUBLISHED).resolve()
    if not path.is_file():
        pytest.skip(f"the published measurements are not at {PUBLISHED} from the repository's root")
    return path


@pytest.fixture(scope="module")
def distinct_runs(published):
    """Runs that are listed more than once count once."""
    with published.open(newline="", encoding="utf-8") as file:
        rows = {tuple(row.items()): row for row in csv.DictReader(file)}
    return list(rows.values())


def cells(runs, phase, *columns):
    """Times [s] by hardware, model, tensor parallelism and the columns named."""
    found = defaultdict(list)
    for run in runs:
        key = (run["hardware"], run["model"], int(run["tensor_parallel"]))
        found[key, tuple(int(run[c]) for c in columns)].append(float(run[f"{phase}_time"]) / 1000)
    return found


def stored(profile, hardware):
    return hardware, profile.model, profile.tensor_parallel


def test_every_point_is_the_median_of_the_published_runs(profiles, distinct_runs):
    prompt = cells(distinct_runs, "prompt", "prompt_size", "batch_size")
    token = cells(distinct_runs, "token", "prompt_size", "batch_size", "token_size")
    hardware_of = {ours: theirs for theirs, ours in ACCELERATORS.items()}
    checked = 0
    for profile in profiles.values():
        key = stored(profile, hardware_of[profile.accelerator])
        pairs = [(p, prompt[key, (p.prompt_tokens, p.batch)]) for p in profile.prompt]
        pairs += [
            (p, token[key, (p.prompt_tokens, p.batch, p.output_tokens)]) for p in profile.token
        ]
        for point, runs in pairs:
            assert point.time_s == pytest.approx(statistics.median(runs), rel=ROUNDING), point
            assert point.repeats_s == pytest.approx(sorted(runs), rel=ROUNDING), point
            checked += 1
    assert checked == 8 * 32 - 4  # the corrupt cell is dropped: 2 phases on 2 accelerators


def test_every_published_cell_is_stored(profiles, distinct_runs):
    kept = defaultdict(int)
    for profile in profiles.values():
        dropped = sum(line.startswith("prompt") for line in profile.dropped)
        kept[profile.model, profile.accelerator] += len(profile.prompt) + dropped
    for (model, accelerator), count in kept.items():
        hardware = next(theirs for theirs, ours in ACCELERATORS.items() if ours == accelerator)
        published_cells = [
            cell
            for (key, cell) in cells(distinct_runs, "prompt", "prompt_size", "batch_size")
            if key[:2] == (hardware, model)
        ]
        assert count == len(published_cells)


def test_capped_rows_are_the_others_times_a_constant_and_hence_not_measured(distinct_runs):
    for phase, factor in (("prompt", 1.3), ("token", 1.0)):
        found = cells(distinct_runs, phase, "prompt_size", "batch_size", "token_size")
        capped = {key: runs for key, runs in found.items() if key[0][0] == "h100-80gb-pcap"}
        assert capped
        for ((_, *rest), cell), runs in capped.items():
            whole = found[("h100-80gb", *rest), cell]
            assert sorted(runs) == pytest.approx([factor * run for run in sorted(whole)], rel=1e-9)


def test_the_distilling_script_gives_the_stored_bytes(published, repository, tmp_path):
    script = repository / "scripts" / "distil_splitwise.py"
    command = [sys.executable, "-W", "error", str(script), str(published), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.csv"))
    assert len(made) == 2 * 2 + 2  # points per model and accelerator, power per accelerator
    for path in made:
        kept = repository / "hardware_profiles" / path
        assert (tmp_path / path).read_bytes() == kept.read_bytes(), path
