"""Infeasible cases: the limit to move, and that the value named is enough and least."""

import pytest

from provisioner.domain.scenario import Limits
from provisioner.errors import InputError
from provisioner.search.run import run
from tests.search.judged import FIXED, case_of

TOO_SMALL = {
    "usd_per_hour": 60.0,
    "power_w": 8_000.0,
    "machines": 1,
    "rack_units": 9.0,
}


def answer(**fields):
    return run(case_of(**{"workloads": [{**FIXED, "rate_per_s": 4.0}], **fields}))


@pytest.mark.parametrize(("key", "value"), TOO_SMALL.items())
def test_one_limit_alone(key, value):
    result = answer(limits={key: value})
    assert (result.status, result.exit_code) == ("infeasible", 3)
    (reason,) = result.reasons
    assert (reason.limit, reason.value, reason.alone) == (f"limits.{key}", value, True)
    assert f"{reason.needed:,.10g}" in reason.sentence
    assert "the least that would do" in reason.sentence
    assert answer(limits={key: type(value)(reason.needed)}).status == "ok"
    less = reason.needed - (1 if key == "machines" else 1e-3 * reason.needed)
    assert answer(limits={key: type(value)(less)}).status == "infeasible"


def test_availability():
    available = {"dgx-h100": 1, "dgx-a100": 0}
    reasons = {r.limit: r for r in answer(limits={"available": available}).reasons}
    assert set(reasons) == {"limits.available.dgx-a100", "limits.available.dgx-h100"}
    for reason in reasons.values():
        name = reason.limit.rsplit(".", 1)[-1]
        enough = {**available, name: int(reason.needed)}
        assert answer(limits={"available": enough}).status == "ok"


def test_several_limits_together():
    result = answer(limits={"machines": 1, "power_w": 8_000.0})
    assert len(result.reasons) == 2
    assert not any(reason.alone for reason in result.reasons)
    needed = {r.limit.removeprefix("limits."): r.needed for r in result.reasons}
    limits = Limits.model_validate({**needed, "machines": int(needed["machines"])})
    assert answer(limits=limits.model_dump(exclude_none=True)).status == "ok"


def test_a_budget_below_the_smallest_cluster_serves_nothing():
    result = answer(maximize="throughput", limits={"usd_per_hour": 20.0})
    (reason,) = result.reasons
    # The smallest cluster that meets the SLO is one A100 in a mixed role, or one of each role.
    assert reason.needed > 20
    larger = answer(maximize="throughput", limits={"usd_per_hour": reason.needed})
    assert larger.plan.rate_per_s > 0


@pytest.mark.parametrize(("metric", "limit"), [("ttft", 0.05), ("tbt", 0.02), ("e2e", 1.0)])
def test_an_slo_out_of_reach(metric, limit):
    def asked(value):
        return answer(slo=[{"metric": metric, "percentile": 90, "at_most_s": value}])

    result = asked(limit)
    assert result.exit_code == 4
    (reason,) = result.reasons
    assert reason.limit == f"fixed: {metric} p90"
    assert (reason.value, reason.alone) == (limit, True)
    assert asked(reason.needed).status == "ok"
    assert asked(reason.needed * 0.99).exit_code == 4


def test_two_limits_out_of_reach_are_named_together():
    slo = [
        {"metric": "ttft", "percentile": 50, "at_most_s": 0.01},
        {"metric": "tbt", "percentile": 50, "at_most_s": 0.01},
    ]
    reasons = answer(slo=slo).reasons
    assert [reason.limit for reason in reasons] == ["fixed: ttft p50", "fixed: tbt p50"]
    assert not any(reason.alone for reason in reasons)
    raised = [{**x, "at_most_s": r.needed} for x, r in zip(slo, reasons, strict=True)]
    assert answer(slo=raised).status == "ok"


def test_only_the_workload_that_cannot_be_served_is_named():
    slo = [{"metric": "tbt", "percentile": 50, "at_most_s": 1e-3}]
    hard = {**FIXED, "name": "hard", "slo": slo}
    reasons = answer(workloads=[FIXED, hard]).reasons
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
    result = answer(**fields)
    assert result.exit_code == code
    assert (result.status == "ok") is (code == 0)
    assert bool(result.reasons) is (code != 0)
    assert (result.plan is None) is (code != 0)


def test_requests_longer_than_any_memory_are_the_reason():
    # 72,114 KV tokens fit beside the weights on either machine; this request needs 80,010.
    result = answer(workloads=[{**FIXED, "prompt_tokens": 80_000, "output_tokens": 10}])
    assert result.exit_code == 4
    (reason,) = result.reasons
    assert (reason.value, reason.needed) == (80_010, 72_114)


@pytest.mark.parametrize("rate", [1e6, 1e17])
def test_a_demand_beyond_simulation_is_bad_input(rate):
    with pytest.raises(InputError, match="check its unit"):
        answer(workloads=[{**FIXED, "rate_per_s": rate}])


def test_a_scheduler_that_fits_no_design_is_bad_input():
    with pytest.raises(InputError, match=r"colocated fits none of the designs split \(allowed"):
        answer(designs=["split"], scheduler="colocated")
