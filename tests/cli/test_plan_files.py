"""The files of a run: what they hold, and that they repeat it."""

import csv
import shutil

import pytest
import yaml

from tests.cli.conftest import names_in

COLUMNS = {
    "plan.csv": [
        "role",
        "machine",
        "hardware",
        "tensor_parallel",
        "instances_per_machine",
        "machines",
        "spares",
        "existing",
        "utilization",
        "usd_per_hour",
        "provisioned_power_w",
        "rack_units",
        "mean_power_w",
    ],
    "routing.csv": ["workload", "request_class", "role", "machine", "tensor_parallel", "share"],
    "slo.csv": [
        "workload",
        "metric",
        "percentile",
        "unit",
        "limit",
        "value",
        "low",
        "high",
        "ok",
    ],
    "binding.csv": ["where", "limit", "used"],
    "unit_costs.csv": [
        "machine",
        "tensor_parallel",
        "phase",
        "tokens_per_s",
        "usd_per_million_tokens",
        "wh_per_thousand_tokens",
        "machines_if_alone",
        "note",
    ],
    "summary.csv": [
        "schema_version",
        "status",
        "model",
        "objective",
        "prices",
        "scheduler",
        "router",
        "design",
        "rate_per_s",
        "machines",
        "usd_per_hour",
        "provisioned_power_w",
        "rack_units",
        "mean_power_w",
        "requests_per_usd",
        "requests_per_kwh",
        "seeds",
        "holdout_pass_fraction",
        "proof",
        "proved",
        "bound",
        "gap",
        "simulations",
        "estimated",
        "slo_ok",
        "slo_source",
        "reasons",
        "warnings",
    ],
}
TABLES = ("plan.csv", "routing.csv", "slo.csv", "binding.csv", "unit_costs.csv")
FILES = sorted([*TABLES, "inputs.yaml", "model.lp", "summary.csv"])


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def as_cell(value):
    """How a CSV holds a JSON value: null is empty, numbers keep every digit."""
    return "" if value is None else str(value)


def test_the_files_of_a_run(example):
    assert names_in(example[1]) == FILES


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(example, name):
    with (example[1] / name).open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == COLUMNS[name]


@pytest.mark.parametrize(
    ("name", "records"),
    [("plan.csv", lambda result: result["pools"]), ("slo.csv", lambda x: x["slo"]["metrics"])],
)
def test_tables_equal_the_json(example, name, records):
    ran, folder = example

    expected = [{k: as_cell(v) for k, v in record.items()} for record in records(ran.json)]
    assert rows_of(folder / name) == expected


def test_the_summary_is_one_row_that_equals_the_json(example):
    ran, folder = example
    (row,) = rows_of(folder / "summary.csv")
    result = ran.json

    same = [column for column in COLUMNS["summary.csv"] if column in result]
    lists = {"seeds": " ", "estimated": " ", "warnings": "; "}
    for column in same:
        value = result[column]
        expected = lists[column].join(map(str, value)) if column in lists else as_cell(value)
        assert row[column] == expected, column
    assert set(COLUMNS["summary.csv"]) - set(same) == {"slo_ok", "slo_source", "reasons"}
    assert row["slo_ok"] == str(result["slo"]["ok"])
    assert row["slo_source"] == result["slo"]["source"]
    assert row["reasons"] == ""


def test_shares_of_a_class_add_up_to_one_in_both_phases(example):
    sums: dict[tuple[str, str, str], float] = {}
    for row in rows_of(example[1] / "routing.csv"):
        phases = ("prompt", "token") if row["role"] == "mixed" else (row["role"],)
        for phase in phases:
            key = (row["workload"], row["request_class"], phase)
            sums[key] = sums.get(key, 0.0) + float(row["share"])

    classes = {(workload, name) for workload, name, _ in sums}
    assert sums.keys() == {(*one, phase) for one in classes for phase in ("prompt", "token")}
    assert list(sums.values()) == pytest.approx([1.0] * len(sums), abs=1e-6)


def test_routing_names_only_pools_of_the_plan(example):
    keys = ("role", "machine", "tensor_parallel")
    pools = {tuple(row[key] for key in keys) for row in rows_of(example[1] / "plan.csv")}
    routed = {tuple(row[key] for key in keys) for row in rows_of(example[1] / "routing.csv")}

    assert routed == pools


def test_the_model_is_readable_lp(example):
    text = (example[1] / "model.lp").read_text(encoding="utf-8")

    assert "Minimize" in text
    assert "machines__" in text
    assert text.rstrip().endswith("End")


def test_inputs_state_every_default_and_where_the_data_came_from(example):
    inputs = yaml.safe_load((example[1] / "inputs.yaml").read_text(encoding="utf-8"))

    assert inputs["model"] == "bloom-176b"
    assert inputs["minimize"] == "cost"
    assert inputs["simulation"]["seeds"] == 3
    assert inputs["slo"]["name"] == "splitwise"
    assert len(inputs["slo"]["limits"]) == 9
    provenance = inputs["provenance"]
    assert "workloads/azure-conv.csv" in provenance["files_sha256"]
    assert all(len(digest) == 64 for digest in provenance["files_sha256"].values())
    assert {"provisioner", "pulp", "highspy", "numpy"} <= provenance["versions"].keys()


def test_saved_inputs_repeat_the_run(provisioner, example, tmp_path):
    ran, folder = example
    again = provisioner("plan", folder / "inputs.yaml", "--json", "--out", tmp_path / "again")

    assert again.code == 0
    timed = {"wall_s"}
    first, second = ({k: v for k, v in r.json.items() if k not in timed} for r in (ran, again))
    assert first == second
    for name in (*TABLES, "summary.csv", "model.lp"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


@pytest.fixture
def traced(provisioner, small, trace, here):
    """A run on a trace that was named relative to the working directory, in a deeper folder."""
    flags = ("--trace", "data/minute.csv", *small[6:])
    ran = provisioner("plan", *flags, "--out", here / "deep" / "down" / "run", "--json")
    assert ran.code == 0
    return ran, here / "deep" / "down" / "run"


def test_a_run_on_a_trace_is_repeated_from_any_directory(
    provisioner, traced, tmp_path_factory, monkeypatch
):
    ran, folder = traced
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    again = provisioner("plan", folder / "inputs.yaml", "--out", "again", "--json")

    assert again.json["pools"] == ran.json["pools"]
    assert again.json["warnings"] == ran.json["warnings"]
    for name in TABLES:
        assert (folder / name).read_bytes() == (folder.cwd() / "again" / name).read_bytes()


def test_the_trace_is_named_relative_to_the_run(traced):
    inputs = yaml.safe_load((traced[1] / "inputs.yaml").read_text(encoding="utf-8"))

    assert inputs["workloads"][0]["trace"] == "../../../data/minute.csv"


def test_the_run_and_its_trace_can_be_moved_together(provisioner, traced, here):
    (here / "moved").mkdir()
    for name in ("data", "deep"):
        shutil.move(here / name, here / "moved" / name)
    again = provisioner("plan", here / "moved" / "deep" / "down" / "run" / "inputs.yaml", "--json")

    assert again.json["pools"] == traced[0].json["pools"]


def test_a_run_below_a_link_finds_its_trace(provisioner, small, trace, here):
    """``..`` leads from where a link points to, not from where the link is."""
    (here / "disk" / "far").mkdir(parents=True)
    (here / "results").symlink_to(here / "disk" / "far", target_is_directory=True)
    flags = ("--trace", "data/minute.csv", *small[6:])
    assert provisioner("plan", *flags, "--out", "results/run").code == 0

    assert provisioner("plan", "results/run/inputs.yaml").code == 0


def test_data_that_changed_since_is_a_warning(provisioner, traced, trace):
    trace.write_text(trace.read_text() + "61,300,20\n")
    again = provisioner("plan", "deep/down/run/inputs.yaml", "--json")

    note = f"{trace.resolve().as_posix()} has changed since this run was saved"
    assert again.code == 0
    assert again.json["warnings"][0] == note
    assert note not in traced[0].json["warnings"]


def test_a_price_list_that_changed_since_is_a_warning(provisioner, run_folder, here):
    """Records in the working directory take the place of the built-in ones, also when repeated."""
    prices = here / "hardware_profiles" / "prices" / "aws-2026-11.yaml"
    prices.parent.mkdir(parents=True)
    stated = "{hardware: dgx-h100, usd_per_hour: 1, sku: s, source: s, date: 2026, certainty: L}"
    prices.write_text(f"{{name: aws-2026-11, date: 2026, currency: USD, prices: [{stated}]}}")
    again = provisioner("plan", "run/inputs.yaml", "--json")

    name = "hardware_profiles/prices/aws-2026-11.yaml"
    assert again.json["warnings"][0] == f"{name} has changed since this run was saved"
    assert again.json["usd_per_hour"] == again.json["machines"]


def test_flags_change_a_saved_run(provisioner, run_folder):
    """Its SLO is written out in full and still gives way to the flag."""
    ran = provisioner("plan", "run/inputs.yaml", "--slo", "interactive", "--json")

    assert ran.json["slo"]["name"] == "interactive"


def test_a_workloads_own_slo_stays_its_own(provisioner, small, here):
    slo = "[{metric: ttft, percentile: 90, at_most_s: 5}]"
    flags = ("--set", f"workloads.fixed.slo={slo}", "--slo", "interactive")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        (here / "one.yaml").write_text(
            "workloads: [{name: fixed, prompt_tokens: 500, output_tokens: 50, rate_per_s: 2}]\n"
            "hardware: [dgx-h100]\ndesigns: [mixed]\n"
        )
        ran = provisioner("plan", "one.yaml", *flags, "--out", "run", "--json")
        again = provisioner("plan", "run/inputs.yaml", "--json")

    assert ran.json["slo"]["name"] == "custom"
    assert again.json["slo"] == ran.json["slo"]


def test_an_infeasible_run_says_why_and_holds_no_plan(provisioner, small, here):
    ran = provisioner("plan", *small, "--rate", "200", "--machines", "1", "--out", "run", "--json")

    assert ran.code == 3
    assert names_in("run") == ["inputs.yaml", "summary.csv"]
    (row,) = rows_of(here / "run" / "summary.csv")
    assert list(row) == COLUMNS["summary.csv"]
    assert row["status"] == "infeasible"
    assert row["machines"] == ""
    assert row["reasons"] == ran.json["reasons"][0]["sentence"]
