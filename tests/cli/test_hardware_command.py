"""`provisioner hardware`: shapes of its JSON, changes, and what people see."""

import pytest

ITEM = {
    "name",
    "hardware",
    "accelerator",
    "accelerators",
    "memory_bytes",
    "network_bytes_per_s",
    "usd_per_hour",
    "provisioned_power_w",
    "idle_power_w",
    "rack_units",
    "measured_models",
}
DETAILS = ITEM | {"price_list", "prices", "figures", "cap"}
ERRORS = {
    f"{kind}_{what}"
    for kind in ("held_out", "left_out")
    for what in ("mean", "worst", "count", "extrapolated")
}
VALIDATION = ERRORS | {
    "name",
    "profile",
    "phase",
    "cells",
    "runs",
    "repeat_spread",
    "repairs",
    "dropped",
}


def by_name(ran):
    assert ran.code == 0, ran.err
    assert ran.json.keys() == {"items"}
    return {item["name"]: item for item in ran.json["items"]}


def test_list(provisioner):
    items = by_name(provisioner("hardware", "list", "--json"))

    assert {"dgx-a100", "dgx-h100", "dgx-h100-cap70"} <= items.keys()
    assert all(item.keys() == ITEM for item in items.values())
    a100 = items["dgx-a100"]
    assert a100["usd_per_hour"] == 27.45  # aws-2026-11: p4de.24xlarge
    assert a100["provisioned_power_w"] == 6500  # vendor nameplate
    assert a100["memory_bytes"] == 8 * 80 * 2**30  # A100 80GB parts count in binary
    assert items["dgx-h100-cap70"]["hardware"] == "dgx-h100"


def test_list_with_another_price_list(provisioner):
    default = by_name(provisioner("hardware", "list", "--json"))
    other = by_name(provisioner("hardware", "list", "--prices", "coreweave-2023", "--json"))

    assert other["dgx-h100"]["usd_per_hour"] == 38.08  # 8 x 4.76
    assert other["dgx-h100"]["usd_per_hour"] != default["dgx-h100"]["usd_per_hour"]


def test_list_with_a_price_list_that_lacks_a_machine(provisioner, here):
    """No price is null in JSON and a dash in the table."""
    prices = here / "hardware_profiles" / "prices" / "half.yaml"
    prices.parent.mkdir(parents=True)
    stated = "{hardware: dgx-h100, usd_per_hour: 1, sku: s, source: s, date: 2026, certainty: L}"
    prices.write_text(f"{{name: half, date: 2026, currency: USD, prices: [{stated}]}}")
    ran = provisioner("hardware", "list", "--prices", "half", "--json")

    assert by_name(ran)["dgx-a100"]["usd_per_hour"] is None
    (row,) = (line for line in ran.err.splitlines() if line.startswith("dgx-a100 "))
    assert row.split()[3] == "-"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (("hardware.dgx-h100.usd_per_hour=30",), 30),
        (("prices=coreweave-2023",), 38.08),
        (("prices=coreweave-2023", "hardware.dgx-h100.usd_per_hour=7"), 7),
    ],
)
def test_changes_reach_the_list_and_the_details(provisioner, changes, expected):
    flags = [word for change in changes for word in ("--set", change)]
    items = by_name(provisioner("hardware", "list", *flags, "--json"))
    details = provisioner("hardware", "show", "dgx-h100", *flags, "--json").json

    assert items["dgx-h100"]["usd_per_hour"] == expected
    assert details["usd_per_hour"] == expected


def test_a_change_can_leave_machines_out(provisioner):
    items = by_name(provisioner("hardware", "list", "--set", "hardware=[dgx-a100]", "--json"))

    assert items.keys() == {"dgx-a100"}


def test_show(provisioner):
    record = provisioner("hardware", "show", "dgx-h100-cap70", "--json").json

    assert record.keys() == DETAILS
    assert record["price_list"] == "aws-2026-11"
    assert {price["list"] for price in record["prices"]} >= {"aws-2026-11", "coreweave-2023"}
    assert all(price["usd_per_hour"] > 0 and price["source"] for price in record["prices"])
    assert record["cap"]["of"] == "dgx-h100"
    figures = {figure["figure"]: figure for figure in record["figures"]}
    assert figures["provisioned_power_w"]["value"] == record["provisioned_power_w"]
    assert all(figure["source"] and figure["quality"] for figure in figures.values())


def test_show_agrees_with_the_list(provisioner):
    items = by_name(provisioner("hardware", "list", "--json"))
    record = provisioner("hardware", "show", "dgx-a100", "--json").json

    assert {key: record[key] for key in ITEM} == items["dgx-a100"]
    assert record["cap"] is None


def test_validate(provisioner):
    items = by_name(provisioner("hardware", "validate", "--model", "bloom-176b", "--json"))

    assert set(items) == {
        f"bloom-176b/{accelerator}/tp8/{phase}"
        for accelerator in ("a100-sxm-80gb", "h100-sxm-80gb")
        for phase in ("prompt", "token")
    }
    for item in items.values():
        assert item.keys() == VALIDATION
        assert 0 <= item["held_out_mean"] <= item["held_out_worst"]
        assert item["runs"] >= item["cells"] > 0


def test_validate_chooses_other_runs_with_another_seed(provisioner):
    flags = ("hardware", "validate", "--model", "bloom-176b", "--json")
    first, same, other = (provisioner(*flags, "--seed", seed).out for seed in ("1", "1", "2"))

    assert first == same != other


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        (("list",), ["Machine types, prices aws-2026-11", "dgx-h100-cap70"]),
        (("show", "dgx-h100-cap70"), ["Prices", "Figures", "Power cap of dgx-h100"]),
        (("validate", "--model", "bloom-176b"), ["Relative error", "Dropped and repaired"]),
    ],
)
def test_people_see_tables_on_standard_output(provisioner, arguments, titles):
    ran = provisioner("hardware", *arguments)

    assert (ran.code, ran.err) == (0, "")
    for title in titles:
        assert title in ran.out
