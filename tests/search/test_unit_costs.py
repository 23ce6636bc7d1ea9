"""Unit economics against the plan's own arithmetic."""

import math

import pytest

from provisioner.domain.base import Phase, Role
from provisioner.search.unit_costs import cheapest_budget, unit_costs
from tests.builders import FIXED, search_for


@pytest.fixture(scope="module")
def search():
    """One request class, so that every number follows from a handful of others."""
    return search_for(designs=["split"])


def test_rows_are_what_a_full_machine_does(search):
    budget = cheapest_budget(search.guide)
    rows = unit_costs(search.guide, budget, 1.0)
    assert len(rows) == 2 * len(search.guide.deployments)
    prices = {d.machine.name: d.machine.price_usd_per_hour for d in search.guide.deployments}
    for row in rows:
        assert row.usd_per_million_tokens == pytest.approx(
            prices[row.machine] / 3600 / row.tokens_per_s * 1e6
        )
        tokens = FIXED["prompt_tokens"] if row.phase is Phase.PROMPT else FIXED["output_tokens"]
        least = FIXED["rate_per_s"] * tokens / row.tokens_per_s
        assert row.machines_if_alone >= math.ceil(least - 1e-9)


def test_prompt_rate_is_headroom_over_prompt_time(search):
    budget = cheapest_budget(search.guide)
    for row in unit_costs(search.guide, budget, 1.0):
        if row.phase is not Phase.PROMPT:
            continue
        (candidate,) = [
            c
            for c in search.guide.candidates((Role.PROMPT,), budget)
            if c.machine.name == row.machine
        ]
        seconds = float(candidate.deployment.prompt_s(FIXED["prompt_tokens"]))
        expected = candidate.headroom(row.machines_if_alone) * FIXED["prompt_tokens"] / seconds
        assert row.tokens_per_s == pytest.approx(expected)
        power = candidate.deployment.power
        busy = candidate.headroom(row.machines_if_alone)
        watts = busy * float(power.machine_w(Phase.PROMPT, FIXED["prompt_tokens"]))
        watts += (1 - busy) * power.idle_w
        assert row.wh_per_thousand_tokens == pytest.approx(watts / row.tokens_per_s / 3600 * 1000)


def test_rows_are_sorted_by_phase_and_price(search):
    rows = unit_costs(search.guide, cheapest_budget(search.guide), 1.0)
    keys = [(list(Phase).index(row.phase), row.usd_per_million_tokens) for row in rows]
    assert keys == sorted(keys)


def test_a_type_that_cannot_meet_the_slo_says_which_limit():
    search = search_for(slo=[{"metric": "tbt", "percentile": 50, "at_most_s": 0.045}])
    rows = unit_costs(search.guide, cheapest_budget(search.guide), 1.0)
    unable = [row for row in rows if row.tokens_per_s is None]
    assert [(row.machine, row.phase.value, row.note) for row in unable] == [
        ("dgx-a100", "token", "cannot meet tbt p50")
    ]


def test_twice_the_demand_never_raises_the_cost_of_a_token(search):
    budget = cheapest_budget(search.guide)
    once = unit_costs(search.guide, budget, 1.0)
    twice = {(r.machine, r.phase): r for r in unit_costs(search.guide, budget, 2.0)}
    for row in once:
        assert twice[row.machine, row.phase].usd_per_million_tokens <= (
            row.usd_per_million_tokens * (1 + 1e-9)
        )
