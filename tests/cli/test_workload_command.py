"""`provisioner workload`: shapes of its JSON, and stored workloads made from traces."""

import pytest

ITEM = {
    "name",
    "requests",
    "span_s",
    "mean_rate_per_s",
    "peak_60s_per_s",
    "mean_prompt_tokens",
    "mean_output_tokens",
    "source",
}
DETAILS = ITEM | {"cells", "prompt_tokens", "output_tokens", "classes"}


def test_list(provisioner):
    ran = provisioner("workload", "list", "--json")

    assert ran.json.keys() == {"items"}
    items = {item["name"]: item for item in ran.json["items"]}
    assert {"azure-code", "azure-conv"} <= items.keys()
    assert all(item.keys() == ITEM for item in items.values())
    # the published trace: 19,366 requests in the conversation file
    assert items["azure-conv"]["requests"] == 19366
    assert items["azure-conv"]["mean_rate_per_s"] == pytest.approx(
        19366 / items["azure-conv"]["span_s"]
    )


def test_show(provisioner):
    record = provisioner("workload", "show", "azure-code", "--json").json

    assert record.keys() == DETAILS
    for length in ("prompt_tokens", "output_tokens"):
        assert list(record[length]) == ["p10", "p50", "p90", "p99"]
        assert list(record[length].values()) == sorted(record[length].values())
    assert sum(group["share"] for group in record["classes"]) == pytest.approx(1)
    for group in record["classes"]:
        assert group.keys() == {"name", "share", "mean_prompt_tokens", "mean_output_tokens"}


def test_import(provisioner, trace, here):
    ran = provisioner("workload", "import", "data/minute.csv", "--name", "minute", "--json")

    assert ran.code == 0
    record = ran.json
    assert record.keys() == DETAILS
    # 121 requests, half a second apart: 60 s, and 120 of them within [0, 60)
    assert (record["requests"], record["span_s"]) == (121, 60)
    assert record["peak_60s_per_s"] == 2
    assert record["mean_prompt_tokens"] == pytest.approx(300 + 60)
    assert sorted(path.name for path in (here / "workloads").iterdir()) == [
        "minute.csv",
        "minute.yaml",
    ]
    assert provisioner("workload", "show", "minute", "--json").json == record
    listed = provisioner("workload", "list", "--json").json["items"]
    assert {key: record[key] for key in ITEM} in listed


def test_what_was_imported_can_be_planned_for(provisioner, small, trace, here):
    provisioner("workload", "import", "data/minute.csv", "--name", "minute")
    ran = provisioner("plan", "--workload", "minute", *small[6:], "--json")

    assert ran.code == 0
    assert ran.json["rate_per_s"] == pytest.approx(121 / 60)


def test_nothing_is_overwritten_without_force(provisioner, trace, here):
    command = ("workload", "import", "data/minute.csv", "--name", "minute")
    provisioner(*command)
    before = (here / "workloads" / "minute.yaml").read_bytes()
    trace.write_text(trace.read_text() + "99,300,20\n")
    ran = provisioner(*command)

    assert ran.code == 1
    assert "--force" in ran.err
    assert (here / "workloads" / "minute.yaml").read_bytes() == before
    assert provisioner(*command, "--force").code == 0
    assert (here / "workloads" / "minute.yaml").read_bytes() != before


def test_a_wrong_trace_leaves_nothing(provisioner, trace, here, left_behind):
    trace.write_text(trace.read_text() + "98,300,20\n97,300,20\n")
    before = left_behind()
    ran = provisioner("workload", "import", "data/minute.csv", "--name", "minute", "--json")

    assert ran.code == 1
    assert "row 124" in ran.json["message"]
    assert left_behind() == before


def test_people_see_tables(provisioner):
    assert "azure-conv" in provisioner("workload", "list").out
    shown = provisioner("workload", "show", "azure-conv").out
    for title in ("Lengths", "Request classes"):
        assert title in shown
