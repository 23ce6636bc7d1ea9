"""What is kept in results/ is what its commands make."""

import csv
import importlib.util
import io
from pathlib import Path

import pytest

from provisioner.domain.reproduction import Reproduction
from provisioner.reporting.files import table_text
from provisioner.reporting.reproduction import FILES
from provisioner.reporting.reproduction_figures import FIGURES, described
from provisioner.reporting.reproduction_records import (
    TABLES,
    best_records,
    cluster_record,
    load_record,
    profile_tables,
)
from provisioner.reproduction.batch_jobs import batch_job
from provisioner.reproduction.heat_map import heat_point, heat_rows
from provisioner.reproduction.high_load import loaded, loads
from provisioner.reproduction.published import published_clusters
from provisioner.reproduction.run import reproduced
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


SPLITWISE = ROOT / "results" / "splitwise"
MADE_AGAIN = (
    ("iso-power", "azure-conv", "baseline-h100"),
    ("iso-power", "azure-code", "baseline-a100"),
    ("iso-throughput-cost", "azure-conv", "splitwise-hh"),
)
"""Clusters of the reproduction that are judged and planned again."""


def rows_in(name):
    with (SPLITWISE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def key_of(row):
    return row["question"], row["workload"], row["design"]


def as_cells(record, columns):
    (row,) = csv.DictReader(io.StringIO(table_text(columns, [record])))
    return row


@pytest.mark.parametrize("key", MADE_AGAIN)
def test_the_reproduction_is_current(key):
    published = next(c for c in published_clusters() if key_of(vars(c)) == key)
    again = reproduced(published)
    (kept,) = (row for row in rows_in("clusters.csv") if key_of(row) == key)
    assert as_cells(cluster_record(again), TABLES["clusters"]) == kept, "stale: reproduce splitwise"
    best = [row for row in rows_in("best.csv") if key_of(row) == key]
    assert [
        as_cells(row, TABLES["best"]) for row in best_records(Reproduction((again,), {}))
    ] == best


def test_the_reproduction_is_complete():
    clusters = rows_in("clusters.csv")
    assert [key_of(row) for row in clusters] == [key_of(vars(c)) for c in published_clusters()]
    optima = {key_of(row)[:2] for row in rows_in("best.csv") if row["design"] == "optimum"}
    assert optima == {key_of(row)[:2] for row in clusters}


def test_compatible_rates_are_within_a_step_of_the_published_simulators():
    for row in rows_in("clusters.csv"):
        if row["simulator_rate_per_s"]:
            ours, theirs = (
                float(row[f"{rule}_rate_per_s"]) for rule in ("compatible", "simulator")
            )
            assert abs(ours - theirs) <= 10, key_of(row)


def test_the_best_serve_at_least_what_the_published_clusters_do():
    """Under the same budget; in the measured physics to the step of 0.1 % that rates have."""
    published = {key_of(row): row for row in rows_in("clusters.csv")}
    for row in rows_in("best.csv"):
        if row["design"] == "optimum" or not row["question"].startswith("iso-"):
            continue
        own = published[key_of(row)]
        if own["fits_budget"] == "True" and "throughput" not in row["question"]:
            rate = float(own[f"{row['rule']}_rate_per_s"])
            assert float(row["rate_per_s"]) >= rate * (1 - 1.001e-3), key_of(row)


def test_the_optimum_is_at_least_every_designs():
    best = rows_in("best.csv")
    optima = {(*key_of(row)[:2], row["rule"]): row for row in best if row["design"] == "optimum"}
    for row in best:
        optimum = optima[*key_of(row)[:2], row["rule"]]
        key = {
            "iso-throughput-power": "provisioned_power_w",
            "iso-throughput-cost": "usd_per_hour",
        }.get(row["question"], "rate_per_s")
        more, less = (optimum, row) if key == "rate_per_s" else (row, optimum)
        assert float(more[key]) >= float(less[key]) * (1 - 1e-9), key_of(row)


def test_headlines_are_ratios_of_the_tables():
    clusters = {key_of(row): row for row in rows_in("clusters.csv")}
    for row in rows_in("headlines.csv"):
        one, base = (
            clusters[row["question"], "azure-conv", row[key]] for key in ("design", "baseline")
        )
        if row["ratio"] == "throughput":
            for rule in ("paper", "compatible", "measured"):
                key = f"{rule}_rate_per_s"
                assert float(row[rule]) == pytest.approx(float(one[key]) / float(base[key]))
        else:
            key = {"cost": "usd_per_hour", "power": "provisioned_power_w"}[row["ratio"]]
            assert float(row["measured"]) == pytest.approx(float(one[key]) / float(base[key]))


def test_the_page_has_the_numbers_of_the_tables():
    page = (SPLITWISE / "README.md").read_text(encoding="utf-8")
    for row in rows_in("clusters.csv"):
        start = f"| {row['design']} | {row['prompt_machines']}"
        lines = [line for line in page.splitlines() if line.startswith(start)]
        assert any(f"| {float(row['measured_rate_per_s']):.1f} |" in line for line in lines)
    for row in rows_in("best.csv"):
        if row["rule"] == "measured":
            assert f"| {float(row['rate_per_s']):.1f} | {float(row['usd_per_hour']):,.2f} |" in page


def test_robustness_in_compatible_mode_is_the_papers():
    """No loss for AA and HH, 7 % for HA and HHcap (a step of the grid), with other traffic; with
    another model every split design beats both baselines."""
    rows = rows_in("robustness.csv")
    moved = {row["design"]: row for row in rows if row["own_compatible_rate_per_s"]}
    for design, most_loss in {"aa": 0.0, "hh": 0.0, "ha": 0.08, "hhcap": 0.08}.items():
        row = moved[f"splitwise-{design}"]
        rate, own = float(row["compatible_rate_per_s"]), float(row["own_compatible_rate_per_s"])
        assert rate >= own * (1 - most_loss)
    other = {
        row["design"]: float(row["compatible_rate_per_s"])
        for row in rows
        if row["model"] == "llama2-70b"
    }
    baselines = max(other["baseline-a100"], other["baseline-h100"])
    assert all(rate > baselines for name, rate in other.items() if name.startswith("splitwise"))


def test_formulas_of_the_profiles_are_current():
    for name, rows in profile_tables().items():
        kept = rows_in(f"{name}.csv")
        assert kept == [as_cells(row, TABLES[name]) for row in rows], name


def test_every_file_of_the_reproduction_is_there_and_no_other():
    assert {path.name for path in SPLITWISE.iterdir()} == set(FILES)
    page = (SPLITWISE / "README.md").read_text(encoding="utf-8")
    assert all(f"]({name})" in page for name in FIGURES)


def test_figures_are_of_the_tables_beside_them():
    tables = {name: (SPLITWISE / f"{name}.csv").read_text(encoding="utf-8") for name in TABLES}
    for name in FIGURES:
        assert described(name, tables) in (SPLITWISE / name).read_text(encoding="utf-8"), name


def test_the_heat_map_is_current():
    rows = rows_in("heat_map.csv")
    keys = [(int(row["prompt_machines"]), int(row["token_machines"])) for row in rows]
    assert keys == list(heat_rows())
    for row, key in list(zip(rows, keys, strict=True))[10::40]:
        assert as_cells(vars(heat_point(*key)), TABLES["heat_map"]) == row


def test_loads_are_current():
    rows = rows_in("high_load.csv")
    assert [(r["design"], r["rule"], float(r["rate_per_s"])) for r in rows] == list(loads())
    for row, load in list(zip(rows, loads(), strict=True))[12::29]:
        assert as_cells(load_record(loaded(*load)), TABLES["high_load"]) == row


def test_batch_jobs_are_current():
    (kept,) = (row for row in rows_in("batch_jobs.csv") if row["design"] == "splitwise-hh")
    assert as_cells(vars(batch_job("splitwise-hh")), TABLES["batch_jobs"]) == kept


def test_batch_jobs_gain_nothing_from_the_split():
    """The paper: Baseline-A100 and AA 0.89 requests/s per $, Baseline-H100 and HH 0.75."""
    rows = {row["design"]: row for row in rows_in("batch_jobs.csv")}
    for kind in ("a100", "h100"):
        base, split = rows[f"baseline-{kind}"], rows[f"splitwise-{kind[0]}{kind[0]}"]
        for rule in ("compatible", "measured"):
            ours, theirs = (float(row[f"{rule}_per_usd"]) for row in (split, base))
            assert ours == pytest.approx(theirs, rel=0.05)
        assert float(split["compatible_per_usd"]) == pytest.approx(
            float(split["paper_per_usd"]), rel=0.12
        )


def test_a_failure_costs_restarts_and_latency():
    rows = rows_in("failures.csv")
    assert {row["design"] for row in rows} == {row["design"] for row in rows_in("batch_jobs.csv")}
    for row in rows:
        assert int(row["restarted"]) > 0
        assert float(row["taken_without"]) <= 1
        assert float(row["taken"]) >= 0.999 * float(row["taken_without"])
        assert float(row["e2e_p99_s"]) >= 0.995 * float(row["e2e_p99_without_s"])
