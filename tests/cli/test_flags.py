"""Flags to the keys of a scenario: each reaches its own field, and every field has one."""

import typing

import pytest
import typer.main
from pydantic import BaseModel

from provisioner.cli import app
from provisioner.cli.flags import scenario_changes
from provisioner.domain.scenario import Limits, Scenario, Simulation, WorkloadEntry
from provisioner.errors import InputError, UsageError
from provisioner.inputs.scenarios import parse_scenario

BASE = {
    "model": "bloom-176b",
    "workloads": [{"name": "azure-conv", "rate_per_s": 70}],
    "slo": "splitwise",
    "hardware": ["dgx-a100"],
    "minimize": "power",
    "limits": {"machines": 60, "available": {"dgx-a100": 5}},
    "simulation": {"seeds": 5},
    "spares": {"prompt": 3},
}
TRACED = {"workloads": [{"name": "chat", "trace": "a.csv"}]}
FIXED = {"workloads": [{"name": "mine", "prompt_tokens": 9, "output_tokens": 8, "rate_per_s": 7}]}

ONE_EACH = {
    "model": ("llama2-70b", "model", "llama2-70b"),
    "growth": ("1.5", "growth", 1.5),
    "slo": (["strict"], "slo", "strict"),
    "hardware": (["dgx-h100,dgx-a100"], "hardware", ("dgx-h100", "dgx-a100")),
    "tensor_parallel": (["4,8"], "tensor_parallel", (4, 8)),
    "prices": ("coreweave-2023", "prices", "coreweave-2023"),
    "designs": (["hybrid"], "designs", ("hybrid",)),
    "minimize": ("machines", "minimize", "machines"),
    "usd_per_hour": ("1500.5", "limits.usd_per_hour", 1500.5),
    "power_w": ("4e5", "limits.power_w", 400000.0),
    "machines": ("20", "limits.machines", 20),
    "rack_units": ("400", "limits.rack_units", 400.0),
    "available": (["dgx-a100=7"], "limits.available", {"dgx-a100": 7}),
    "existing": (["dgx-h100=2,dgx-a100=0"], "existing", {"dgx-h100": 2, "dgx-a100": 0}),
    "spares": (["prompt=1", "token=2"], "spares", {"prompt": 1, "token": 2}),
    "max_types_per_role": ("2", "max_types_per_role", 2),
    "scheduler": ("split", "scheduler", "split"),
    "router": ("plan-shares", "router", "plan-shares"),
    "duration_s": ("60", "simulation.duration_s", 60.0),
    "warmup_s": ("0", "simulation.warmup_s", 0.0),
    "seeds": ("1", "simulation.seeds", 1),
    "arrivals": ("replay", "simulation.arrivals", "replay"),
    "time_limit_s": ("5", "time_limit_s", 5.0),
    "rate": ("7.5", "workloads", ({"name": "azure-conv", "rate_per_s": 7.5},)),
}
NOT_OF_THE_SCENARIO = {"scenario", "changes", "out", "force", "as_json"}
ENTRY_FLAGS = {"name": "workload", "rate_per_s": "rate"}
"""Fields of a workload whose flag has another name."""


def plain(value):
    """Nested data of a scenario without what was not given."""
    if isinstance(value, BaseModel):
        return plain({key: item for key, item in value if item is not None})
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return tuple(map(plain, value)) if isinstance(value, (list, tuple)) else value


def flat(scenario):
    """Fields of a scenario by dotted key, one level deep."""
    fields = {}
    for key, value in plain(scenario).items():
        if key in {"limits", "simulation"}:
            fields |= {f"{key}.{name}": item for name, item in value.items()}
        else:
            fields[key] = value
    return fields


def scenario_of(base=BASE, **flags):
    return parse_scenario(scenario_changes(flags, base), "test")


def flags_of(command_name):
    command = typer.main.get_command(app).commands[command_name]
    return {param.name: param for param in command.params}


def nested(field):
    """The model of a field that is one, or a list of one."""
    kinds = [field.annotation, *typing.get_args(field.annotation)]
    models = [k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)]
    return models[0] if models else None


def test_every_field_of_a_scenario_has_a_flag():
    expected = set()
    for name, field in Scenario.model_fields.items():
        model = nested(field)
        if model is WorkloadEntry:
            expected |= {ENTRY_FLAGS.get(key, key) for key in model.model_fields}
        elif model in {Limits, Simulation}:
            expected |= set(model.model_fields)
        else:
            assert model is None, f"{name}: a new group of fields needs flags"
            expected.add(name)

    assert set(flags_of("plan")) - NOT_OF_THE_SCENARIO == expected


def test_every_flag_is_tried_here():
    elsewhere = {"maximize", "workload", "trace", "speedup", "prompt_tokens", "output_tokens"}

    assert set(ONE_EACH) | elsewhere == set(flags_of("plan")) - NOT_OF_THE_SCENARIO


def test_flags_are_written_as_the_keys():
    """Underscores become dashes; times may leave out their unit."""
    for name, param in flags_of("plan").items():
        if name in NOT_OF_THE_SCENARIO - {"out", "force"}:
            continue
        written = f"--{name.replace('_', '-')}"
        assert param.opts[:1] == [written.removesuffix("-s") if name.endswith("_s") else written]


@pytest.mark.parametrize("flag", ONE_EACH)
def test_a_flag_changes_its_field_and_no_other(flag):
    text, key, value = ONE_EACH[flag]
    before, after = flat(scenario_of()), flat(scenario_of(**{flag: text}))

    assert after == {**before, key: value}
    assert before.get(key) != value, "the example shows no change"


def test_without_flags_the_file_stands():
    assert scenario_changes(dict.fromkeys(ONE_EACH), BASE) == BASE


def test_flags_leave_the_files_data_alone():
    before = repr(BASE)
    for flag, (text, _, _) in ONE_EACH.items():
        scenario_changes({flag: text}, BASE)

    assert repr(BASE) == before


@pytest.mark.parametrize("goal", ["throughput", "throughput_per_usd", "throughput_per_watt"])
def test_maximize_takes_the_place_of_the_files_minimize(goal):
    scenario = scenario_of(maximize=goal)

    assert (scenario.minimize, scenario.maximize) == (None, goal)


def test_minimize_takes_the_place_of_the_files_maximize():
    base = {**BASE, "maximize": "throughput", "minimize": None}
    scenario = scenario_of(base, minimize="cost")

    assert (scenario.minimize, scenario.maximize) == ("cost", None)


def test_both_goals_at_once_are_refused():
    with pytest.raises(InputError, match="minimize or maximize, not both"):
        scenario_of(minimize="cost", maximize="throughput")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"workload": ["azure-code=3"]}, [{"name": "azure-code", "rate_per_s": "3"}]),
        ({"workload": ["azure-code"], "rate": "3"}, [{"name": "azure-code", "rate_per_s": "3"}]),
        (
            {"workload": ["azure-code=3", "azure-conv"]},
            [{"name": "azure-code", "rate_per_s": "3"}, {"name": "azure-conv"}],
        ),
        (
            {"workload": ["azure-code=3,azure-conv=4"]},
            [{"name": "azure-code", "rate_per_s": "3"}, {"name": "azure-conv", "rate_per_s": "4"}],
        ),
        ({"trace": ["b/My trace.csv.gz"]}, [{"name": "My-trace", "trace": "b/My trace.csv.gz"}]),
        (
            {"trace": ["a.csv"], "rate": "peak_60s"},
            [{"name": "a", "trace": "a.csv", "rate": "peak_60s"}],
        ),
        (
            {"trace": ["a.csv"], "speedup": "2"},
            [{"name": "a", "trace": "a.csv", "speedup": "2"}],
        ),
        (
            {"trace": ["a.csv", "b.csv"]},
            [{"name": "a", "trace": "a.csv"}, {"name": "b", "trace": "b.csv"}],
        ),
        ({"trace": ["..csv"]}, [{"name": "trace", "trace": "..csv"}]),
        (
            {"prompt_tokens": "5", "output_tokens": "6", "rate": "7"},
            [{"name": "fixed", "prompt_tokens": "5", "output_tokens": "6", "rate_per_s": "7"}],
        ),
    ],
)
def test_flags_that_state_workloads_take_the_place_of_the_files(flags, expected):
    assert scenario_changes(flags, BASE)["workloads"] == expected


@pytest.mark.parametrize(
    ("base", "flags", "expected"),
    [
        (TRACED, {"rate": "5"}, {"name": "chat", "trace": "a.csv", "rate_per_s": "5"}),
        (TRACED, {"rate": "peak_9s"}, {"name": "chat", "trace": "a.csv", "rate": "peak_9s"}),
        (TRACED, {"speedup": "2"}, {"name": "chat", "trace": "a.csv", "speedup": "2"}),
        (
            {"workloads": [{**TRACED["workloads"][0], "speedup": 3}]},
            {"rate": "5"},
            {"name": "chat", "trace": "a.csv", "rate_per_s": "5"},
        ),
        (
            {"workloads": [{**TRACED["workloads"][0], "rate_per_s": 3}]},
            {"speedup": "2"},
            {"name": "chat", "trace": "a.csv", "speedup": "2"},
        ),
        (
            TRACED,
            {"speedup": "2", "rate": "peak_9s"},
            {"name": "chat", "trace": "a.csv", "rate": "peak_9s", "speedup": "2"},
        ),
        (FIXED, {"prompt_tokens": "5"}, {**FIXED["workloads"][0], "prompt_tokens": "5"}),
        (
            FIXED,
            {"prompt_tokens": "5", "output_tokens": "6"},
            {**FIXED["workloads"][0], "prompt_tokens": "5", "output_tokens": "6"},
        ),
    ],
)
def test_flags_that_change_the_files_only_workload(base, flags, expected):
    assert scenario_changes(flags, base)["workloads"] == [expected]


@pytest.mark.parametrize(
    "flags",
    [
        {"workload": ["azure-conv"], "trace": ["a.csv"]},
        {"workload": ["azure-conv"], "prompt_tokens": "5", "output_tokens": "6"},
        {"trace": ["a.csv"], "prompt_tokens": "5", "output_tokens": "6"},
        {"workload": ["azure-conv", "azure-code"], "rate": "5"},
        {"workload": ["azure-conv", "azure-code"], "prompt_tokens": "5"},
        {"trace": ["a.csv", "b.csv"], "speedup": "2"},
        {"slo": ["strict", "interactive"]},
        {"slo": ["azure-conv=strict", "azure-conv=interactive"]},
    ],
)
@pytest.mark.parametrize("base", [BASE, FIXED], ids=["histogram", "fixed"])
def test_contradictory_flags_are_a_usage_error(flags, base):
    with pytest.raises(UsageError, match="--"):
        scenario_changes(flags, base)


def test_a_rate_does_not_tell_which_of_the_files_workloads_it_is_for():
    two = {"workloads": [{"name": "a"}, {"name": "b"}]}

    with pytest.raises(UsageError, match="--rate needs a single workload"):
        scenario_changes({"rate": "5"}, two)


@pytest.mark.parametrize("pace", ["rate", "speedup"])
def test_a_rate_is_not_stated_twice(pace):
    with pytest.raises(UsageError, match="NAME=RATE states the rate already"):
        scenario_changes({"workload": ["azure-conv=50"], pace: "70"}, {})


def test_an_slo_for_one_workload_leaves_the_others():
    two = {"workloads": [{"name": "a", "rate_per_s": 1}, {"name": "b", "rate_per_s": 1}]}
    changed = scenario_changes({"slo": ["b=strict", "interactive"]}, two)

    assert changed["slo"] == "interactive"
    assert [entry.get("slo") for entry in changed["workloads"]] == [None, "strict"]


def test_an_slo_that_no_workload_would_follow_is_a_usage_error():
    own = {"workloads": [{"name": "a", "slo": "strict"}]}

    with pytest.raises(UsageError, match="--slo changes nothing"):
        scenario_changes({"slo": ["interactive"]}, own)
    assert scenario_changes({"slo": ["a=interactive"]}, own)["workloads"][0]["slo"] == "interactive"


def test_an_slo_for_an_unknown_workload_names_the_nearest():
    with pytest.raises(InputError, match=r"--slo: unknown workload 'azure'.*azure-conv"):
        scenario_changes({"slo": ["azure=strict"]}, BASE)


@pytest.mark.parametrize(
    "base",
    [
        {"workloads": "azure-conv"},
        {"workloads": ["azure-conv"]},
        {"workloads": [{"name": ["a"]}]},
        {"workloads": None},
        {"workloads": [{"name": "azure-conv"}], "limits": 5},
        {"workloads": [{"name": "azure-conv"}], "limits": ["a"]},
        {"workloads": [{"name": "azure-conv"}], "simulation": "long"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "flags",
    [{"rate": "5"}, {"machines": "5"}, {"available": ["dgx-a100=1"]}, {"seeds": "2"}],
    ids=str,
)
def test_a_files_fault_is_told_whatever_the_flags(base, flags):
    """A key of the wrong kind is left as it is, for the validation to refuse."""
    with pytest.raises(InputError, match=r"test: (workloads|limits|simulation)"):
        parse_scenario(scenario_changes(flags, base), "test")


@pytest.mark.parametrize("flag", ["existing", "available", "spares"])
@pytest.mark.parametrize("text", ["", "dgx-a100", "dgx-a100=", "=3", "dgx-a100=1,", "=", ","])
def test_a_count_without_name_or_number_names_the_flag(flag, text):
    with pytest.raises(InputError, match=rf"--{flag}: NAME=COUNT is needed, found '"):
        scenario_changes({flag: [text]}, BASE)


def test_a_count_given_twice_is_refused():
    with pytest.raises(InputError, match="--existing: dgx-a100 is given twice"):
        scenario_changes({"existing": ["dgx-a100=1", "dgx-a100=2"]}, BASE)


def test_lists_may_be_repeated_or_separated_by_commas():
    apart = scenario_changes({"hardware": ["dgx-a100", "dgx-h100"]}, BASE)
    together = scenario_changes({"hardware": ["dgx-a100, dgx-h100"]}, BASE)

    assert apart == together
    assert apart["hardware"] == ["dgx-a100", "dgx-h100"]


def test_tensor_parallel_is_auto_or_sizes():
    assert scenario_of(tensor_parallel=["auto"]).tensor_parallel == "auto"
    assert scenario_of(tensor_parallel=["2", "4"]).tensor_parallel == (2, 4)
    for text in ("atuo", "2,x", "", "-2", "2.5", "auto,2"):
        with pytest.raises(InputError, match="--tensor-parallel: auto or whole numbers"):
            scenario_changes({"tensor_parallel": [text]}, BASE)


def test_a_change_goes_before_a_flag_and_a_flag_before_the_file(provisioner, small, here):
    (here / "mine.yaml").write_text(
        "workloads: [{name: mine, prompt_tokens: 500, output_tokens: 50, rate_per_s: 2}]\n"
        "hardware: [dgx-h100]\ndesigns: [mixed]\n"
        "maximize: throughput\nlimits: {machines: 2}\n"
    )
    flag = ("--minimize", "power")
    change = ("--set", "minimize=machines")
    objectives = [
        provisioner("plan", "mine.yaml", *more, "--json").json["objective"]
        for more in ((), flag, (*flag, *change), (*change, *flag))
    ]

    assert objectives == ["throughput", "power", "machines", "machines"]


def test_of_two_changes_of_one_key_the_last_counts(provisioner, small):
    changes = ("--set", "minimize=machines", "--set", "minimize=power")

    assert provisioner("plan", *small, *changes, "--json").json["objective"] == "power"
