"""Frontier, dominance, shares and held-out seeds, each by itself."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.base import Role
from provisioner.domain.scenario import Scenario
from provisioner.search.dominance import worth_trying
from provisioner.search.find import prepare
from provisioner.search.frontier import Frontier, largest_failing, last_true
from provisioner.search.run import run
from provisioner.search.shares import classes_of, gateway_of, with_classes
from provisioner.search.unit_costs import cheapest_budget
from provisioner.simulation.arrivals import offer
from tests.search.judged import case_of, kinds_of

some = settings(deadline=None, derandomize=True, max_examples=200)


@given(st.integers(0, 60), st.integers(1, 80), st.data())
@some
def test_last_true_finds_the_edge_from_any_guess(room, guess, data):
    edge = data.draw(st.integers(0, room))
    assert last_true(room, min(max(guess, 1), max(room, 1)), lambda k: k <= edge) == edge


@given(st.integers(1, 9), st.integers(1, 9), st.integers(5, 60))
@some
def test_the_largest_failing_cluster_is_maximal(first, second, needed):
    """Where so much work is needed and machines of two kinds do so much each."""

    def fails(counts):
        return first * counts[0] + second * counts[1] < needed

    most = (needed // first + 1, needed // second + 1)
    found = largest_failing((0, 0), [0, 1], most, fails, lambda _counts, _j: 1)
    assert fails(found)
    for j in (0, 1):
        more = tuple(n + (i == j) for i, n in enumerate(found))
        assert more[j] > most[j] or not fails(more)


def test_a_frontier_knows_what_lies_below_and_above():
    frontier = Frontier((0, 1), (0.1, 0.1))
    frontier.note((3, 2), passed=False)
    frontier.note((5, 5), passed=True)
    assert frontier.known((3, 1)) is False
    assert frontier.known((5, 6)) is True
    assert frontier.known((4, 1)) is None
    later = frontier.at_more(2.0)
    assert later.known((2, 2)) is False
    assert later.known((6, 6)) is None  # what passed may fail at more demand
    assert later.weights == (0.05, 0.05)


def test_weights_are_learned_from_the_largest_failed_clusters():
    frontier = Frontier((0, 1), (0.02, 0.02))
    for counts in ((9, 0), (0, 4), (5, 2)):  # each serves just about everything
        frontier.fit(counts)
    assert frontier.weights == pytest.approx((1 / 9, 1 / 4), rel=0.1)
    assert frontier.lacking((0, 0), 0) in (9, 10)


HARDWARE = ["dgx-a100", "dgx-h100", "dgx-h100-cap70"]


@pytest.mark.parametrize(
    ("fields", "left_out"),
    [
        ({}, {("prompt", "dgx-h100-cap70"), ("token", "dgx-h100")}),
        ({"minimize": "power"}, set()),
        ({"limits": {"power_w": 1e6}}, set()),
    ],
)
def test_what_costs_as_much_and_is_no_slower_takes_the_place_of_another(fields, left_out):
    """A capped H100 costs what an H100 does: slower for prompts, as fast for tokens."""
    case = case_of(hardware=HARDWARE, **fields)
    kinds = kinds_of(case, "split")
    kept = worth_trying(kinds, case.scenario)
    missing = {(r.value, d.machine.name) for i, (r, d) in enumerate(kinds) if i not in kept}
    if fields:
        assert ("prompt", "dgx-h100") not in missing
        assert missing <= {("token", "dgx-h100")}
    else:
        assert missing == left_out


@pytest.mark.parametrize("seed", range(4))
def test_leaving_out_never_changes_the_best_plan(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    fields = {
        "hardware": HARDWARE,
        "designs": [["split"], ["mixed"]][seed % 2],
        "minimize": ["cost", "machines"][seed // 2],
        "workloads": [{"name": "azure-conv", "rate_per_s": float(rng.uniform(1, 5))}],
    }
    fewer = run(case_of(**fields))
    monkeypatch.setattr(
        "provisioner.search.space.worth_trying", lambda places, _: list(range(len(places)))
    )
    every = run(case_of(**fields))
    assert fewer.plan.usd_per_hour == pytest.approx(every.plan.usd_per_hour)
    assert fewer.plan.machines == every.plan.machines


@pytest.fixture(scope="module")
def gateway():
    case = case_of(workloads=[{"name": "azure-conv", "rate_per_s": 20.0}])
    search = prepare(case)
    kinds = kinds_of(case, "hybrid")
    return gateway_of(search.guide, kinds, cheapest_budget(search.guide)), kinds


@pytest.mark.parametrize(
    "counts", [(3, 2, 4, 1, 0, 0), (0, 1, 1, 9, 0, 0), (2, 2, 2, 2, 2, 2), (0, 0, 0, 0, 3, 1)]
)
def test_shares_of_every_class_add_up_in_both_phases(gateway, counts):
    router, kinds = gateway
    shares = router.shares(counts)
    assert not shares[[j for j, n in enumerate(counts) if not n]].any()
    generating = router.demand.iterations > 0
    for roles, classes in (
        ((Role.PROMPT, Role.MIXED), slice(None)),
        ((Role.TOKEN, Role.MIXED), generating),
    ):
        own = [j for j, (role, _) in enumerate(kinds) if role in roles]
        assert shares[own][:, classes].sum(axis=0) == pytest.approx(1.0, abs=1e-6)


def test_shares_of_a_role_do_not_depend_on_the_other(gateway):
    router, _ = gateway
    whole, other = router.shares((3, 2, 4, 1, 0, 0)), router.shares((3, 2, 9, 9, 0, 0))
    assert whole[:2] == pytest.approx(other[:2])
    assert router.shares((3, 2, 0, 0, 0, 0))[:2] == pytest.approx(whole[:2])


def test_every_request_has_the_class_of_its_lengths(gateway):
    router, _ = gateway
    case = case_of(workloads=[{"name": "azure-conv", "rate_per_s": 20.0}])
    classes = classes_of(router.demand)
    offered = with_classes(offer(case.workloads, "poisson", 0, 20.0), ["azure-conv"], classes)
    requests = offered.requests
    for number, prompt, output in zip(
        requests.request_class, requests.prompt_tokens, requests.output_tokens, strict=True
    ):
        assert number < len(classes)
        prompts, outputs = classes[number][1].removeprefix("p").split("_o")
        assert within(prompt, prompts)
        assert within(output, outputs)


def within(tokens, written):
    low, _, high = written.partition("-")
    if written.endswith("+"):
        return tokens >= int(written[:-1])
    return int(low) <= tokens <= int(high)


def test_seeds_held_out_are_judged_each_alone():
    roomy = run(case_of(workloads=[{"name": "azure-conv", "rate_per_s": 2.0}], growth=1.0))
    assert roomy.holdout_pass_fraction is not None
    assert 0 <= roomy.holdout_pass_fraction * 10 <= 10
    warned = any("seeds held out" in note for note in roomy.warnings)
    assert warned is (roomy.holdout_pass_fraction < 0.9)


def test_plan_shares_is_an_answer_of_its_own():
    fields = {"workloads": [{"name": "azure-conv", "rate_per_s": 6.0}], "designs": ["split"]}
    result = run(case_of(**fields, router="plan-shares"))
    assert (result.router, result.slo.ok) == ("plan-shares", True)
    assert result.estimated == ("unit_costs",)
    assert dataclasses.replace(result).plan.routing
    assert Scenario.model_fields["router"].default == "expected-finish"
