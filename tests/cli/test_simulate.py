"""`provisioner simulate`: every form of cluster and traffic, what it prints, and bad input."""

import csv
import json

import pytest

HALL = ("--machines", "mixed:dgx-h100=4")
SPLIT = ("--machines", "prompt:dgx-h100=2", "--machines", "token:dgx-a100/tp8=3")
QUIET = ("--rate", "4", "--duration", "30", "--warmup", "5")
LATENCIES = {"ttft_s", "tbt_s", "e2e_s", "queue_s"}


@pytest.fixture
def trace(tmp_path):
    """Two requests per second for a minute, then a burst of thirty in a second."""
    times = [i / 2 for i in range(120)] + [60 + i / 30 for i in range(31)]
    path = tmp_path / "requests.csv"
    rows = "".join(f"{t},{200 + i},{1 + i % 50}\n" for i, t in enumerate(times))
    path.write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    return str(path)


def simulated(provisioner, *arguments):
    ran = provisioner("simulate", *arguments, "--json")
    assert ran.code == 0, ran.err
    return ran.json


def test_the_json_of_a_given_cluster(provisioner):
    result = simulated(provisioner, *SPLIT, *QUIET)

    assert (result["status"], result["schema_version"]) == ("ok", 1)
    assert (result["scheduler"], result["router"]) == ("split", "expected-finish")
    pools = [
        (p["role"], p["machine"], p["tensor_parallel"], p["machines"]) for p in result["pools"]
    ]
    assert pools == [("prompt", "dgx-h100", 8, 2), ("token", "dgx-a100", 8, 3)]
    assert result["usd_per_hour"] == pytest.approx(2 * 55.04 + 3 * 27.45)
    assert result["seeds"] == [0, 1, 2]
    assert result["requests"] > result["judged"] > 0
    assert result["requests_per_wall_s"] == pytest.approx(result["requests"] / result["wall_s"])
    assert set(result["latency"]) >= LATENCIES
    for name in LATENCIES:
        summary = result["latency"][name]
        assert summary["p50"] <= summary["p90"] <= summary["p99"]
    assert result["slo"]["source"] == "simulated"
    assert result["slo"]["ok"] is all(m["ok"] for m in result["slo"]["metrics"])


def test_it_exits_with_0_where_the_slo_is_missed(provisioner):
    result = simulated(provisioner, "--machines", "mixed:dgx-a100=1", *QUIET)

    assert result["slo"]["ok"] is False


def test_a_trace_is_replayed_whole_and_once(provisioner, trace):
    result = simulated(provisioner, *HALL, "--trace", trace)

    assert (result["requests"], result["judged"], result["seeds"]) == (151, 151, [0])
    assert result["rate_per_s"] == pytest.approx(151 / 61, rel=0.02)


@pytest.mark.parametrize(
    ("flags", "requests", "rate_per_s"),
    [
        (("--speedup", "2"), 151, 2 * 151 / 61),
        (("--rate", "10"), 151, 10),
        (("--rate", "peak_60s"), 149, 149 / 60),
    ],
)
def test_a_trace_is_compressed_to_another_pace(provisioner, trace, flags, requests, rate_per_s):
    result = simulated(provisioner, *HALL, "--trace", trace, *flags)

    assert result["requests"] == pytest.approx(requests, abs=2)
    assert result["rate_per_s"] == pytest.approx(rate_per_s, rel=0.03)


def test_a_duration_is_a_window_of_the_trace_per_seed(provisioner, trace):
    result = simulated(provisioner, *HALL, "--trace", trace, "--duration", "40")

    assert (result["seeds"], result["duration_s"], result["warmup_s"]) == ([0, 1, 2], 40, 10)
    assert result["judged"] < result["requests"] < 3 * 151


def test_chunks_need_colocated_machines(provisioner):
    chunked = simulated(provisioner, *HALL, *QUIET, "--chunk-tokens", "256")
    whole = simulated(provisioner, *HALL, *QUIET)

    assert chunked["chunk_tokens"] == 256
    assert chunked["latency"]["ttft_s"]["p50"] > whole["latency"]["ttft_s"]["p50"]
    ran = provisioner("simulate", *SPLIT, *QUIET, "--chunk-tokens", "256")
    assert ran.code == 2
    assert "only colocated machines do prompts in chunks" in ran.err


@pytest.mark.parametrize("router", ["expected-finish", "shortest-queue"])
@pytest.mark.parametrize("scheduler", ["split", "mixed-pool"])
def test_schedulers_and_routers(provisioner, scheduler, router):
    flags = ("--scheduler", scheduler, "--router", router)
    result = simulated(provisioner, *SPLIT, *QUIET, *flags)

    assert (result["scheduler"], result["router"]) == (scheduler, router)


def test_a_saved_plan_is_judged_as_it_was_planned(provisioner, tmp_path):
    folder = str(tmp_path / "run")
    planned = provisioner("plan", *QUIET, "--out", folder, "--json").json
    result = simulated(provisioner, folder)

    assert result["slo"]["metrics"] == planned["slo"]["metrics"]
    assert result["mean_power_w"] == pytest.approx(planned["mean_power_w"])
    for found, wanted in zip(result["pools"], planned["pools"], strict=True):
        assert found["utilization"] == pytest.approx(wanted["utilization"])
    routed = simulated(provisioner, folder, "--router", "plan-shares")
    assert routed["router"] == "plan-shares"


def test_a_plan_by_its_shares_is_judged_by_the_same_shares(provisioner, tmp_path):
    folder = str(tmp_path / "run")
    flags = ("--designs", "split", "--router", "plan-shares")
    planned = provisioner("plan", *QUIET, *flags, "--out", folder, "--json").json

    assert simulated(provisioner, folder)["slo"]["metrics"] == planned["slo"]["metrics"]


def test_spares_of_a_saved_plan_idle(provisioner, tmp_path):
    folder = str(tmp_path / "run")
    planned = provisioner("plan", *QUIET, "--spares", "mixed=2", "--out", folder, "--json").json
    result = simulated(provisioner, folder)

    assert result["machines"] == planned["machines"]
    assert result["mean_power_w"] == pytest.approx(planned["mean_power_w"])


def test_the_files_of_a_simulation(provisioner, tmp_path):
    folder = tmp_path / "run"
    result = simulated(provisioner, *SPLIT, *QUIET, "--out", str(folder))

    names = {"pools.csv", "slo.csv", "latency.csv", "summary.csv", "inputs.yaml"}
    assert {path.name for path in folder.iterdir()} == names
    with (folder / "pools.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, pool in zip(rows, result["pools"], strict=True):
        assert float(row["utilization"]) == pytest.approx(pool["utilization"])
    again = provisioner("simulate", *SPLIT, *QUIET, "--out", str(folder))
    assert (again.code, "exists" in again.err) == (1, True)
    repeated = simulated(provisioner, str(folder))
    assert repeated["slo"] == result["slo"]


def test_the_same_question_has_the_same_answer(provisioner):
    one, other = (simulated(provisioner, *SPLIT, *QUIET) for _ in range(2))

    for result in (one, other):
        for key in ("wall_s", "requests_per_wall_s"):
            result.pop(key)
    assert json.dumps(one) == json.dumps(other)


def test_the_published_simulators_rules(provisioner):
    result = simulated(provisioner, *SPLIT, "--rate", "4", "--compatible", "splitwise-sim")

    assert result["compatible"] == "splitwise-sim"
    assert result["judged"] == result["requests"]  # every request counts, with no warm-up
    assert {pool["utilization"] for pool in result["pools"]} == {None}


def test_a_machine_that_fails(provisioner, tmp_path):
    """What it held starts over: some requests take longer, and nobody is lost."""
    failing = (*SPLIT, *QUIET, "--fail", "token:dgx-a100=2@12.5")
    folder = tmp_path / "run"
    whole = simulated(provisioner, *SPLIT, *QUIET)
    result = simulated(provisioner, *failing, "--out", str(folder))

    assert result["failures"] == [
        {
            "role": "token",
            "machine": "dgx-a100",
            "tensor_parallel": 8,
            "machines": 2,
            "time_s": 12.5,
        }
    ]
    assert (whole["failures"], whole["restarted"]) == ([], 0)
    assert result["judged"] > result["restarted"] > 0
    assert result["unfinished"] == 0
    assert result["latency"]["e2e_s"]["mean"] > whole["latency"]["e2e_s"]["mean"]
    with (folder / "summary.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["failures"] == "token:dgx-a100/tp8=2@12.5"
    assert int(row["restarted"]) == result["restarted"]
    repeated = simulated(provisioner, str(folder))
    assert (repeated["slo"], repeated["failures"]) == (result["slo"], result["failures"])
    shown = provisioner("simulate", *failing)
    assert "Failing in every run: 2 dgx-a100/tp8 (token) at 12.5 s" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "no machines: name them"),
        (("--machines", "promt:dgx-h100=2"), 1, "did you mean 'prompt'?"),
        (("--machines", "prefill:dgx-h100=2"), 1, "did you mean 'prompt'?"),
        (("--machines", "mixed:dgx-h1000=2"), 1, "did you mean 'dgx-h100'?"),
        (("--machines", "mixed:dgx-h100=0"), 1, "a whole number above 0 is needed, found 0"),
        (("--machines", "mixed:dgx-h100=-1"), 1, "a whole number above 0 is needed, found -1"),
        (("--machines", "mixed:dgx-h100=1.5"), 1, "a whole number above 0 is needed"),
        (("--machines", "mixed:dgx-h100"), 1, "ROLE:MACHINE[/tpN]=COUNT is needed"),
        (("--machines", "mixed:dgx-h100/tp3=2"), 1, "3"),
        (("--machines", "mixed:dgx-h100=2,mixed:dgx-h100=1"), 1, "mixed"),
        (("--machines", "prompt:dgx-h100=2"), 1, "none for the token phase"),
        (("--machines", "token:dgx-h100=2"), 1, "prompt"),
        ((*HALL, "--scheduler", "split"), 1, "split does not fit mixed machines alone"),
        ((*SPLIT, "--router", "plan-shares"), 1, "plan-shares needs the shares of a saved plan"),
        ((*HALL, "--router", "fastest"), 1, "fastest"),
        ((*HALL, "--compatible", "vidur"), 1, "unknown simulator 'vidur'"),
        ((*HALL, "--arrivals", "replay"), 1, "replay needs a trace"),
        ((*HALL, "--rate", "-1"), 1, "-1"),
        ((*HALL, "--duration", "5", "--warmup", "5"), 1, "warmup_s must be shorter"),
        ((*SPLIT, "--fail", "token:dgx-a100"), 1, "ROLE:MACHINE[/tpN][=COUNT]@SECONDS is needed"),
        ((*SPLIT, "--fail", "token:dgx-a100@"), 1, "seconds since the start of the run"),
        ((*SPLIT, "--fail", "token:dgx-a100@-1"), 1, "0 or more, are needed, found '-1'"),
        ((*SPLIT, "--fail", "token:dgx-a100@nan"), 1, "0 or more, are needed, found 'nan'"),
        ((*SPLIT, "--fail", "token:dgx-a100@inf"), 1, "0 or more, are needed, found 'inf'"),
        ((*SPLIT, "--fail", "token:dgx-a100@1min"), 1, "0 or more, are needed, found '1min'"),
        ((*SPLIT, "--fail", "token:dgx-a100@500"), 1, "arrive in the first 120 s only"),
        ((*SPLIT, "--fail", "decode:dgx-a100@5"), 1, "did you mean 'token'?"),
        ((*SPLIT, "--fail", "token:dgx-a10@5"), 1, "did you mean 'dgx-a100'?"),
        ((*SPLIT, "--fail", "token:dgx-a100=0@5"), 1, "a whole number above 0 is needed, found 0"),
        ((*SPLIT, "--fail", "token:dgx-h100@5"), 1, "no such pool (pools: prompt:dgx-h100/tp8"),
        ((*SPLIT, "--fail", "token:dgx-a100=4@5"), 1, "4 machines of token:dgx-a100/tp8 are to"),
        ((*SPLIT, "--fail", "token:dgx-a100=3@5"), 1, "no token machine would be left"),
        (
            (*SPLIT, "--fail", "token:dgx-a100@5", "--fail", "token:dgx-a100/tp8=2@9"),
            1,
            "no token machine would be left",
        ),
        (
            (*SPLIT, "--fail", "token:dgx-a100@5", "--compatible", "splitwise-sim"),
            2,
            "no machine fails in splitwise-sim",
        ),
        (("nowhere",), 1, "nowhere: no such file or folder"),
    ],
)
def test_bad_input_is_said(provisioner, arguments, code, said):
    ran = provisioner("simulate", *arguments)

    assert ran.code == code, ran.err
    assert said in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


def test_an_empty_trace_is_bad_input(provisioner, tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n")
    ran = provisioner("simulate", *HALL, "--trace", str(path))

    assert ran.code == 1
    assert "empty.csv" in ran.err


def test_a_trace_beside_a_workload_is_wrong_usage(provisioner, trace):
    ran = provisioner("simulate", *HALL, "--trace", trace, "--workload", "azure-conv=3")

    assert ran.code == 2


@pytest.mark.parametrize(
    ("column", "value"),
    [("machines", "0"), ("machines", "many"), ("role", "both"), ("machine", "")],
)
def test_a_tampered_plan_is_refused(provisioner, tmp_path, column, value):
    folder = tmp_path / "run"
    provisioner("plan", *QUIET, "--out", str(folder))
    with (folder / "plan.csv").open() as file:
        rows = list(csv.DictReader(file))
    rows[0][column] = value
    with (folder / "plan.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ran = provisioner("simulate", str(folder))

    assert ran.code == 1
    assert "plan.csv" in ran.err
