"""Every message names file, key, what was found and what is allowed, in words of our own."""

import datetime

import pytest

from provisioner.domain.machine import Machine, PriceList
from provisioner.domain.model import Model
from provisioner.domain.scenario import Scenario
from provisioner.domain.slo import Slo
from provisioner.errors import InputError
from provisioner.inputs.explain import describe
from provisioner.inputs.yaml_files import parse

JARGON = ("Input should", "valid ", "type=", "pydantic", "dict", "tuple", "literal", "<record>")
WORKLOAD = {"name": "a", "rate_per_s": 1}


def problems(data, kind=Scenario):
    with pytest.raises(InputError) as caught:
        parse(kind, data, "f.yaml")
    text = str(caught.value)
    assert not any(word in text for word in JARGON), text
    lines = text.splitlines()
    assert all(line.startswith("f.yaml: ") for line in lines)
    return [line.removeprefix("f.yaml: ") for line in lines]


def scenario_problem(**fields):
    found = problems({"workloads": [WORKLOAD], **fields})
    assert len(found) == 1, found
    return found[0]


FIXED = {"rate_per_s": None, "prompt_tokens": 3, "output_tokens": 3}


def workload_problem(**fields):
    return scenario_problem(workloads=[{**WORKLOAD, **fields}])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"modle": "x"}, "unknown key 'modle'; did you mean 'model'? (allowed: model, workloads"),
        (
            {"limits": {"usd_per_hr": 1}},
            "unknown key 'limits.usd_per_hr'; did you mean 'usd_per_hour'? (allowed: usd_per_hour",
        ),
        (
            {"workloads": [{**WORKLOAD, "rate_per_sec": 70}]},
            "unknown key 'workloads.0.rate_per_sec'; did you mean 'rate_per_s'? (allowed: name",
        ),
        (
            {"workloads": [{**WORKLOAD, "qps": 70}]},
            "unknown key 'workloads.0.qps'; did you mean 'rate_per_s'?",
        ),
        (
            {"workloads": [{**WORKLOAD, "slo": {"name": "x", "limit": [], "limits": "no"}}]},
            "unknown key 'workloads.0.slo.limit'; did you mean 'limits'?",
        ),
        (
            {"slo": [{"metric": "tbt", "percentile": 9, "at_most_s": 1, "at_most_sec": 2}]},
            "unknown key 'slo.limits.0.at_most_sec'; did you mean 'at_most_s'?",
        ),
        ({"simulation": {"seed": 1}}, "unknown key 'simulation.seed'; did you mean 'seeds'?"),
        ({"spares": {"promt": 1}}, "unknown key 'spares.promt'; did you mean 'prompt'? (allowed:"),
        ({"spares": {"decode": 1}}, "unknown key 'spares.decode'; did you mean 'token'?"),
        ({"qwertz": 1}, "unknown key 'qwertz' (allowed: model,"),
    ],
)
def test_an_unknown_key_comes_with_the_nearest_at_every_level(fields, message):
    assert any(found.startswith(message) for found in problems({"workloads": [WORKLOAD], **fields}))


@pytest.mark.parametrize("key", ["<record>", "<name>", "[key]"])
def test_a_key_that_looks_like_the_marks_in_errors_is_named_too(key):
    for data, place in (({key: 1}, key), ({"limits": {key: 1}}, f"limits.{key}")):
        with pytest.raises(InputError) as caught:
            parse(Scenario, {"workloads": [WORKLOAD], **data}, "f.yaml")
        assert f"unknown key {place!r}" in str(caught.value)
    found = problems({"workloads": [WORKLOAD], "existing": {"[key]": -1}})
    assert found[-1] == "existing.[key]: must be at least 0, found -1"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"designs": ["splt"]}, "designs.0: unknown value 'splt'; did you mean 'split'? (allowed:"),
        ({"designs": "mixd"}, "designs.0: unknown value 'mixd'; did you mean 'mixed'?"),
        (
            {"designs": "disaggregated"},
            "designs.0: unknown value 'disaggregated'; did you mean 'sp",
        ),
        ({"minimize": "cots"}, "minimize: unknown value 'cots'; did you mean 'cost'? (allowed: c"),
        ({"minimize": 3}, "minimize: unknown value 3 (allowed: cost"),
        ({"scheduler": None}, "scheduler: unknown value nothing (allowed: auto"),
        (
            {"router": "Expected-Finish"},
            "router: unknown value 'Expected-Finish'; did you mean 'ex",
        ),
        ({"tensor_parallel": "auot"}, "tensor_parallel: unknown value 'auot'; did you mean 'auto'"),
        ({"tensor_parallel": 8.5}, "tensor_parallel.0: a whole number is needed, found 8.5"),
        ({"tensor_parallel": [8, 0]}, "tensor_parallel.1: must be above 0, found 0"),
        ({"tensor_parallel": True}, "tensor_parallel.0: a number is needed, not true or false"),
        ({"tensor_parallel": []}, "tensor_parallel: at least 1 is needed, found []"),
        (
            {"tensor_parallel": None},
            "tensor_parallel: auto, a number or a list is needed, found no",
        ),
        ({"tensor_parallel": [4, 4]}, "tensor_parallel: 4 is given twice"),
        ({"hardware": []}, "hardware: at least 1 is needed, found []"),
        ({"hardware": [3]}, "hardware.0: a name or a mapping of keys is needed, found 3"),
        ({"hardware": [{"usd_per_hour": 1}]}, "hardware.0.name is missing"),
        ({"hardware": ["a b"]}, "hardware.0: a letter or digit, then letters, digits, '.', '_' an"),
        ({"hardware": ["a", "a"]}, "hardware: a is given twice"),
        ({"designs": ["split", "split"]}, "designs: split is given twice"),
        ({"model": 3}, "model: a name or a mapping of keys is needed, found 3"),
        ({"model": ""}, "model: a letter or digit, then"),
        ({"model": "m" * 101}, "model: at most 100 characters are needed, found 'mmm"),
        ({"slo": 5}, "slo: a name, a list of limits or a mapping of keys is needed, found 5"),
        ({"slo": []}, "slo.limits: at least 1 is needed, found []"),
        ({"prices": 2026}, "prices: text is needed; put quotes around it, found 2026"),
        ({"growth": "fast"}, "growth: a number is needed, found 'fast'"),
        ({"prices": "\udcff"}, r"prices: text of whole characters is needed, found '\udcff'"),
        ({"existing": {"\udcff": 1}}, "existing.\ufffd\ufffd\ufffd: text of whole characters"),
        ({"growth": True}, "growth: a number is needed, not true or false, found True"),
        ({"growth": 0}, "growth: must be above 0, found 0"),
        ({"growth": float("nan")}, "growth: a finite number is needed, found nan"),
        ({"growth": float("inf")}, "growth: a finite number is needed, found inf"),
        ({"growth": 1e19}, "growth: must be at most 1e+18, found 1e+19"),
        ({"growth": 16**9000}, "growth: a number is needed, found an enormous number"),
        ({"time_limit_s": -1}, "time_limit_s: must be above 0, found -1"),
        ({"limits": {"power_w": 0}}, "limits.power_w: must be above 0, found 0"),
        ({"limits": {"machines": 1.5}}, "limits.machines: a whole number is needed, found 1.5"),
        ({"limits": {"machines": 10**10}}, "limits.machines: must be at most 1e+09"),
        ({"limits": [1]}, "limits: a mapping of keys is needed, found [1]"),
        ({"limits": {"available": {"x": -1}}}, "limits.available.x: must be at least 0, found -1"),
        ({"limits": {"available": {"a b": 1}}}, "limits.available.a b: a letter or digit, then"),
        ({"existing": [1]}, "existing: a mapping of names to numbers is needed, found [1]"),
        ({"simulation": {"warmup_s": 120}}, "simulation: warmup_s must be shorter than duration_s"),
        ({"simulation": {"seeds": "many"}}, "simulation.seeds: a whole number is needed, found 'm"),
        ({"minimize": "cost", "maximize": "throughput"}, "give minimize or maximize, not both"),
        ({"maximize": "throughput"}, "maximize throughput has no maximum without a limit: give a"),
        ({"workloads": []}, "workloads: at least 1 is needed, found []"),
        ({"workloads": "azure-conv"}, "workloads: a list is needed, found 'azure-conv'"),
        ({"workloads": ["azure-conv"]}, "workloads.0: a mapping of keys is needed, found 'azure-"),
        ({"workloads": [WORKLOAD, WORKLOAD]}, "workloads: a is given twice"),
    ],
)
def test_a_wrong_value_of_a_scenario(fields, message):
    assert scenario_problem(**fields).startswith(message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 2024}, "workloads.0.name: text is needed; put quotes around it, found 2024"),
        ({"name": "../x"}, "workloads.0.name: a letter or digit, then letters"),
        ({"rate_per_s": 0}, "workloads.0.rate_per_s: must be above 0, found 0"),
        (
            {"trace": "t", "rate": 70},
            "workloads.0.rate: peak_<seconds>s is needed, such as peak_60",
        ),
        ({"trace": "t", "rate": "peak_0s"}, "workloads.0.rate: peak_<seconds>s is needed"),
        ({"trace": ""}, "workloads.0.trace: must not be empty"),
        ({"prompt_tokens": 3}, "workloads.0: prompt_tokens and output_tokens go together"),
        (
            {"prompt_tokens": 2**25, "output_tokens": 1},
            "workloads.0.prompt_tokens: must be at most",
        ),
        ({"trace": "t", "prompt_tokens": 1, "output_tokens": 1}, "workloads.0: give a trace or f"),
        ({"trace": "t", "speedup": 2}, "workloads.0: give rate_per_s, or rate and speedup, not b"),
        ({**FIXED, "speedup": 2}, "workloads.0: fixed lengths have no rate of t"),
    ],
)
def test_a_wrong_value_of_a_workload(fields, message):
    assert workload_problem(**fields).startswith(message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"metric": "tpot"},
            "limits.0.metric: unknown value 'tpot'; did you mean 'tbt'? (allowed:",
        ),
        ({"percentile": 0.99}, "limits.0.percentile: must be at least 1, found 0.99"),
        ({"percentile": 100}, "limits.0.percentile: must be below 100, found 100"),
        ({"percentile": True}, "limits.0.percentile: a number is needed, not true"),
        ({"at_most_slowdown": 2}, "limits.0: give exactly one of at_most_s and at_most_slowdown"),
        ({"at_most_s": None}, "limits.0: give exactly one of at_most_s and at_most_slowdown"),
        ({"at_most_s": 0}, "limits.0.at_most_s: must be above 0, found 0"),
    ],
)
def test_a_wrong_limit_of_an_slo(fields, message):
    limit = {"metric": "ttft", "percentile": 50, "at_most_s": 1, **fields}
    (found,) = problems({"name": "x", "limits": [limit]}, Slo)
    assert found.startswith(message)


def test_a_limit_given_twice():
    limit = {"metric": "ttft", "percentile": 50, "at_most_s": 1}
    assert problems({"name": "x", "limits": [limit, {**limit, "at_most_s": 2}]}, Slo) == [
        "ttft p50 [s] is limited twice"
    ]
    relative = {"metric": "ttft", "percentile": 50, "at_most_slowdown": 2}
    assert parse(Slo, {"name": "x", "limits": [limit, relative]}, "f.yaml").is_relative


PRICE = {
    "hardware": "dgx-a100",
    "usd_per_hour": 1.0,
    "sku": "x",
    "source": "made up",
    "date": "2026",
    "certainty": "L",
}


@pytest.mark.parametrize(
    ("of_list", "of_price", "message"),
    [
        ({"currency": "EUR"}, {}, "currency: unknown value 'EUR' (allowed: USD)"),
        ({"date": "soon"}, {}, "date: a date such as 2026-11-09, 2026-11 or 2026 is needed, fou"),
        ({"date": "2026-13"}, {}, "date: a date such as"),
        ({"prices": []}, {}, "prices: at least 1 is needed"),
        ({"prices": [PRICE, PRICE]}, {}, "prices: dgx-a100 is given twice"),
        ({}, {"usd_per_hour": 0}, "prices.0.usd_per_hour: must be above 0"),
        ({}, {"certainty": "sure"}, "prices.0.certainty: unknown value 'sure' (allowed: H, M, L)"),
        ({}, {"source": ""}, "prices.0.source: must not be empty"),
        ({}, {"hardware": None}, "prices.0.hardware: text is needed, found nothing"),
    ],
)
def test_a_wrong_price_list(of_list, of_price, message):
    data = {"name": "p", "date": "2026-11-09", "currency": "USD", "prices": [{**PRICE, **of_price}]}
    (found,) = problems({**data, **of_list}, PriceList)
    assert found.startswith(message)


def test_dates_may_be_written_without_quotes():
    data = {"name": "p", "currency": "USD", "prices": [{**PRICE, "date": 2026}]}
    prices = parse(PriceList, {**data, "date": datetime.date(2026, 11, 9)}, "f.yaml")
    assert (prices.date, prices.prices[0].date) == ("2026-11-09", "2026")


def test_everything_that_is_wrong_is_named_at_once():
    found = problems(
        {
            "workloads": [{"name": "a", "rate_per_s": -1, "rat": 1}, {"rate_per_s": 1}],
            "designs": ["splt"],
            "limits": {"usd_per_hr": 1, "power_w": "much"},
            3: 4,
        }
    )
    assert [line.split(":")[0].split(" is ")[0].split(";")[0] for line in found] == [
        "workloads.0.rate_per_s",
        "unknown key 'workloads.0.rat'",
        "workloads.1.name",
        "designs.0",
        "limits.power_w",
        "unknown key 'limits.usd_per_hr'",
        "3",
    ]
    assert found[-1] == "3: keys must be text; put quotes around this one"


@pytest.mark.parametrize("kind", [Scenario, Slo, Machine, Model, PriceList])
def test_no_kind_of_wrong_value_is_explained_in_jargon(kind):
    # Each field of each record gets a value of each type; whatever pydantic says has our words.
    values = [None, True, 0, -1, 2.5, 1e300, "x y", "", b"x", [], [1], {}, {"x": 1}, {1: 2}]
    values += [
        datetime.date(2026, 1, 1),
        "\udcff",
        float("nan"),
        10**400,
        {"a"},
        [[]],
        [{}],
        [None],
        object(),
    ]
    for value in values:
        for name in kind.model_fields:
            assert problems({name: value, "no-such-field": 1}, kind)


def test_what_was_found_is_described_briefly():
    assert describe(None) == "nothing"
    assert describe("x") == "'x'"
    deep = "x"
    for _ in range(40):
        deep = [deep] * 9
    for value in ("x" * 10**7, [1] * 10**6, 16**9000, deep, {"a": deep}, object()):
        assert len(describe(value)) <= 60
