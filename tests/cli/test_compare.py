"""``provisioner compare`` on the command line: its JSON, its files, its refusals."""

import csv

import pytest

from tests.cli.conftest import names_in

FLAGS = ("--prompt-tokens", "500", "--output-tokens", "50", "--rate", "2", "--hardware", "dgx-h100")
COLUMNS = [
    "name",
    "status",
    "pools",
    "rate_per_s",
    "machines",
    "usd_per_hour",
    "provisioned_power_w",
    "rack_units",
    "highest_rate_per_s",
    "requests_per_usd",
    "requests_per_kwh",
    "machines_ratio",
    "usd_per_hour_ratio",
    "provisioned_power_w_ratio",
    "rack_units_ratio",
    "highest_rate_per_s_ratio",
    "requests_per_usd_ratio",
    "requests_per_kwh_ratio",
    "scheduler",
    "proof",
    "proved",
    "bound",
    "gap",
    "holdout_pass_fraction",
    "reasons",
]


@pytest.fixture(scope="module")
def compared(provisioner, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare") / "run"
    return provisioner("compare", *FLAGS, "--json", "--out", folder), folder


def test_the_json_has_a_row_per_design(compared):
    ran, _ = compared
    assert ran.code == 0
    assert [row["name"] for row in ran.json["items"]] == [
        "baseline-h100",
        "splitwise-hh",
        "optimum",
    ]
    assert ran.json["baseline"] == "baseline-h100"
    for row in ran.json["items"]:
        assert list(row) == COLUMNS
        assert row["requests_per_usd"] == pytest.approx(2 * 3600 / row["usd_per_hour"])
        assert row["highest_rate_per_s"] >= 2


def test_the_file_equals_the_json(compared):
    ran, folder = compared
    assert names_in(folder) == ["compare.csv", "inputs.yaml"]
    with (folder / "compare.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [
        {key: "" if value is None else str(value) for key, value in row.items()}
        for row in ran.json["items"]
    ]
    assert rows == expected


def test_saved_inputs_repeat_it(provisioner, compared):
    ran, folder = compared
    again = provisioner("compare", folder / "inputs.yaml", "--json")
    assert again.json["items"] == ran.json["items"]


def test_the_view_has_every_design(compared):
    ran, _ = compared
    for name in ("baseline-h100", "splitwise-hh", "optimum"):
        assert ran.err.count(name) >= 3


def test_nothing_is_overwritten_unless_forced(provisioner, compared):
    _, folder = compared
    before = (folder / "compare.csv").read_bytes()
    assert provisioner("compare", *FLAGS, "--out", folder).code == 1
    assert (folder / "compare.csv").read_bytes() == before
    assert provisioner("compare", *FLAGS, "--out", folder, "--force").code == 0


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("--design", "splitwise-hx"), 1, "did you mean 'splitwise-hh'"),
        (("--baseline", "optimun"), 1, "did you mean 'optimum'"),
        (("--design", "splitwise-ha"), 1, "splitwise-ha needs dgx-a100"),
    ],
)
def test_wrong_names(provisioner, left_behind, flags, code, message):
    ran = provisioner("compare", *FLAGS, *flags, "--out", "run")
    assert ran.code == code
    assert message in ran.err
    assert left_behind() == []


def test_where_nothing_satisfies_the_limits(provisioner):
    ran = provisioner("compare", *FLAGS, "--rate", "200", "--machines", "1", "--json")
    assert ran.code == 3
    assert {row["status"] for row in ran.json["items"]} == {"infeasible"}
