import csv
import io
import math

import pytest
import yaml

from provisioner.domain.base import Quality
from provisioner.domain.machine import Machine
from provisioner.domain.scenario import Override
from provisioner.errors import InputError
from provisioner.inputs import hardware
from provisioner.inputs.hardware import (
    OPTIONAL_POINT_COLUMNS,
    POINT_COLUMNS,
    POWER_COLUMNS,
    price_machines,
    read_machine,
    read_model,
    read_price_list,
    read_profiles,
    read_slo,
    with_budgets,
)

PROMPT = {
    "phase": "prompt",
    "tensor_parallel": 2,
    "prompt_tokens": 100,
    "batch": 1,
    "time_s": 0.2,
    "runs": 3,
    "repeats_s": "0.1;0.2;0.4",
    "quality": "measured",
    "source": "made up",
}
TOKEN = {**PROMPT, "phase": "token", "output_tokens": 12, "generated_tokens": 10}
POWER = [
    {"model": "any", "tensor_parallel": "any", "phase": phase, "load": load, "power_w": watts}
    | {"quality": "estimated", "source": "made up"}
    for phase, load, watts in (("prompt", 100, 300), ("token", 1, 100), ("token", 8, 200))
]


def table(columns, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@pytest.fixture
def profiles(here, write):
    """Read a made-up profile of the model 'tiny' on the accelerator 'card'."""

    def read(points=(PROMPT, TOKEN), power=tuple(POWER)):
        write(
            "hardware_profiles/points/tiny/card.csv",
            table((*POINT_COLUMNS, *OPTIONAL_POINT_COLUMNS), points),
        )
        write("hardware_profiles/power/card.csv", table(POWER_COLUMNS, power))
        return read_profiles("tiny", "card")

    return read


@pytest.fixture
def machine_file(here, write):
    """Store a machine type 'mine' in the working directory: the DGX A100 with changes."""

    def store(**changes):
        stored = read_machine("dgx-a100").model_dump(mode="json")
        data = {**stored, "name": "mine", **changes}
        write("hardware_profiles/machines/mine.yaml", data)
        return read_machine("mine", "hardware")

    return store


# What is built in.


def test_everything_built_in_can_be_read(repository, monkeypatch):
    monkeypatch.chdir(repository)
    accelerators = {read_machine(name).accelerator for name in hardware.machine_names()}
    for name in hardware.price_list_names():
        assert read_price_list(name).currency == "USD"
    for model in hardware.model_names():
        assert read_model(model).kv_bytes_per_token > 0
        for accelerator in hardware.profiled_accelerators(model):
            assert accelerator in accelerators
            assert read_profiles(model, accelerator)


def test_every_figure_of_a_built_in_machine_has_a_source():
    for name in hardware.machine_names():
        machine = read_machine(name)
        figures = {
            key
            for key, value in machine.model_dump().items()
            if isinstance(value, float) or key == "accelerators"
        }
        assert figures == set(machine.sources)


# Machines and models.


def test_an_override_changes_only_its_fields():
    stored = read_machine("dgx-h100-cap70")
    override = {"usd_per_hour": 30, "cap": {"stretch": {"0": {"factor": 1.5}}}}
    changed = read_machine(Override(name="dgx-h100-cap70", **override), "hardware")
    assert changed.usd_per_hour == 30
    assert [point.factor for point in changed.cap.stretch] == [1.5, 1.0]
    back = {"usd_per_hour": None, "cap": stored.cap}
    assert changed.model_copy(update=back) == stored
    assert read_model(Override(name="bloom-176b", layers=3)).layers == 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"usd_per_hr": 3}, "unknown key 'usd_per_hr'; did you mean 'usd_per_hour'?"),
        ({"usd_per_hour": -1}, "usd_per_hour: must be at least 0, found -1"),
        ({"accelerators": 0}, "accelerators: must be above 0, found 0"),
        ({"rack_units": "eight"}, "rack_units: a number is needed, found 'eight'"),
        ({"hardware": "dgx-h200"}, "cap.of is 'dgx-h100', must be the hardware 'dgx-h200'"),
        ({"cap": {"stretch": {"9": {}}}}, "cap.stretch: unknown name or position '9'"),
        ({"cap": {"stretch": {"0": {"factor": 0.5}}}}, "cap.stretch.0.factor: must be at least 1"),
        ({"cap": {"stretch": []}}, "cap.stretch: at least 1 is needed"),
        ({"sources": {"rack_units": {"source": ""}}}, "sources.rack_units.source: must not be em"),
        ({"accelerator_memory_bytes": 80}, "accelerator_memory_bytes: 80 cannot be bytes; check"),
        ({"network_bytes_per_s": 400}, "network_bytes_per_s: 400 cannot be bytes per second"),
        ({"host_link_bytes_per_s": 25}, "host_link_bytes_per_s: 25 cannot be bytes per second"),
        ({"transfer_floor_s": 50}, "transfer_floor_s: 50 cannot be seconds; check the unit"),
        ({"provisioned_power_w": 7.14}, r"provisioned_power_w: 7\.14 W is less than the machine "),
    ],
)
def test_a_wrong_override_is_refused_where_it_was_made(override, message):
    with pytest.raises(InputError, match=rf"hardware\.dgx-h100-cap70\.?.*{message}"):
        read_machine(Override(name="dgx-h100-cap70", **override), "hardware")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "other"}, r"mine\.yaml: name is 'other', must be 'mine'"),
        ({"accelerator_memory_bytes": 80}, r"mine\.yaml: accelerator_memory_bytes: 80 cannot be"),
        ({"network_bytes_per_s": math.inf}, r"mine\.yaml: network_bytes_per_s: a finite number"),
        ({"sources": None}, r"mine\.yaml: sources: a mapping of names"),
        ({"power_w": 3}, r"mine\.yaml: unknown key 'power_w'"),
    ],
)
def test_a_wrong_machine_file_is_refused(machine_file, changes, message):
    assert machine_file().hardware == "dgx-a100"
    with pytest.raises(InputError, match=message):
        machine_file(**changes)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"weight_bytes": 352}, "weight_bytes: 352 cannot be bytes; check the unit"),
        ({"bytes_per_value": 16}, "bytes_per_value: 16 cannot be bytes, not bits; check the"),
        ({"layer": 3}, "unknown key 'layer'; did you mean 'layers'?"),
    ],
)
def test_a_wrong_model_is_refused(override, message):
    with pytest.raises(InputError, match=rf"model\.bloom-176b: {message}"):
        read_model(Override(name="bloom-176b", **override), "model")


@pytest.mark.parametrize(
    ("read", "name", "message"),
    [
        (read_machine, "dgx-h10", "k: unknown machine type 'dgx-h10'; did you mean 'dgx-h100'?"),
        (read_model, "bloom", "k: unknown model 'bloom'; did you mean 'bloom-176b'?"),
        (read_price_list, "aws-2025", "k: unknown price list 'aws-2025'; did you mean 'aws-2026"),
        (read_slo, "Strikt", "k: unknown SLO 'Strikt'; did you mean 'strict'?"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(read, name, message):
    with pytest.raises(InputError, match=message):
        read(name, "k")


# Prices.


def test_a_machine_keeps_the_rent_that_it_states(machine_file):
    machines = (read_machine("dgx-a100"), machine_file(usd_per_hour=0))
    priced = price_machines(machines, read_price_list("aws-2026-11"))
    assert [machine.usd_per_hour for machine in priced] == [27.45, 0]


def test_a_capped_machine_costs_what_its_hardware_costs():
    prices = read_price_list("aws-2026-11")
    capped, whole = price_machines(
        (read_machine("dgx-h100-cap70"), read_machine("dgx-h100")), prices
    )
    assert capped.usd_per_hour == whole.usd_per_hour == 55.04


def test_power_budgets_of_a_list_take_the_place_of_the_machines_own():
    """Of 44 units for an H100 server, an A100 server has 24.8 and a capped one 30.8."""
    prices = read_price_list("splitwise-paper")
    names = ("dgx-a100", "dgx-h100", "dgx-h100-cap70")
    machines = with_budgets(tuple(map(read_machine, names)), prices, names)
    a100, h100, capped = (machine.provisioned_power_w for machine in machines)
    assert a100 / h100 == pytest.approx(24.8 / 44, rel=1e-6)
    assert capped / h100 == pytest.approx(30.8 / 44)
    assert "24.8 of 44" in machines[0].origins["provisioned_power_w"].source
    assert 40 * h100 // a100 == 70  # the paper's counts at equal power
    rents = [machine.price_usd_per_hour for machine in price_machines(machines, prices)]
    assert 40 * rents[1] // rents[0] == 86  # and at equal cost


def test_power_that_a_scenario_states_stays():
    entry = Override(name="dgx-a100", provisioned_power_w=6000.0)
    (machine,) = with_budgets((read_machine(entry),), read_price_list("splitwise-paper"), [entry])
    assert machine.provisioned_power_w == 6000
    other = read_price_list("aws-2026-11")
    assert with_budgets((machine,), other, ["dgx-a100"]) == (machine,)


def test_a_list_without_a_price_is_refused(machine_file):
    machine = machine_file(hardware="dgx-b200")
    with pytest.raises(InputError, match=r"'aws-2026-11' has no price for mine \(it has dgx-a100"):
        price_machines((machine,), read_price_list("aws-2026-11"))


def test_prices_in_another_currency_are_refused(here, write):
    stored = read_price_list("aws-2026-11").model_dump(mode="json")
    write("hardware_profiles/prices/eur.yaml", {**stored, "name": "eur", "currency": "EUR"})
    with pytest.raises(InputError, match=r"eur\.yaml: currency: unknown value 'EUR' .*USD"):
        read_price_list("eur")


# Profiles.


def test_a_profile_as_written(profiles):
    other = {**TOKEN, "tensor_parallel": 4}
    dropped = {**PROMPT, "batch": 2, "dropped": "corrupt", "repeats_s": "", "time_s": "?"}
    found = profiles([TOKEN, PROMPT, dropped, other, {**PROMPT, "tensor_parallel": 4}])
    assert list(found) == [2, 4]
    profile = found[2]
    assert profile.name == "tiny/card/tp2"
    assert profile.prompt[0].time_s == 0.2
    assert profile.prompt[0].repeats_s == (0.1, 0.2, 0.4)
    assert profile.prompt[0].quality is Quality.MEASURED
    assert profile.token[0].kv_tokens == 105
    assert profile.dropped == ("prompt tp2 prompt 100 x batch 2: corrupt",)
    assert found[4].dropped == ()
    assert [(point.load, point.power_w) for point in profile.token_power] == [(1, 100), (8, 200)]


def test_power_of_the_model_and_size_comes_before_that_of_any(profiles):
    own = [{**row, "model": "tiny", "tensor_parallel": 2, "power_w": 7} for row in POWER[1:2]]
    found = profiles([PROMPT, TOKEN], [*reversed(POWER), *own])
    assert [(point.load, point.power_w) for point in found[2].token_power] == [(1, 7)]
    assert [point.power_w for point in found[2].prompt_power] == [300]
    others = [{**own[0], "model": "big"}, {**own[0], "tensor_parallel": 4}]
    found = profiles([PROMPT, TOKEN], [*reversed(POWER), *others])
    assert [point.load for point in found[2].token_power] == [1, 8]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_s": 2e-5}, "row 2: time_s: seconds, of at least 0.0001, are needed"),
        ({"time_s": 0.3}, "row 2: time_s: the median of repeats_s is 0.2, found '0.3'"),
        ({"repeats_s": "0.2"}, "row 2: runs: repeats_s has 1 values, found '3'"),
        ({"repeats_s": "0.1;x;0.4"}, "row 2: repeats_s: a number is needed, found 'x'"),
        ({"repeats_s": "0.1;;0.4"}, "row 2: repeats_s: a number is needed, found ''"),
        ({"repeats_s": "0.1;-0.2;0.4"}, "row 2: repeats_s: a finite number of at least 0"),
        ({"time_s": "nan"}, "row 2: time_s: a finite number of at least 0 is needed"),
        ({"time_s": 0}, "row 2: time_s: a number above 0 is needed"),
        ({"runs": 0}, "row 2: runs: a whole number of at least 1"),
        ({"runs": "x", "repeats_s": ""}, "row 2: runs: a number is needed, found 'x'"),
        ({"generated_tokens": "abc"}, "row 2: generated_tokens: a number is needed, found 'abc'"),
        ({"generated_tokens": 0}, "row 2: generated_tokens: a whole number of at least 1"),
        ({"batch": 1.5}, "row 2: batch: a whole number is needed, found '1.5'"),
        ({"prompt_tokens": -5}, "row 2: prompt_tokens: a whole number of at least 1"),
        ({"prompt_tokens": ""}, "row 2: prompt_tokens: a number is needed"),
        ({"tensor_parallel": "any"}, "row 2: tensor_parallel: a number is needed, found 'any'"),
        ({"phase": "prefill"}, "row 2: phase: one of prompt, token is needed, found 'prefill'"),
        ({"quality": "good"}, "row 2: quality: one of measured, published, synthetic, estimated"),
        ({"source": " "}, "row 2: source: text is needed, found ' '"),
    ],
)
@pytest.mark.parametrize("phase", [PROMPT, TOKEN])
def test_a_wrong_point_is_refused(profiles, phase, change, message):
    other = TOKEN if phase is PROMPT else PROMPT
    with pytest.raises(InputError, match=rf"tiny/card\.csv: {message}"):
        profiles([{**phase, **change}, other])


def test_points_given_twice_or_of_one_phase_are_refused(profiles):
    with pytest.raises(InputError, match=r"card\.csv: row 4: the cell of row 2 again"):
        profiles([PROMPT, TOKEN, {**PROMPT, "batch": "1.0"}])
    with pytest.raises(InputError, match="tensor_parallel 2 needs points of both phases"):
        profiles([PROMPT])
    with pytest.raises(InputError, match="tensor_parallel 2 needs points of both phases"):
        profiles([PROMPT, {**TOKEN, "dropped": "corrupt"}])
    with pytest.raises(InputError, match=r"card\.csv: no rows"):
        profiles([])


def test_token_times_in_milliseconds_are_refused(profiles):
    in_ms = {**TOKEN, "time_s": 47, "runs": 1, "repeats_s": "47"}
    with pytest.raises(InputError, match="row 3: time_s: seconds of one token iteration are need"):
        profiles([PROMPT, in_ms])


@pytest.mark.parametrize(
    ("power", "message"),
    [
        (POWER[1:], "no prompt power for tiny tp2 or any model"),
        (POWER[:1], "no token power for tiny tp2 or any model"),
        ([*POWER, {**POWER[1], "power_w": 120}], "row 3: load: each load must be given once"),
        ([*POWER[:2], {**POWER[2], "power_w": 0}], "row 4: power_w: a number above 0"),
        ([*POWER[:2], {**POWER[2], "load": "inf"}], "row 4: load: a finite number"),
        ([*POWER, {**POWER[1], "model": "big", "load": "x"}], "row 5: load: a number is needed"),
        ([*POWER, {**POWER[1], "phase": "mixed"}], "row 5: phase: one of prompt, token"),
        ([], "no rows"),
    ],
)
def test_wrong_power_is_refused(profiles, power, message):
    with pytest.raises(InputError, match=rf"power/card\.csv: {message}"):
        profiles(power=power)


def test_a_missing_profile_is_refused(here, write):
    with pytest.raises(InputError, match=r"^slo: no measured points of bloom-176b on card \(measu"):
        read_profiles("bloom-176b", "card", "slo")
    with pytest.raises(InputError, match=r"no measured points of tiny on card \(measured: none\)"):
        read_profiles("tiny", "card")
    write(
        "hardware_profiles/points/tiny/card.csv",
        table((*POINT_COLUMNS, *OPTIONAL_POINT_COLUMNS), [PROMPT, TOKEN]),
    )
    with pytest.raises(InputError, match="no power of tiny on card"):
        read_profiles("tiny", "card")


# SLOs.


def test_an_slo_of_ones_own(here, write):
    text = "name: mine\nlimits: [{metric: e2e, percentile: 95, at_most_s: 3}]\n"
    write("workloads/slos/mine.yaml", text)
    assert read_slo("mine").limits[0].label == "e2e p95"
    write("workloads/slos/mine.yaml", text.replace("95", "0.95"))
    with pytest.raises(InputError, match=r"mine\.yaml: limits\.0\.percentile: must be at least 1"):
        read_slo("mine")


def test_machines_are_the_same_after_a_round_trip(here, write):
    for name in hardware.machine_names():
        machine = read_machine(name)
        text = yaml.safe_dump(machine.model_dump(mode="json"))
        assert Machine.model_validate(yaml.safe_load(text)) == machine
