"""Designs side by side agree with plans and simulations of their own."""

import pytest

import provisioner as pv
from provisioner.domain.designs import NAMED_DESIGNS
from provisioner.errors import InputError
from provisioner.search import comparison

STREAM = {"name": "azure-conv", "rate_per_s": 6.0}
SHORT = {"duration_s": 40.0, "warmup_s": 5.0, "seeds": 2}


def scenario(**fields):
    return pv.Scenario(**{"workloads": [STREAM], "simulation": SHORT} | fields)


def machines_of(plan):
    return {(p.role.value, p.machine, p.tensor_parallel): p.machines for p in plan.pools}


@pytest.fixture(scope="module")
def compared():
    """All named designs and the best of all."""
    return pv.compare(scenario())


def test_there_is_a_row_for_every_named_design_and_the_best_of_all(compared):
    assert list(compared.results) == [*NAMED_DESIGNS, "optimum"]
    assert all(result.status == "ok" for result in compared.results.values())


@pytest.mark.parametrize("design", ["baseline-a100", "splitwise-hhcap"])
def test_a_row_is_the_plan_of_its_design(compared, design):
    alone = pv.plan(scenario(designs=design))
    assert compared.results[design].plan == alone.plan


@pytest.mark.parametrize(
    ("design", "same"),
    [
        ("splitwise-hh", {"designs": "split", "hardware": "dgx-h100"}),
        ("splitwise-aa", {"designs": "split", "hardware": "dgx-a100"}),
        ("baseline-h100", {"designs": "mixed", "hardware": "dgx-h100"}),
    ],
)
def test_a_design_of_one_type_is_that_type_alone(compared, design, same):
    alone = pv.plan(scenario(**same))
    assert machines_of(compared.results[design].plan) == machines_of(alone.plan)


def test_the_best_of_all_is_no_worse_than_any(compared):
    rents = {name: result.plan.usd_per_hour for name, result in compared.results.items()}
    assert rents["optimum"] <= min(rents.values())


def test_the_highest_rate_passes_and_a_tenth_more_does_not(compared):
    frame = compared.to_frame().set_index("name")
    for design in ("baseline-h100", "splitwise-ha"):
        machines = machines_of(compared.results[design].plan)
        for factor, passes in ((1.0, True), (1.1, False)):
            rate = frame.loc[design, "highest_rate_per_s"] * factor
            asked = scenario(workloads=[{**STREAM, "rate_per_s": rate}])
            assert pv.simulate(asked, machines).slo.ok is passes, (design, factor)


def test_ratios_are_to_the_baseline(compared):
    frame = compared.to_frame().set_index("name")
    base = frame.loc["baseline-h100"]
    for key in ("machines", "usd_per_hour", "highest_rate_per_s", "requests_per_kwh"):
        assert frame[f"{key}_ratio"].tolist() == pytest.approx((frame[key] / base[key]).tolist())
    assert base["machines_ratio"] == 1


def test_most_throughput_is_the_highest_rate():
    both = pv.compare(
        scenario(maximize="throughput", limits={"machines": 3}), ["splitwise-hh"], "optimum"
    )
    for row in both.to_dict()["items"]:
        assert row["highest_rate_per_s"] == row["rate_per_s"]
    assert both.comparison.base.name == "optimum"


def test_a_design_without_its_machines_is_left_out_or_refused():
    asked = scenario(hardware="dgx-h100")
    found = pv.compare(asked)
    assert list(found.results) == ["baseline-h100", "splitwise-hh", "optimum"]
    assert "splitwise-ha is left out: dgx-a100 is no candidate" in found.to_dict()["warnings"]
    with pytest.raises(InputError, match="splitwise-ha needs dgx-a100"):
        pv.compare(asked, ["splitwise-ha"])


@pytest.mark.parametrize(
    ("designs", "baseline", "message"),
    [
        (["splitwise-hx"], None, "did you mean 'splitwise-hh'"),
        ([], "baseline-h10", "did you mean 'baseline-h100'"),
        (["splitwise-hh"], "splitwise-aa", "unknown row 'splitwise-aa'"),
        ("splitwise-hh", None, "designs: a list of names is needed"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_planned(
    monkeypatch, designs, baseline, message
):
    monkeypatch.setattr(comparison, "run", None)
    with pytest.raises(InputError, match=message):
        pv.compare(scenario(), designs, baseline)


def test_a_design_that_cannot_do_it_says_so():
    found = pv.compare(scenario(limits={"usd_per_hour": 230.0}), ["baseline-a100", "splitwise-hh"])
    rows = {row["name"]: row for row in found.to_dict()["items"]}
    assert rows["baseline-a100"]["status"] == "infeasible"
    assert "limits.usd_per_hour" in rows["baseline-a100"]["reasons"]
    assert rows["baseline-a100"]["machines_ratio"] is None
    assert rows["splitwise-hh"]["status"] == "ok"


def test_an_unproved_optimum_takes_a_better_row(compared):
    case, rows = compared.case, list(compared.comparison.rows)
    worse = comparison.Compared("optimum", rows[0].result, rows[0].highest_rate_per_s)
    taken = comparison._best_of(case, worse, rows[:-1])
    assert taken.result.plan.usd_per_hour == min(r.result.plan.usd_per_hour for r in rows[:-1])
