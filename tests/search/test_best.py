"""The best plan against every cluster there is, judged one by one without the search."""

import math

import pytest

from provisioner.domain.base import Role
from provisioner.search import best, certainty
from provisioner.search.find import prepare
from provisioner.search.run import run
from tests.search.judged import Bill, Judge, case_of, kinds_of, random_fields, vectors

MINIMIZE = ("cost", "power", "machines")
CLOSE = 1e-6
MOST = 6
"""Machines of a kind in the clusters that are listed."""


def best_passing(case, objective, designs, most_power_w=math.inf):
    """Least value of all listed clusters that pass; None where none does."""
    found = None
    for design in designs:
        kinds = kinds_of(case, design)
        judge, bill = Judge(case, kinds), Bill(case, kinds)
        listed = sorted(vectors(case, kinds, MOST), key=lambda c: bill.value(c, objective))
        for counts in listed:
            value = bill.value(counts, objective)
            if bill.value(counts, "power") > most_power_w:
                continue
            if found is not None and value >= found * (1 - CLOSE):
                break
            if judge.passes(counts):
                found = value
                break
    return found


def asked(seed):
    """A random case with every objective, design, scheduler and router in turn."""
    fields = random_fields(seed)
    fields["minimize"] = MINIMIZE[seed % 3]
    fields["designs"] = [["split"], ["mixed"], ["split", "mixed"], ["hybrid"]][seed // 3 % 4]
    if fields["designs"] == ["split"] and seed % 2:
        fields["scheduler"] = "mixed-pool"
    if fields["designs"] == ["hybrid"]:
        fields["hardware"] = fields["hardware"][:1]  # three kinds, four with a second design
    fields["router"] = ["expected-finish", "shortest-queue"][seed // 12 % 2]
    return case_of(**fields)


def values(seed):
    """Value, bound and proof of the plan, and the best value there is."""
    case = asked(seed)
    objective = case.scenario.objective
    result = run(case)
    listed = best_passing(case, objective, case.scenario.designs)
    plan = result.plan
    if plan is None:
        return None, None, "none", listed
    if max(pool.machines - pool.spares for pool in plan.pools) > MOST:
        listed = None
    value = {
        "cost": plan.usd_per_hour,
        "power": plan.provisioned_power_w,
        "machines": float(plan.machines),
    }[objective]
    return value, result.bound, result.proof, listed


@pytest.mark.parametrize("block", range(6))
def test_exhaustive_plans_are_the_best_of_all(block):
    compared = 0
    for seed in range(block, 36, 6):
        value, bound, proof, listed = values(seed)
        if listed is None:  # the best, if any, has more machines than were listed
            continue
        assert proof == "exhaustive", seed
        assert value == pytest.approx(listed, rel=CLOSE), seed
        assert bound == pytest.approx(listed, rel=CLOSE), seed
        compared += 1
    assert compared >= 3


@pytest.mark.parametrize(("hardware", "rate"), [("dgx-a100", 12.0), ("dgx-h100", 18.0)])
def test_a_kind_that_the_guide_does_not_believe_in_is_planned_all_the_same(hardware, rate):
    """By its estimate mixed machines never keep the SLO for long prompts; many enough do."""
    stream = {"name": "azure-code", "rate_per_s": rate}
    case = case_of(workloads=[stream], hardware=hardware, designs="mixed")
    assert not prepare(case).guide.serving_all(Role.MIXED)
    result = run(case)
    (pool,) = result.plan.pools
    judge = Judge(case, kinds_of(case, "mixed"))
    passing = [n for n in range(1, pool.machines + 3) if judge.passes((n,))]
    assert pool.machines == passing[0] > 12
    assert result.proved


def test_a_power_limit_matters_where_it_binds_and_only_there():
    """Right at the power of the plan it changes nothing; just below, the next best is found."""
    fields = {"hardware": ["dgx-h100", "dgx-h100-cap70"], "designs": ["split"]}
    free = run(case_of(**fields)).plan
    for power_w, changed in (
        (free.provisioned_power_w, False),
        (free.provisioned_power_w - 1, True),
    ):
        case = case_of(**fields, limits={"power_w": power_w})
        result = run(case)
        assert result.plan.provisioned_power_w <= power_w
        assert result.plan.usd_per_hour == pytest.approx(
            best_passing(case, "cost", ["split"], power_w)
        )
        assert (result.plan.pools != free.pools) is changed


def test_cuts_alone_find_the_best_in_almost_all_cases(monkeypatch, record_property):
    """With nothing but cuts to rest on, and the bound never on the wrong side."""
    monkeypatch.setattr(best, "MOST_BETTER", -1)
    monkeypatch.setattr(certainty, "_MOST_LOOKED_AT", 0)
    compared = agreed = 0
    for seed in range(48, 84):
        value, bound, proof, listed = values(seed)
        if listed is None or value is None:
            continue
        assert proof != "exhaustive"
        compared += 1
        agreed += value == pytest.approx(listed, rel=CLOSE)
        if value == pytest.approx(listed, rel=CLOSE):
            assert bound <= listed * (1 + CLOSE), seed
    record_property("monotone_agreement", agreed / compared)
    assert compared >= 18
    assert agreed / compared >= 0.99
