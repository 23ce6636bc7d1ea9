"""What must never improve the optimum: more demand, tighter limits, dearer or fewer machines.

Single request classes keep the programs tiny; the real traffic's turn comes in a few cases.
"""

import itertools

import numpy as np
import pytest

from provisioner.search.find import find
from tests.builders import FIXED, best_value, search_for

MINIMIZE = ("cost", "power", "machines")
MAXIMIZE = ("throughput", "throughput_per_usd", "throughput_per_watt")
LIMIT = {"machines": 24}
CLOSE = 2e-6
SLO = (("ttft", 99, 6.0), ("tbt", 50, 1.25), ("e2e", 90, 1.5))


def asked(objective):
    if objective in MINIMIZE:
        return {"minimize": objective}
    return {"maximize": objective, "limits": LIMIT}


def no_better(objective, changed, base):
    """Whether the changed case is no better than the base case; None is worse than anything."""
    if changed is None or base is None:
        return changed is None
    if objective in MINIMIZE:
        return changed >= base * (1 - CLOSE)
    return changed <= base * (1 + CLOSE)


def slo(*limits):
    return [{"metric": m, "percentile": p, "at_most_slowdown": x} for m, p, x in limits]


@pytest.mark.parametrize(
    ("objective", "designs"), [("cost", ["split"]), ("power", ["mixed"]), ("machines", ["hybrid"])]
)
def test_more_demand_is_never_better(objective, designs):
    values = [
        best_value(designs=designs, growth=growth, **asked(objective))
        for growth in (0.01, 0.9, 1.0, 4.0)
    ]
    for less, more in itertools.pairwise(values):
        assert no_better(objective, more, less)


def test_more_real_demand_is_never_better():
    values = [
        best_value(workloads=[{"name": "azure-conv", "rate_per_s": rate}])
        for rate in (5.0, 20.0, 21.0)
    ]
    assert values == sorted(values)


@pytest.mark.parametrize("objective", ["power", "throughput_per_usd"])
@pytest.mark.parametrize("tightened", range(len(SLO)))
def test_a_tighter_slo_is_never_better(objective, tightened):
    base = best_value(slo=slo(*SLO), **asked(objective))
    for factor in (0.97, 0.7):
        limits = [(m, p, x * (factor if i == tightened else 1)) for i, (m, p, x) in enumerate(SLO)]
        changed = best_value(slo=slo(*limits), **asked(objective))
        assert no_better(objective, changed, base)
        base = changed


@pytest.mark.parametrize("metric", ["ttft", "tbt", "e2e"])
def test_a_tighter_absolute_limit_is_never_better(metric):
    start = {"ttft": 3.0, "tbt": 0.2, "e2e": 30.0}[metric]
    values = [
        best_value(slo=[{"metric": metric, "percentile": 95, "at_most_s": start * factor}])
        for factor in (1.0, 0.7, 0.5, 0.3, 0.2, 0.1)
    ]
    for looser, tighter in itertools.pairwise(values):
        assert no_better("cost", tighter, looser)


@pytest.mark.parametrize("objective", ["cost", "throughput"])
@pytest.mark.parametrize("metric", ["ttft", "tbt", "e2e"])
@pytest.mark.parametrize("key", ["at_most_slowdown", "at_most_s"])
def test_a_limit_far_from_binding_changes_nothing(objective, metric, key):
    alone = [limit for limit in slo(*SLO) if limit["metric"] != metric]
    far = {"metric": metric, "percentile": 99, key: 1e4}
    without = best_value(slo=alone, **asked(objective))
    assert best_value(slo=[*alone, far], **asked(objective)) == pytest.approx(without, rel=CLOSE)


@pytest.mark.parametrize("workload", ["azure-code"])
def test_loosening_an_e2e_limit_ends_at_the_plan_without_it(workload):
    def cost(*e2e):
        return best_value(
            workloads=[{"name": workload, "rate_per_s": 7.7}],
            slo=slo(("ttft", 99, 6.0), ("tbt", 99, 5.0), *e2e),
        )

    values = [cost(("e2e", 99, limit)) for limit in (1.5, 2.0, 5.0, 20.0, 1e4)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(cost())


@pytest.mark.parametrize("objective", ["cost", "throughput_per_usd"])
def test_higher_prices_are_never_better(objective):
    def priced(a100, h100):
        hardware = [
            {"name": "dgx-a100", "usd_per_hour": a100},
            {"name": "dgx-h100", "usd_per_hour": h100},
        ]
        return best_value(hardware=hardware, **asked(objective))

    values = [priced(20, 40), priced(25, 40), priced(25, 60), priced(50, 120)]
    for cheap, dear in itertools.pairwise(values):
        assert no_better(objective, dear, cheap)


@pytest.mark.parametrize(
    ("objective", "key", "values"),
    [
        ("throughput", "machines", [30, 21, 10, 3, 1]),
        ("throughput_per_usd", "usd_per_hour", [1500, 800, 200, 60]),
        ("throughput_per_watt", "power_w", [300_000, 120_000, 20_000]),
        ("throughput", "rack_units", [200, 90, 17]),
    ],
)
def test_a_smaller_budget_is_never_better(objective, key, values):
    found = [best_value(maximize=objective, limits={key: value}) for value in values]
    for more, less in itertools.pairwise(found):
        assert no_better(objective, less, more)


def test_fewer_machines_to_be_had_are_never_better():
    values = [best_value(limits={"available": {"dgx-h100": n}}) for n in (20, 6, 2, 1, 0)]
    for more, fewer in itertools.pairwise(values):
        assert no_better("cost", fewer, more)


@pytest.mark.parametrize("objective", ["cost", "machines", "throughput_per_watt"])
def test_fewer_choices_are_never_better(objective):
    every = best_value(designs=["split", "mixed"], **asked(objective))
    for designs in (["split"], ["mixed"]):
        assert no_better(objective, best_value(designs=designs, **asked(objective)), every)
    for hardware in (["dgx-a100"], ["dgx-h100"]):
        assert no_better(objective, best_value(hardware=hardware, **asked(objective)), every)
    one_type = best_value(max_types_per_role=1, **asked(objective))
    assert no_better(objective, one_type, every)


def test_a_hybrid_is_at_least_as_good_as_its_parts():
    parts = best_value(designs=["split", "mixed"])
    assert no_better("cost", parts, best_value(designs=["hybrid"]))


def test_owned_machines_never_cost_more_and_spares_never_less():
    values = [best_value(existing={"dgx-h100": n}) for n in (9, 4, 1, 0)]
    assert values == sorted(values)
    spares = [best_value(spares={"prompt": n, "token": n}) for n in (0, 1, 2)]
    assert spares == sorted(spares)


def test_growth_equals_more_requests():
    doubled = {**FIXED, "rate_per_s": 2 * FIXED["rate_per_s"]}
    assert best_value(growth=2) == pytest.approx(best_value(workloads=[doubled]))


def test_order_of_hardware_changes_nothing():
    there, back = ["dgx-a100", "dgx-h100", "dgx-h100-cap70"], ["dgx-h100-cap70", "dgx-h100"]
    assert best_value(hardware=there) == best_value(hardware=there[::-1])
    assert best_value(hardware=back) == best_value(hardware=back[::-1])


def test_two_runs_give_the_same_plan():
    search = search_for()
    first, second = find(search), find(search)
    assert first.solution.machines == second.solution.machines
    assert np.array_equal(first.solution.serve, second.solution.serve)
