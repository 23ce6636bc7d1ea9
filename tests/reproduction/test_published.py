"""The published clusters: complete, unique, and within the budgets that the paper compares at."""

from collections import Counter

import pytest

from provisioner.domain.designs import NAMED_DESIGNS
from provisioner.inputs import hardware
from provisioner.reproduction.budgets import budget_of, fits_budget, largest, spent_each
from provisioner.reproduction.published import (
    ISO_COST,
    ISO_POWER,
    LEAST_COST,
    LEAST_POWER,
    PRICES,
    counts_of,
    pools_of,
    published_clusters,
)
from provisioner.reproduction.questions import asked, budget_usd_per_hour, budget_w
from provisioner.reproduction.run import bill_of

CLUSTERS = published_clusters()


def line_of(question, design):
    return largest(spent_each(question, design), budget_of(question))


def test_every_design_is_in_every_question():
    asked_of = Counter((c.question, c.workload) for c in CLUSTERS)
    assert set(asked_of) == {
        (ISO_POWER, "azure-conv"),
        (ISO_POWER, "azure-code"),
        (ISO_COST, "azure-conv"),
        (ISO_COST, "azure-code"),
        (LEAST_POWER, "azure-conv"),
        (LEAST_COST, "azure-conv"),
    }
    assert set(asked_of.values()) == {len(NAMED_DESIGNS)}
    assert len({(c.question, c.workload, c.design) for c in CLUSTERS}) == len(CLUSTERS)


def test_only_the_capped_coding_cluster_is_over_its_budget():
    """35 + 7 are 42 machines of the price of an H100, where 40 are allowed."""
    over = [c for c in CLUSTERS if c.question in (ISO_POWER, ISO_COST) and not fits_budget(c)]
    assert [(c.question, c.workload, c.design) for c in over] == [
        (ISO_COST, "azure-code", "splitwise-hhcap")
    ]


def test_budgets_are_forty_h100_machines():
    assert budget_w() == pytest.approx(40 * 10_200)
    assert budget_usd_per_hour() == pytest.approx(40 * 8 * 4.76)


@pytest.mark.parametrize(
    ("question", "design", "counts"),
    [  # floor((44 x 40 - 44 h) / 24.8) A100, floor((44 x 40 - 44 p) / 30.8) capped H100
        (ISO_POWER, "splitwise-aa", (45, 25)),
        (ISO_POWER, "splitwise-hh", (25, 15)),
        (ISO_POWER, "splitwise-ha", (25, 26)),
        (ISO_POWER, "splitwise-hhcap", (25, 21)),
        (ISO_COST, "splitwise-aa", (51, 35)),
        (ISO_COST, "splitwise-hhcap", (30, 10)),
        (ISO_COST, "splitwise-ha", (30, 21)),
    ],
)
def test_published_counts_use_the_whole_budget(question, design, counts):
    assert counts in line_of(question, design)


@pytest.mark.parametrize("question", [ISO_POWER, ISO_COST])
@pytest.mark.parametrize("design", [d for d in NAMED_DESIGNS if d.startswith("splitwise")])
def test_a_line_of_clusters_fills_the_budget_and_no_more(question, design):
    most = {ISO_POWER: budget_w(), ISO_COST: budget_usd_per_hour()}[question]
    for counts in line_of(question, design):
        full, over = (bill_of(pools_of(design, c)) for c in (counts, (counts[0], counts[1] + 1)))
        key = "provisioned_power_w" if question == ISO_POWER else "usd_per_hour"
        assert getattr(full, key) <= most * (1 + 1e-9) < getattr(over, key)


def test_a_bill_is_the_sum_over_machines():
    bill = bill_of({("prompt", "dgx-h100"): 2, ("token", "dgx-a100"): 3})
    assert bill.machines == 5
    assert bill.usd_per_hour == pytest.approx(2 * 38.08 + 3 * 17.68)
    assert bill.provisioned_power_w == pytest.approx(2 * 10_200 + 3 * 10_200 * 24.8 / 44, rel=1e-6)
    assert bill.rack_units == 2 * 8 + 3 * 6


def test_questions_limit_or_minimise_what_the_paper_does():
    power = asked(ISO_POWER, "azure-conv", "splitwise-ha").scenario
    assert (power.maximize, power.limits.power_w, power.designs) == (
        "throughput",
        budget_w(),
        ("splitwise-ha",),
    )
    assert asked(ISO_COST, "azure-code", None).scenario.limits.usd_per_hour == budget_usd_per_hour()
    assert asked(LEAST_POWER, "azure-conv", None).scenario.objective == "power"
    least = asked(LEAST_COST, "azure-conv", None)
    assert least.scenario.objective == "cost"
    assert [w.rate_per_s for w in least.workloads] == [70]
    assert least.price_list.name == PRICES
    assert {m.provisioned_power_w for m in least.machines} == {
        p.provisioned_power_w for p in hardware.read_price_list(PRICES).powers
    }


def test_a_baseline_has_one_role():
    baseline = next(c for c in CLUSTERS if c.design == "baseline-h100")
    assert counts_of(baseline) == (40,)
    assert pools_of(baseline.design, counts_of(baseline)) == {("mixed", "dgx-h100"): 40}
