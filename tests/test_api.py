"""The library as promised in DESIGN 7.4: it answers, and neither prints nor exits."""

import dataclasses

import pandas as pd
import pydantic
import pytest

import provisioner as pv
from provisioner.domain.result import MetricValue, SloVerdict

FIXED = {"name": "fixed", "prompt_tokens": 500, "output_tokens": 50, "rate_per_s": 2.0}


def small(**fields):
    """A question that is answered in a fraction of a second by one mixed pool."""
    return pv.Scenario(
        **{"workloads": [FIXED], "hardware": "dgx-h100", "designs": "mixed"} | fields
    )


@pytest.fixture(scope="module")
def outcome():
    """One answer, to be looked at from every side."""
    return pv.plan(small())


@pytest.fixture(scope="module")
def nothing():
    """An answer without a plan: one machine does not serve 200 requests/s."""
    busy = {**FIXED, "rate_per_s": 200.0}
    return pv.plan(small(workloads=[busy], limits={"machines": 1}))


def test_an_outcome_is_a_plan_with_its_verdict(outcome):
    assert outcome.status == "ok"
    assert outcome.plan.machines == sum(pool.machines for pool in outcome.plan.pools) >= 1
    assert isinstance(outcome.slo, SloVerdict)
    assert all(isinstance(metric, MetricValue) for metric in outcome.slo.metrics)
    assert outcome.reasons == ()
    assert isinstance(outcome.proved, bool)
    assert outcome.bound <= outcome.plan.usd_per_hour * (1 + 1e-9)


def test_an_outcome_without_a_plan_has_reasons(nothing):
    assert nothing.status == "infeasible"
    assert (nothing.plan, nothing.slo, nothing.bound) == (None, None, None)
    assert nothing.proved is False
    (reason,) = nothing.reasons
    assert (reason.limit, reason.value) == ("limits.machines", 1)
    assert reason.needed > 1
    assert len(nothing.to_frame()) == 0
    assert nothing.to_dict()["reasons"][0]["needed"] == reason.needed


def test_the_frame_is_the_plan_file(outcome, nothing, tmp_path):
    outcome.save(tmp_path / "run")
    saved = pd.read_csv(tmp_path / "run" / "plan.csv")

    pd.testing.assert_frame_equal(outcome.to_frame(), saved, rtol=1e-12)
    assert list(nothing.to_frame().columns) == list(saved.columns)


def test_the_dictionary_is_the_command_lines_json(outcome):
    record = outcome.to_dict()

    assert record["schema_version"] == 1
    assert record["machines"] == outcome.plan.machines
    assert record["slo"]["ok"] == outcome.slo.ok
    assert [pool["machine"] for pool in record["pools"]] == ["dgx-h100"]


def test_what_is_saved_can_be_loaded_and_planned_again(outcome, tmp_path):
    outcome.save(tmp_path / "run")
    again = pv.plan(pv.load_scenario(tmp_path / "run" / "inputs.yaml"))

    assert again.plan == outcome.plan
    assert again.slo == outcome.slo


def test_nothing_is_overwritten_unless_asked(outcome, nothing, tmp_path):
    outcome.save(tmp_path / "run")
    with pytest.raises(pv.InputError, match=r"exists; .* overwrite it with force=True$"):
        nothing.save(tmp_path / "run")
    nothing.save(str(tmp_path / "run"), force=True)

    assert not (tmp_path / "run" / "plan.csv").exists()


def test_an_answer_in_one_line(outcome, nothing):
    count = outcome.plan.machines

    assert repr(outcome) == f"<Outcome ok: {count} mixed dgx-h100/tp8>"
    assert repr(nothing).startswith("<Outcome infeasible: limits.machines of 1 ")
    assert "\n" not in repr(outcome) + repr(nothing)


def test_an_outcome_does_not_change(outcome):
    with pytest.raises(dataclasses.FrozenInstanceError):
        outcome.result = None


def test_progress_comes_through_a_callback():
    said = []
    pv.plan(small(), said.append)

    assert said
    assert all(isinstance(sentence, str) and sentence for sentence in said)


def test_what_a_callback_raises_comes_through():
    """So that a caller can stop a search."""

    class StoppedError(Exception):
        pass

    def stop(_):
        raise StoppedError

    with pytest.raises(StoppedError):
        pv.plan(small(), stop)


def test_nothing_is_printed_and_nothing_written(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pv.plan(pv.load_scenario(changes={"workloads": [FIXED], "designs": ["mixed"]}))
    pv.plan(small(limits={"machines": 1}, workloads=[{**FIXED, "rate_per_s": 200.0}]))

    assert tuple(capfd.readouterr()) == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_the_same_question_has_the_same_answer(outcome):
    again = pv.plan(small())

    assert again.to_dict() | {"wall_s": 0} == outcome.to_dict() | {"wall_s": 0}
    assert again.result.model_lp == outcome.result.model_lp


def test_without_a_path_the_example_is_loaded():
    scenario = pv.load_scenario()

    assert isinstance(scenario, pv.Scenario)
    assert scenario.model == "bloom-176b"
    assert [(w.name, w.rate_per_s) for w in scenario.workloads] == [("azure-conv", 70.0)]


def test_a_scenario_is_loaded_with_changes(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("workloads: [{name: azure-conv, rate_per_s: 5}]\n")
    scenario = pv.load_scenario(
        str(path), {"workloads.azure-conv.rate_per_s": 140, "limits.machines": 9}
    )

    assert scenario.workloads[0].rate_per_s == 140
    assert scenario.limits.machines == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("modle: a\nworkloads: [{name: a}]", r"mine\.yaml: unknown key 'modle'; did you mean"),
        ("workloads: [", r"mine\.yaml: row 1: not valid YAML"),
        ("- a", r"mine\.yaml: a mapping of keys is needed"),
    ],
)
def test_a_wrong_file_is_an_input_error(tmp_path, text, expected):
    path = tmp_path / "mine.yaml"
    path.write_text(text)

    with pytest.raises(pv.InputError, match=expected):
        pv.load_scenario(path)


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(pv.InputError, match="cannot be read: No such file"):
        pv.load_scenario(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("key", ["nonesuch", "workloads.nonesuch.rate_per_s", "growth.a", ""])
def test_a_wrong_change_is_an_input_error(key):
    with pytest.raises(pv.InputError):
        pv.load_scenario(changes={key: 5})


@pytest.mark.parametrize(
    "fields",
    [{"growth": 0}, {"modle": "a"}, {"designs": []}, {"minimize": "costs"}, {"workloads": []}],
    ids=str,
)
def test_a_wrong_scenario_made_by_hand_is_a_value_error(fields):
    """Pydantic's own, as its documentation says; it is refused when made, not when planned."""
    with pytest.raises(pydantic.ValidationError) as error:
        small(**fields)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"model": "bloom"}, "unknown model 'bloom'; did you mean 'bloom-176b'"),
        ({"hardware": "dgx-h10"}, "unknown machine type 'dgx-h10'"),
        ({"prices": "aws"}, "unknown price list 'aws'"),
        ({"slo": "stict"}, "unknown SLO 'stict'; did you mean 'strict'"),
        ({"workloads": [{"name": "azure"}]}, "unknown workload 'azure'"),
        ({"workloads": [{"name": "a", "trace": "nowhere.csv"}]}, "nowhere.csv: cannot be read"),
    ],
)
def test_a_name_that_does_not_exist_is_an_input_error(fields, expected):
    with pytest.raises(pv.InputError, match=expected):
        pv.plan(small(**fields))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda _: pv.plan(None), r"scenario: a Scenario, .* is needed, found nothing"),
        (lambda _: pv.plan("a.yaml"), "scenario: a Scenario, .* found 'a.yaml'"),
        (lambda _: pv.plan({"growth": 2}), "scenario: a Scenario, .* found {'growth': 2}"),
        (lambda _: pv.plan(small(), progress=5), "progress: a function .* is needed, found 5"),
        (lambda _: pv.load_scenario(5), "path: a path is needed, found 5"),
        (lambda _: pv.load_scenario(""), "path: a path is needed, found ''"),
        (lambda _: pv.load_scenario(changes="a=b"), "changes: a mapping .* found 'a=b'"),
        (lambda _: pv.load_scenario(changes=["a"]), r"changes: a mapping .* found \['a'\]"),
        (lambda _: pv.load_scenario(changes={5: 3}), "changes: a dotted key as text .* found 5"),
        (lambda outcome: outcome.save(None), "folder: a path is needed, found nothing"),
        (lambda outcome: outcome.save(""), "folder: a path is needed, found ''"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_an_input_error(outcome, call, expected):
    with pytest.raises(pv.InputError, match=expected):
        call(outcome)


def test_errors_share_one_base():
    assert issubclass(pv.InputError, pv.ProvisionerError)
    assert issubclass(pv.UsageError, pv.ProvisionerError)
    assert not issubclass(pv.ProvisionerError, SystemExit)
