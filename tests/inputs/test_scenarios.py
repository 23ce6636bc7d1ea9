from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.scenario import Scenario
from provisioner.errors import InputError
from provisioner.inputs.scenarios import (
    apply_changes,
    parse_changes,
    parse_scenario,
    read_scenario_data,
)

DATA = {"workloads": [{"name": "chat", "rate_per_s": 1}, {"name": "code.v2", "rate_per_s": 2}]}


def changed(data, **changes):
    """The scenario after changes, whose keys are written with `__` for a dot."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return parse_scenario(apply_changes(data, dotted), "f.yaml")


def test_the_built_in_example_is_read_without_a_path():
    scenario = parse_scenario(read_scenario_data(None), "example")
    assert scenario.model == "bloom-176b"
    assert [entry.name for entry in scenario.workloads] == ["azure-conv"]
    assert scenario.workloads[0].rate_per_s == 70


def test_trace_paths_become_relative_to_the_working_directory(write):
    traces = ["a.csv", "../b.csv", "/data/c.csv"]
    entries = [{"name": f"w{i}", "trace": trace} for i, trace in enumerate(traces)]
    path = write("folder/f.yaml", {"workloads": [*entries, {"name": "fixed"}, "x"]})
    read = read_scenario_data(path)["workloads"]
    assert [entry["trace"] for entry in read[:3]] == [
        str(path.parent / "a.csv"),
        str(path.parent / "../b.csv"),
        "/data/c.csv",
    ]
    assert read[3:] == [{"name": "fixed"}, "x"]


def test_the_provenance_of_a_saved_run_is_skipped():
    assert parse_scenario({**DATA, "provenance": {"version": "1"}}, "f.yaml").growth == 1


@pytest.mark.parametrize("content", ["", "[1]", b"\xff", "a: 1\na: 2"])
def test_a_scenario_file_that_is_none_is_refused(write, content):
    path = write("f.yaml", content)
    with pytest.raises(InputError, match=str(path)):
        parse_scenario(read_scenario_data(path), str(path))


def test_a_missing_scenario_file_is_refused():
    with pytest.raises(InputError, match=r"no-such\.yaml: cannot be read: No such file"):
        read_scenario_data(Path("no-such.yaml"))


# Union-shaped fields.


def test_fields_that_may_be_written_in_several_ways():
    limit = {"metric": "ttft", "percentile": 90, "at_most_s": 0.5}
    short = parse_scenario({**DATA, "slo": [limit], "hardware": "dgx-a100"}, "f.yaml")
    long = parse_scenario(
        {**DATA, "slo": {"name": "custom", "limits": [limit]}, "hardware": ["dgx-a100"]}, "f.yaml"
    )
    assert short == long
    assert parse_scenario({**DATA, "slo": "strict"}, "f.yaml").slo == "strict"
    for written in (8, [8], (8,)):
        assert parse_scenario({**DATA, "tensor_parallel": written}, "f.yaml").tensor_parallel == (
            8,
        )
    both = parse_scenario({**DATA, "hardware": ["a", {"name": "b", "usd_per_hour": 3}]}, "f.yaml")
    assert both.hardware_names == ["a", "b"]
    assert both.hardware[1].model_extra == {"usd_per_hour": 3}
    assert parse_scenario({**DATA, "model": {"name": "m", "layers": 3}}, "f").model.name == "m"


# Dotted changes.


def test_changes_are_read_as_yaml():
    read = parse_changes(["a.b=1", " c = [x, y]", "d=", "e=x=y", "f=4e5", "a.b={k: v}"])
    assert read == {"a.b": {"k": "v"}, "c": ["x", "y"], "d": None, "e": "x=y", "f": "4e5"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("growth", "must be dotted.key=value"),
        ("=3", "must be dotted.key=value"),
        ("", "must be dotted.key=value"),
        ("a=[1", "--set a: row 1: not valid YAML"),
        ("a={b: 1, b: 2}", "given twice"),
    ],
)
def test_a_change_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_changes([text])


def test_named_items_and_keys_with_dots():
    new = apply_changes(
        DATA,
        {
            "workloads.chat.rate_per_s": 5,
            "workloads.code.v2.rate_per_s": 6,
            "workloads.0.name": "talk",
            "existing.b200.v2": 3,
            "limits.available.b200.v2": 4,
            "limits.power_w": 7,
            "spares.prompt": 1,
        },
    )
    assert new["workloads"] == [
        {"name": "talk", "rate_per_s": 5},
        {"name": "code.v2", "rate_per_s": 6},
    ]
    assert new["existing"] == {"b200.v2": 3}
    assert new["limits"] == {"available": {"b200.v2": 4}, "power_w": 7}
    assert DATA["workloads"][0] == {"name": "chat", "rate_per_s": 1}  # the data given stay


@pytest.mark.parametrize("hardware", [None, "dgx-h100", ["dgx-h100"], ({"name": "dgx-h100"},)])
def test_a_machine_can_be_changed_however_it_was_chosen(hardware):
    data = {**DATA, "hardware": hardware} if hardware else DATA
    read = changed(data, **{"hardware__dgx-h100__usd_per_hour": 30})
    assert "dgx-h100" in read.hardware_names
    (entry,) = [entry for entry in read.hardware if not isinstance(entry, str)]
    assert entry.model_extra == {"usd_per_hour": 30}


@pytest.mark.parametrize("key", ["limits__machines", "simulation__seeds", "max_types_per_role"])
def test_what_was_left_to_its_default_can_be_changed(key):
    first, *rest = key.split("__")
    value = getattr(changed(DATA, **{key: 7}), first)
    assert (getattr(value, rest[0]) if rest else value) == 7


def test_lists_and_names_left_to_their_default_can_be_changed():
    assert changed(DATA, designs__0="hybrid").designs == ("hybrid", "mixed")
    assert changed(DATA, model__layers=3).model.model_extra == {"layers": 3}
    assert changed(DATA, hardware__0="x").hardware_names[0] == "x"


def test_a_limit_of_a_named_slo_can_be_changed():
    read = changed({**DATA, "slo": "strict"}, slo__limits__0__at_most_s=9)
    assert read.slo.name == "strict"
    assert read.slo.limits[0].at_most_s == 9
    entry = {**DATA["workloads"][0], "slo": "interactive"}
    read = changed({"workloads": [entry]}, workloads__chat__slo__limits__1__percentile=50)
    assert read.workloads[0].slo.limits[1].percentile == 50


def test_a_limit_in_another_unit_takes_the_place_of_the_first():
    read = changed({**DATA, "slo": "splitwise"}, slo__ttft__p90__at_most_s=0.9)
    (limit,) = (x for x in read.slo.limits if (x.metric, x.percentile) == ("ttft", 90))
    assert (limit.at_most_s, limit.at_most_slowdown) == (0.9, None)
    read = changed(read.model_dump(mode="json"), slo__ttft__p90__at_most_slowdown=4)
    (limit,) = (x for x in read.slo.limits if (x.metric, x.percentile) == ("ttft", 90))
    assert (limit.at_most_s, limit.at_most_slowdown) == (None, 4)


def test_limits_can_be_changed_by_metric_and_percentile_however_they_are_given():
    listed = [{"metric": m, "percentile": 90, "at_most_slowdown": 2} for m in ("ttft", "tbt")]
    for slo in ("splitwise", listed, {"name": "mine", "limits": listed}):
        read = changed({**DATA, "slo": slo}, slo__ttft__p90__at_most_slowdown=4)
        limits = {(x.metric, x.percentile): x.limit for x in read.slo.limits}
        assert limits["ttft", 90] == 4
        assert limits["tbt", 90] != 4
    entry = {**DATA["workloads"][0], "slo": "splitwise"}
    read = changed({"workloads": [entry]}, workloads__chat__slo__e2e__p99__at_most_slowdown=9)
    assert read.workloads[0].slo.limits[-1].limit == 9


def test_a_dumped_scenario_can_be_changed():
    scenario = parse_scenario({**DATA, "slo": "strict", "hardware": [{"name": "a", "x": 1}]}, "f")
    for dumped in (scenario.model_dump(), scenario.model_dump(mode="json")):
        again = changed(dumped, hardware__a__x=2, workloads__chat__rate_per_s=9)
        assert again.hardware[0].model_extra == {"x": 2}
        assert again.workloads[0].rate_per_s == 9


def test_values_given_as_changes_stay_as_they_are():
    limits = {"machines": 1}
    assert changed(DATA, limits=limits, limits__machines=2).limits.machines == 2
    assert limits == {"machines": 1}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("workloads.chta.rate_per_s", "unknown name or position 'chta'; did you mean 'chat'?"),
        ("workloads.2.rate_per_s", "unknown name or position '2'"),
        ("growth.x", r"growth\.x: there is nothing below 1\.0"),
        ("prices.x", r"prices\.x: there is nothing below 'aws-"),
        ("slo.limits.0.at_most_s", "slo: none is set; name one before changing it"),
        ("slo.ttft.p90.at_most_s", r"or list its limits: slo=\[\{metric: ttft, percentile: 90, "),
        ("hardware.our.usd_per_hour", "unknown name or position 'our'"),
        ("limits..power_w", "must be dotted keys without empty parts"),
        (".growth", "without empty parts"),
        ("existing.", "without empty parts"),
        ("", "without empty parts"),
    ],
)
def test_a_change_that_leads_nowhere_is_refused(key, message):
    with pytest.raises(InputError, match=message):
        apply_changes(DATA, {key: 1})


STORED = {
    "hardware": ["b200", "dgx-h100"],
    "workloads": [{"name": "azure-conv.v2", "rate_per_s": 1}],
}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            "hardware.dgx-a100.usd_per_hour",
            r"usd_per_hour: dgx-a100 is not in hardware \(b200, dgx-h100\); .* with --hardware",
        ),
        ("hardware.dgx-a100", "^hardware.dgx-a100: dgx-a100 is not in hardware"),
        ("hardware.dgx-h100-cap70.rack_units", "dgx-h100-cap70 is not in hardware"),
        (
            "workloads.azure-conv.rate_per_s",
            r"azure-conv is not in workloads \(azure-conv\.v2\); .* with --workload",
        ),
    ],
)
def test_a_change_to_what_is_stored_but_not_used_says_how_to_use_it(key, message):
    with pytest.raises(InputError, match=message):
        apply_changes(STORED, {key: 1})


def test_a_used_name_that_begins_with_a_stored_one_is_changed():
    new = apply_changes(STORED, {"workloads.azure-conv.v2.rate_per_s": 5})
    assert new["workloads"][0]["rate_per_s"] == 5
    one = apply_changes({**STORED, "hardware": "dgx-a100"}, {"hardware.dgx-a100.rack_units": 5})
    assert one["hardware"] == [{"name": "dgx-a100", "rack_units": 5}]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("growht", 2, "unknown key 'growht'; did you mean 'growth'?"),
        ("limits.usd_per_hr", 2, "unknown key 'limits.usd_per_hr'; did you mean 'usd_per_hour'?"),
        ("workloads.chat.rate", 2, r"workloads\.0\.rate: peak_<seconds>s is needed"),
        ("growth", None, "growth: a number is needed, found nothing"),
        ("hardware.dgx-a100", 3, r"hardware\.0: a name or a mapping of keys is needed, found 3"),
    ],
)
def test_a_change_to_a_wrong_key_or_value_is_refused_afterwards(key, value, message):
    with pytest.raises(InputError, match=message):
        parse_scenario(apply_changes(DATA, {key: value}), "f.yaml")


parts = st.sampled_from([*Scenario.model_fields, "chat", "0", "7", "limits", "name", "x", "", "²"])


@settings(deadline=None)
@given(st.lists(parts, min_size=1, max_size=4), st.sampled_from([None, 1, "x", [], {}, [{}]]))
def test_any_change_is_made_or_an_input_error(path, value):
    try:
        parse_scenario(apply_changes(DATA, {".".join(path): value}), "f.yaml")
    except InputError as error:
        assert str(error)
