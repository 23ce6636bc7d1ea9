"""Infeasible cases: the limit to move, and that the value named is enough and least."""

import pytest

from provisioner.domain.scenario import Limits
from provisioner.errors import InputError
from provisioner.search.find import find
from provisioner.search.reasons import limit_reasons, slo_reasons
from provisioner.search.run import run
from tests.builders import FIXED, search_for

TOO_SMALL = {
    "usd_per_hour": 200.0,
    "power_w": 60_000.0,
    "machines": 5,
    "rack_units": 40.0,
}


def changed(search, **limits):
    return search_for(limits=limits)


@pytest.mark.parametrize(("key", "value"), TOO_SMALL.items())
def test_one_limit_alone(key, value):
    search = search_for(limits={key: value})
    assert find(search) is None
    assert slo_reasons(search) == []
    (reason,) = limit_reasons(search)
    assert (reason.limit, reason.value, reason.alone) == (f"limits.{key}", value, True)
    assert f"{reason.needed:,.10g}" in reason.sentence
    assert find(search_for(limits={key: reason.needed})) is not None
    less = reason.needed - (1 if key == "machines" else 1e-3 * reason.needed)
    assert find(search_for(limits={key: type(value)(less)})) is None


def test_availability():
    search = search_for(limits={"available": {"dgx-h100": 1, "dgx-a100": 0}})
    assert find(search) is None
    reasons = {reason.limit: reason for reason in limit_reasons(search)}
    assert set(reasons) == {"limits.available.dgx-a100", "limits.available.dgx-h100"}
    for reason in reasons.values():
        available = {"dgx-h100": 1, "dgx-a100": 0}
        available[reason.limit.rsplit(".", 1)[-1]] = int(reason.needed)
        assert find(search_for(limits={"available": available})) is not None


def test_several_limits_together():
    search = search_for(limits={"machines": 3, "power_w": 20_000.0})
    assert find(search) is None
    reasons = limit_reasons(search)
    assert len(reasons) == 2
    assert not any(reason.alone for reason in reasons)
    needed = {r.limit.removeprefix("limits."): r.needed for r in reasons}
    limits = Limits.model_validate({**needed, "machines": int(needed["machines"])})
    assert find(search_for(limits=limits.model_dump(exclude_none=True))) is not None


def test_a_budget_below_the_smallest_cluster_serves_nothing():
    search = search_for(maximize="throughput", limits={"usd_per_hour": 20.0})
    assert find(search) is None
    (reason,) = limit_reasons(search)
    # The smallest cluster that meets the SLO is one A100 in a mixed role, or one of each role.
    assert reason.needed > 20
    larger = search_for(maximize="throughput", limits={"usd_per_hour": reason.needed})
    assert find(larger).solution.theta > 0


@pytest.mark.parametrize(("metric", "limit"), [("ttft", 0.05), ("tbt", 0.02), ("e2e", 3.0)])
def test_an_slo_out_of_reach(metric, limit):
    def case(value):
        return search_for(slo=[{"metric": metric, "percentile": 90, "at_most_s": value}])

    search = case(limit)
    assert find(search) is None
    (reason,) = slo_reasons(search)
    assert reason.limit == f"fixed: {metric} p90"
    assert (reason.value, reason.alone) == (limit, True)
    assert slo_reasons(case(reason.needed)) == []
    assert find(case(reason.needed * 1.02)) is not None
    assert slo_reasons(case(reason.needed * 0.99)) != []


def test_two_limits_out_of_reach_are_named_together():
    slo = [
        {"metric": "ttft", "percentile": 50, "at_most_s": 0.01},
        {"metric": "tbt", "percentile": 50, "at_most_s": 0.01},
    ]
    reasons = slo_reasons(search_for(slo=slo))
    assert [reason.limit for reason in reasons] == ["fixed: ttft p50", "fixed: tbt p50"]
    assert not any(reason.alone for reason in reasons)
    raised = [{**x, "at_most_s": r.needed} for x, r in zip(slo, reasons, strict=True)]
    assert slo_reasons(search_for(slo=raised)) == []


def test_only_the_workload_that_cannot_be_served_is_named():
    hard = {
        **FIXED,
        "name": "hard",
        "slo": [{"metric": "tbt", "percentile": 50, "at_most_s": 1e-3}],
    }
    reasons = slo_reasons(search_for(workloads=[FIXED, hard]))
    assert [reason.limit for reason in reasons] == ["hard: tbt p50"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"limits": {"machines": 1}}, 3),
        ({"slo": [{"metric": "tbt", "percentile": 50, "at_most_s": 1e-3}]}, 4),
        ({}, 0),
    ],
)
def test_exit_codes(fields, code):
    result = run(search_for(**fields).case)
    assert result.exit_code == code
    assert (result.status == "ok") is (code == 0)
    assert bool(result.reasons) is (code != 0)
    assert (result.plan is None) is (code != 0)


def test_requests_longer_than_any_memory_are_the_reason():
    # 72,114 KV tokens fit beside the weights on either machine; this request needs 80,010.
    long = {**FIXED, "prompt_tokens": 80_000, "output_tokens": 10}
    result = run(search_for(workloads=[long]).case)
    assert result.exit_code == 4
    (reason,) = result.reasons
    assert (reason.value, reason.needed) == (80_010, 72_114)


def test_a_demand_for_billions_of_machines_is_bad_input():
    with pytest.raises(InputError, match="check its unit"):
        run(search_for(workloads=[{**FIXED, "rate_per_s": 1e17}]).case)
