import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.scenario import Scenario
from provisioner.domain.slo import Slo
from provisioner.errors import InputError
from provisioner.inputs.scenarios import parse_scenario
from provisioner.inputs.yaml_files import load, parse, read_mapping, read_record


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "row 3: .*key 'a' is given twice"),
        ("x:\n  - {a: 1, a: 2}\n", "row 2: .*key 'a' is given twice"),
        ("a: 1\n b: 2\n", "row 2: not valid YAML"),
        ("a: [1, 2\nb: 3\n", "row 2: not valid YAML"),
        ("a: 1\n\tb: 2\n", "row 2: not valid YAML"),
        ("a: *nowhere\n", "row 1: not valid YAML: found undefined alias"),
        ("a: 1\n---\nb: 2\n", "row 2: not valid YAML: but found another document"),
        ("a: !!python/object:os.system x\n", "row 1: not valid YAML: could not determine"),
        ("? [1, 2]\n: x\n", "row 1: not valid YAML: a key must be a single value"),
        ("<<: 3\n", "row 1: not valid YAML: '<<' needs a mapping"),
        ("a: \x00\n", "not valid YAML"),
        ("a: 2026-13-45\n", "not valid YAML"),
        ("a: !!int ''\n", "not valid YAML"),
        ("a: !!bool maybe\n", "not valid YAML"),
        ("a: !!timestamp soon\n", "not valid YAML"),
        ("a: " + "9" * 5000 + "\n", "not valid YAML"),
        ("[" * 2000, "not valid YAML: nested too deeply"),
        ("a: &a {b: *a}\n", "row 1: not valid YAML: found unconstructable recursive"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_what_is_no_yaml_is_refused_with_its_row(write, text, message):
    with pytest.raises(InputError, match=f"f.yaml: {message}"):
        read_mapping(write("f.yaml", text))


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "nothing"), ("[1, 2]", r"\[1, 2\]"), ("word", "'word'"), ("3", "3"), ("~", "nothing")],
)
def test_a_file_that_is_no_mapping_is_refused(write, text, found):
    with pytest.raises(InputError, match=f"a mapping of keys is needed, found {found}"):
        read_mapping(write("f.yaml", text))


def test_anchors_and_merged_keys(write):
    text = """
    base: &base {a: 1, b: 2}
    other: &other {b: 3, c: 4}
    one: {<<: *base, b: 5}
    both: {<<: [*base, *other]}
    list: [*base, *base]
    """
    data = read_mapping(write("f.yaml", text))
    assert data["one"] == {"a": 1, "b": 5}  # a mapping's own keys win
    assert data["both"] == {"a": 1, "b": 2, "c": 4}  # then those of the first
    assert data["list"] == [{"a": 1, "b": 2}] * 2


def bomb(line):
    """Nine levels, each nine times the one before: some 10^8 leaves in 20 lines."""
    rows = ["a0: &a0 {k: [x]}"]
    rows += [
        f"a{i}: &a{i} " + line.format(", ".join([f"*a{i - 1}"] * 9), i=i) for i in range(1, 10)
    ]
    return "\n".join(rows)


@pytest.mark.parametrize("line", ["[{}]", "{{<<: [{}], k{i}: 1}}"], ids=["aliases", "merges"])
def test_bombs_do_not_explode(write, line):
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 20 aliases"):
        read_mapping(write("bomb.yaml", bomb(line)))
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_a_record_is_named_as_its_file(write):
    limits = [{"metric": "ttft", "percentile": 50, "at_most_s": 1}]
    assert read_record(write("quick.yaml", {"name": "quick", "limits": limits}), Slo)
    with pytest.raises(InputError, match=r"slow\.yaml: name is 'quick', must be 'slow'"):
        read_record(write("slow.yaml", {"name": "quick", "limits": limits}), Slo)


def test_numbers_in_other_notations_are_numbers():
    # YAML 1.1 takes 4e5 for text.
    data = load("workloads: [{name: a, rate_per_s: 4e1}]\ngrowth: 1e-1", "f.yaml")
    read = parse(Scenario, data, "f.yaml")
    assert read.workloads[0].rate_per_s == 40
    assert read.growth == 0.1


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.text(), st.text(alphabet="{}[]:,-&*!<>?|#'\"\n \t0a=%@")))
def test_any_text_is_yaml_or_an_input_error(text):
    try:
        load(text, "f.yaml")
    except InputError as error:
        assert str(error).startswith("f.yaml: ")


@settings(deadline=None, max_examples=50)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_mapping_or_an_input_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "f.yaml"
    path.write_bytes(content)
    try:
        assert isinstance(read_mapping(path), dict)
    except InputError as error:
        assert str(error).startswith(str(path))


keys = st.one_of(st.sampled_from([*Scenario.model_fields]), st.text(max_size=5), st.none())
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["name", "limits", "metric", "<name>", "rate", "x", 3]), inner
        ),
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(keys, values, max_size=4))
def test_any_data_are_a_scenario_or_an_input_error(data):
    try:
        parse_scenario(data, "f.yaml")
    except InputError as error:
        assert all(line.startswith("f.yaml: ") for line in str(error).splitlines())


def test_aliases_of_aliases_are_refused_at_once():
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    with pytest.raises(InputError, match="not valid YAML: more than 20 aliases"):
        load(bomb, "scenario.yaml")


@pytest.mark.parametrize("text", ["010", "1:30", "-0_7", "1:30.5", "00"])
def test_numbers_in_other_bases_are_refused(text):
    with pytest.raises(InputError, match=f"{text} is no plain decimal number"):
        load(f"rate_per_s: {text}", "scenario.yaml")


@pytest.mark.parametrize(("text", "value"), [("10", 10), ("0", 0), ("0.5", 0.5), ("-3", -3)])
def test_plain_numbers_are_read(text, value):
    assert load(f"x: {text}", "scenario.yaml") == {"x": value}
