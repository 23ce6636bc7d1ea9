import dataclasses
import json
import math

import pytest

from provisioner.reporting.records import (
    SUMMARY_COLUMNS,
    finite,
    result_record,
    summary_record,
)


def test_totals_are_those_of_the_pools(result):
    record = result_record(result)

    # 14 + 7 machines; 1770.56 + 0.3 $/h; 142800 + 1234.5 W; 112 + 6.5 U
    assert record["machines"] == 21
    assert record["usd_per_hour"] == pytest.approx(1770.86)
    assert record["provisioned_power_w"] == 144034.5
    assert record["rack_units"] == 118.5


def test_requests_per_dollar(result):
    # 12345.678 requests/s x 3600 s/h over 1770.86 $/h
    assert result_record(result)["requests_per_usd"] == pytest.approx(25097.5, rel=1e-5)


def test_nothing_is_sold_for_nothing(result, pool):
    free = dataclasses.replace(result.plan, pools=(pool(usd_per_hour=0.0),))

    assert result_record(dataclasses.replace(result, plan=free))["requests_per_usd"] is None


def test_numbers_survive_json_unchanged(result):
    record = result_record(result)

    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_what_is_not_finite_is_null(infinite):
    record = result_record(infinite)
    (metric,) = record["slo"]["metrics"]

    json.dumps(record, allow_nan=False)
    assert (metric["value"], metric["low"], metric["high"]) == (None, None, None)
    assert metric["ok"] is False
    assert record["slo"]["ok"] is False
    assert record["pools"][0]["utilization"] is None
    assert record["gap"] is None


def test_finite_reaches_every_depth():
    nested = {"a": [math.inf, {"b": math.nan, "c": 1}], "d": "inf", "e": -math.inf}

    assert finite(nested) == {"a": [None, {"b": None, "c": 1}], "d": "inf", "e": None}


def test_an_infeasible_result_has_reasons_instead_of_a_plan(infeasible):
    record = result_record(infeasible)

    assert record["status"] == "infeasible"
    assert record["reasons"][0] == {
        "limit": "limits.machines",
        "value": 1.0,
        "needed": 31.0,
        "alone": True,
        "sentence": "limits.machines of 1 is too small",
    }
    assert record["reasons"][1]["needed"] is None
    assert not record.keys() & {"pools", "slo", "machines", "proof"}


def test_a_plan_has_no_reasons(result):
    assert "reasons" not in result_record(result)


def test_the_summary_has_the_same_columns_for_every_answer(result, infeasible):
    assert tuple(summary_record(result)) == SUMMARY_COLUMNS == tuple(summary_record(infeasible))


def test_the_summary_joins_what_is_a_list(result, infeasible):
    row = summary_record(result)

    assert (row["seeds"], row["estimated"]) == ("0 1", "routing unit_costs")
    assert row["warnings"] == "something was assumed"
    assert (row["slo_ok"], row["slo_source"]) == (False, "simulated")
    assert summary_record(infeasible)["reasons"] == (
        "limits.machines of 1 is too small; ttft p99 cannot be met"
    )
    assert summary_record(infeasible)["slo_ok"] is None
