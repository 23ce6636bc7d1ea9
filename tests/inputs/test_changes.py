import pytest

from provisioner.errors import InputError
from provisioner.inputs.changes import find, merge, plain, put


def test_plain_copies_and_turns_tuples_into_lists():
    inner = {"x": (1, 2)}
    data = {"a": (inner, "t")}
    copy = plain(data)
    assert copy == {"a": [{"x": [1, 2]}, "t"]}
    copy["a"][0]["x"].append(3)
    assert inner == {"x": (1, 2)}


def test_merge_goes_as_deep_as_the_change():
    stored = {"a": 1, "cap": {"of": "x", "stretch": [{"factor": 1}, {"factor": 2}]}, "none": None}
    change = {"b": 2, "cap": {"stretch": {"1": {"factor": 3}}}, "none": {"x": 1}}
    assert merge(stored, change, "hardware.x") == {
        "a": 1,
        "b": 2,
        "cap": {"of": "x", "stretch": [{"factor": 1}, {"factor": 3}]},
        "none": {"x": 1},
    }
    assert stored["cap"]["stretch"][1] == {"factor": 2}
    assert merge([1, 2], [3], "x") == [3]
    with pytest.raises(
        InputError, match=r"hardware\.x\.cap\.stretch: unknown name or position '2'"
    ):
        merge(stored, {"cap": {"stretch": {"2": {}}}}, "hardware.x")


def test_items_are_found_by_the_longest_name_then_by_position():
    items = ["b200", {"name": "b200.v2"}, {"factor": 1}, "0"]
    assert find(items, ["b200", "v2", "x"], "k") == (1, 2)
    assert find(items, ["b200", "x"], "k") == (0, 1)
    assert find(items, ["2", "x"], "k") == (2, 1)
    assert find(items, ["0"], "k") == (3, 1)  # a name wins over a position
    for wrong in ("4", "-1", "²", "", "b20"):
        with pytest.raises(InputError, match=r"k: unknown name or position .*b200\.v2"):
            find(items, [wrong], "k")


def test_latency_limits_are_found_by_metric_and_percentile():
    items = [{"metric": "ttft", "percentile": p} for p in (90, 99.0, 99.9)]
    assert find(items, ["ttft", "p90", "at_most_s"], "k") == (0, 2)
    assert find(items, ["ttft", "p99", "at_most_s"], "k") == (1, 2)
    assert find(items, ["ttft", "p99", "9", "at_most_s"], "k") == (2, 3)
    with pytest.raises(InputError, match=r"allowed: ttft\.p90, ttft\.p99, ttft\.p99\.9"):
        find(items, ["ttft", "p50", "at_most_s"], "k")


def test_put_refuses_to_go_below_a_plain_value():
    with pytest.raises(InputError, match=r"a\.b\.c: there is nothing below 1"):
        put({"a": {"b": 1}}, ["a", "b", "c"], 2, "a.b.c", lambda key, value: value)
