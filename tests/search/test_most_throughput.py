"""Throughput and its ratios against every cluster within small limits, each bisected by itself."""

import pytest

from provisioner.domain.base import Role
from provisioner.search import certainty, climb, ratio
from provisioner.search.headroom import highest_rate
from provisioner.search.highest import STEP
from provisioner.search.run import run
from tests.search.judged import Bill, Judge, case_of, kinds_of, random_fields, vectors

LEAST_PER_S = 0.05
SPENT = {"throughput_per_usd": "cost", "throughput_per_watt": "power"}


def asked(seed, objective):
    fields = random_fields(seed)
    fields.pop("existing", None)
    fields["limits"] = {**fields.get("limits", {}), "machines": 3}
    fields["spares"] = {}
    fields["designs"] = [["split"], ["mixed"], ["split", "mixed"]][seed % 3]
    return case_of(**fields, maximize=objective)


def passing(case, rate_of):
    """Clusters that pass at the rate that is asked of each, with their kinds and that rate."""
    total = sum(w.rate_per_s for w in case.workloads)
    found = []
    for design in case.scenario.designs:
        kinds = kinds_of(case, design)
        bill = Bill(case, kinds)
        for counts in vectors(case, kinds, 3):
            rate = rate_of(
                lambda objective, bill=bill, counts=counts: bill.value(counts, objective)
            )
            if Judge(case, kinds, max(rate, LEAST_PER_S) / total).passes(counts):
                found.append((kinds, counts, rate))
    return found


def fails_at_less(case, kinds, counts, rate):
    """Whether a cluster fails at some lower rate."""
    total = sum(w.rate_per_s for w in case.workloads)
    lower = [rate * 0.98**step / total for step in range(1, 120)]
    return not all(Judge(case, kinds, theta).passes(counts) for theta in lower)


def value_of(result):
    plan = result.plan
    spent = {
        "throughput": 1.0,
        "throughput_per_usd": plan.usd_per_hour,
        "throughput_per_watt": plan.provisioned_power_w,
    }[result.objective]
    return plan.rate_per_s / spent


def nothing_is_better(case, result, objective):
    """Whether no cluster passes at the rate at which it would be a step better."""
    value = value_of(result) * (1 + STEP)
    return not passing(
        case, lambda worth: value * (worth(SPENT[objective]) if objective in SPENT else 1.0)
    )


@pytest.mark.parametrize("objective", ["throughput", "throughput_per_usd", "throughput_per_watt"])
@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_the_best_within_small_limits_is_found_and_proved(seed, objective):
    case = asked(seed, objective)
    result = run(case)
    assert result.proof == "exhaustive"
    assert result.bound == pytest.approx(value_of(result) * (1 + STEP))
    assert nothing_is_better(case, result, objective)


def test_cuts_alone_find_the_most_throughput(monkeypatch):
    monkeypatch.setattr(climb, "MOST_BETTER", -1)
    monkeypatch.setattr(certainty, "_MOST_LOOKED_AT", 0)
    for seed in range(1, 16, 2):
        case = asked(seed, "throughput")
        result = run(case)
        assert result.proof != "exhaustive"
        assert nothing_is_better(case, result, "throughput") or result.proof == "none", seed


@pytest.mark.parametrize("objective", list(SPENT))
def test_intervals_of_demand_bound_the_ratio(monkeypatch, objective):
    """No cluster passes at the rate at which its ratio would be the bound, all below included."""
    monkeypatch.setattr(ratio, "MOST_BETTER", -1)
    for seed in range(1, 16, 2):
        case = asked(seed, objective)
        result = run(case)
        assert result.proof == "none"
        assert value_of(result) < result.bound <= value_of(result) * 1.03, seed
        bound = result.bound * (1 + 1e-9)
        better = passing(case, lambda worth, b=bound: b * worth(SPENT[objective]))
        assert all(fails_at_less(case, *cluster) for cluster in better), seed


@pytest.mark.parametrize("objective", ["throughput", *SPENT])
def test_all_machines_that_the_limits_allow_are_looked_at(objective):
    """Far more than the least demand, where a search begins, has any use for."""
    stream = {"name": "azure-code", "rate_per_s": 12.0}
    case = case_of(
        workloads=[stream],
        hardware="dgx-h100",
        designs="mixed",
        maximize=objective,
        limits={"machines": 16},
    )
    result = run(case)
    assert result.proof == "exhaustive"
    size = case.machines[0].accelerators
    for machines in (10, 13, 16):
        rate = highest_rate(case, [(Role.MIXED, "dgx-h100", size, machines)])
        spent = {
            "throughput": 1.0,
            "throughput_per_usd": machines * case.machines[0].price_usd_per_hour,
            "throughput_per_watt": machines * case.machines[0].provisioned_power_w,
        }[objective]
        assert rate / spent <= value_of(result) * (1 + STEP), machines


def test_every_rate_that_was_tried_is_recorded():
    result = run(asked(0, "throughput"))
    passed = [rate for rate, ok in result.points if ok]
    failed = [rate for rate, ok in result.points if not ok]
    assert max(passed) == pytest.approx(result.plan.rate_per_s)
    assert min(failed) <= max(passed) * (1 + STEP) * (1 + 1e-9)
    assert result.points == tuple(sorted(result.points))
