"""The JSON of `plan` and its exit codes, as promised in DESIGN 7.2 and 7.3."""

import json
import subprocess
import sys

import pytest

NUMBER = (int, float)
OPTIONAL = (int, float, type(None))

CONTRACT = {
    "schema_version": int,
    "status": str,
    "model": str,
    "workloads": list,
    "objective": str,
    "rate_per_s": NUMBER,
    "machines": int,
    "usd_per_hour": NUMBER,
    "provisioned_power_w": NUMBER,
    "mean_power_w": OPTIONAL,
    "requests_per_usd": OPTIONAL,
    "requests_per_kwh": OPTIONAL,
    "pools": list,
    "slo": dict,
    "scheduler": str,
    "router": str,
    "seeds": list,
    "holdout_pass_fraction": OPTIONAL,
    "proof": str,
    "proved": bool,
    "bound": OPTIONAL,
    "gap": OPTIONAL,
    "simulations": int,
    "wall_s": NUMBER,
    "estimated": list,
    "warnings": list,
}
BEYOND_THE_CONTRACT = {
    "prices": str,
    "design": str,
    "rack_units": NUMBER,
    "binding": list,
    "unit_costs": list,
}
POOL = {
    "role": str,
    "machine": str,
    "tensor_parallel": int,
    "instances_per_machine": int,
    "machines": int,
    "spares": int,
    "existing": int,
    "utilization": NUMBER,
    "usd_per_hour": NUMBER,
    "provisioned_power_w": NUMBER,
    "mean_power_w": OPTIONAL,
}
POOL_BEYOND_THE_CONTRACT = {"hardware": str, "rack_units": NUMBER}
SLO = {"name": str, "reference": (str, type(None)), "source": str, "ok": bool, "metrics": list}
METRIC = {
    "workload": str,
    "metric": str,
    "percentile": NUMBER,
    "unit": str,
    "limit": NUMBER,
    "value": OPTIONAL,
    "low": OPTIONAL,
    "high": OPTIONAL,
    "ok": bool,
}
IMPOSSIBLE_SLO = "slo=[{metric: ttft, percentile: 50, at_most_s: 0.001}]"


def check_shape(record, shape):
    assert record.keys() == shape.keys()
    wrong = {key: record[key] for key, kind in shape.items() if not isinstance(record[key], kind)}
    assert wrong == {}


def test_one_object_with_the_promised_keys_and_types(example):
    ran, _ = example

    assert ran.code == 0
    check_shape(ran.json, CONTRACT | BEYOND_THE_CONTRACT)


def test_the_object_is_one_line_and_nothing_follows(example):
    ran, _ = example

    assert ran.out.count("\n") == 1
    assert ran.out.endswith("}\n")


def test_tables_go_to_standard_error_beside_json(example):
    ran, _ = example

    assert "Pools" in ran.err
    assert "SLO splitwise" in ran.err


def test_pools_have_the_promised_keys_and_types(example):
    for pool in example[0].json["pools"]:
        check_shape(pool, POOL | POOL_BEYOND_THE_CONTRACT)
        assert pool["role"] in {"prompt", "token", "mixed"}


def test_there_is_one_pool_per_role_machine_and_tensor_parallelism(example):
    pools = example[0].json["pools"]
    keys = [(pool["role"], pool["machine"], pool["tensor_parallel"]) for pool in pools]

    assert len(set(keys)) == len(keys) > 0


@pytest.mark.parametrize("key", ["machines", "usd_per_hour", "provisioned_power_w", "rack_units"])
def test_pools_add_up_to_the_total(example, key):
    result = example[0].json

    assert sum(pool[key] for pool in result["pools"]) == pytest.approx(result[key], rel=1e-12)


def test_a_dollar_buys_an_hour_of_requests_over_the_rent_of_an_hour(example):
    result = example[0].json

    expected = result["rate_per_s"] * 3600 / result["usd_per_hour"]
    assert result["requests_per_usd"] == pytest.approx(expected, rel=1e-12)


def test_the_rate_is_that_of_all_workloads(example):
    result = example[0].json

    assert result["workloads"] == [{"name": "azure-conv", "rate_per_s": 70.0}]
    assert result["rate_per_s"] == 70.0


def test_the_slo_names_every_limit_with_the_value_reached(example):
    slo = example[0].json["slo"]

    check_shape(slo, SLO)
    for metric in slo["metrics"]:
        check_shape(metric, METRIC)
        assert metric["ok"] == (metric["value"] <= metric["limit"])
        assert metric["unit"] in {"s", "slowdown"}
    assert slo["ok"] == all(metric["ok"] for metric in slo["metrics"])
    assert (slo["name"], slo["reference"]) == ("splitwise", "dgx-a100")
    # table VI of the Splitwise paper: three percentiles of three metrics
    limits = [(m["metric"], m["percentile"]) for m in slo["metrics"]]
    assert limits == [(m, p) for m in ("ttft", "tbt", "e2e") for p in (50, 90, 99)]


def test_what_is_measured_and_what_is_not(example):
    result = example[0].json

    assert result["estimated"] == ["routing", "unit_costs"]
    assert result["slo"]["source"] == "simulated"
    assert result["seeds"] == [0, 1, 2]
    assert result["simulations"] > 10
    assert 0 <= result["holdout_pass_fraction"] <= 1
    for metric in result["slo"]["metrics"]:
        assert metric["low"] <= metric["value"] <= metric["high"]
        assert metric["ok"] is (metric["value"] <= metric["limit"])
    for pool in result["pools"]:
        assert 0 < pool["mean_power_w"] < pool["provisioned_power_w"]
        assert 0 < pool["utilization"] <= 1
    watts = sum(pool["mean_power_w"] for pool in result["pools"])
    assert result["mean_power_w"] == pytest.approx(watts)
    assert result["requests_per_kwh"] == pytest.approx(result["rate_per_s"] * 3.6e6 / watts)


def test_the_gap_is_the_distance_to_the_bound(example):
    result = example[0].json

    assert result["bound"] <= result["usd_per_hour"] * (1 + 1e-9)
    gap = (result["usd_per_hour"] - result["bound"]) / result["usd_per_hour"]
    assert result["gap"] == pytest.approx(gap, abs=1e-9)
    assert result["proved"] == (result["proof"] != "none")


def test_warnings_are_sentences_without_repeats(example):
    warnings = example[0].json["warnings"]

    assert all(isinstance(text, str) and text for text in warnings)
    assert len(set(warnings)) == len(warnings)


def test_nothing_else_reaches_standard_output_from_below_python(small):
    """The solver's banner is printed by C++, past `sys.stdout`, at a process' first solve."""
    command = [sys.executable, "-m", "provisioner", "plan", *small, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout.startswith("{")
    assert ran.stdout.count("\n") == 1
    assert json.loads(ran.stdout)["status"] == "ok"
    assert "HiGHS" not in ran.stderr


def test_owned_machines_cost_nothing_so_a_dollar_has_no_price(provisioner, small):
    result = provisioner("plan", *small, "--existing", "dgx-h100=50", "--json").json

    assert result["usd_per_hour"] == 0
    assert result["requests_per_usd"] is None
    assert sum(pool["existing"] for pool in result["pools"]) == result["machines"]


def test_spares_are_counted_in_their_pool(provisioner, small):
    result = provisioner("plan", *small, "--spares", "mixed=2", "--json").json

    assert sum(pool["spares"] for pool in result["pools"]) == 2
    assert result["machines"] >= 3


REASON = {
    "limit": str,
    "value": OPTIONAL,
    "needed": OPTIONAL,
    "alone": bool,
    "sentence": str,
}


@pytest.mark.parametrize(
    ("flags", "code", "limit", "value"),
    [
        (("--rate", "200", "--machines", "1"), 3, "limits.machines", 1),
        (("--usd-per-hour", "1"), 3, "limits.usd_per_hour", 1),
        (("--set", IMPOSSIBLE_SLO), 4, "fixed: ttft p50", 0.001),
    ],
    ids=["too few machines", "too little money", "no machine is fast enough"],
)
def test_infeasible_is_a_result_with_reasons(provisioner, small, flags, code, limit, value):
    ran = provisioner("plan", *small, *flags, "--json")

    assert ran.code == code
    result = ran.json
    assert result["status"] == "infeasible"
    for reason in result["reasons"]:
        check_shape(reason, REASON)
    reason = next(reason for reason in result["reasons"] if reason["limit"] == limit)
    assert reason["value"] == value < reason["needed"]
    assert reason["sentence"] in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


def test_the_reason_names_what_would_do(provisioner, small):
    """With as many machines as the reason asks for there is a plan, with one fewer none."""
    flags = ("plan", *small, "--rate", "200", "--json")
    needed = provisioner(*flags, "--machines", "1").json["reasons"][0]["needed"]

    assert provisioner(*flags, "--machines", str(int(needed))).code == 0
    assert provisioner(*flags, "--machines", str(int(needed) - 1)).code == 3


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--model", "nonesuch"), 1),
        (("--trace", "a.csv", "--workload", "azure-conv"), 2),
        (("--nonesuch",), 2),
        (("--rate",), 2),
    ],
    ids=["bad input", "contradiction", "unknown option", "missing value"],
)
def test_an_error_is_one_object_too(provisioner, flags, code):
    ran = provisioner("plan", "--json", *flags)

    assert ran.code == code
    assert ran.json.keys() == {"status", "message"}
    assert ran.json["status"] == "error"
    assert ran.json["message"] in ran.err
    assert "Traceback" not in ran.err


def test_without_json_an_error_leaves_standard_output_empty(provisioner):
    ran = provisioner("plan", "--model", "nonesuch")

    assert (ran.code, ran.out) == (1, "")


STOPPED = """
import os, signal, sys, time
import provisioner.search.run as search
def interrupted(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(20)
search.run = interrupted
from provisioner.cli import main
main(["plan", "--json", "--out", sys.argv[1]])
"""


def test_interrupted_before_any_plan_is_code_5_and_leaves_nothing(here, left_behind):
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED, str(here / "run")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ran.returncode == 5
    assert json.loads(ran.stdout)["status"] == "error"
    assert "stopped" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert left_behind() == []


@pytest.mark.parametrize("flags", [("--model", "nonesuch"), ("--nonesuch",)])
def test_a_refused_run_leaves_nothing(provisioner, here, left_behind, flags):
    assert provisioner("plan", *flags, "--out", here / "run").code in {1, 2}

    assert left_behind() == []
