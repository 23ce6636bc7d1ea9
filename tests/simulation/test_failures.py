"""Machines that fail: what is exact of a request alone, and what a run with failures must keep.

That records are those of an independent engine is in `test_reference_engine.py`.
"""

import numpy as np
import pytest

from provisioner.domain.base import Role
from provisioner.simulation.cluster import MachineFailure, SimulatedPool
from provisioner.simulation.pools import measure_pools
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import simulate
from tests.builders import example_search
from tests.simulation.test_engine import (
    CASES,
    EXACT,
    hard_cases,
    random_requests,
    requests,
    split,
)

BEFORE, DURING, LONG_AFTER = 0.0, 20.0, 1e5
LEFTOVERS = ("used_tokens", "kv_tokens", "count", "assigned", "promised_tokens", "prompts")
TIMES = ("prompt_start_s", "first_token_s", "ready_s", "token_start_s", "finish_s")


@pytest.fixture(scope="module")
def deployments():
    return {d.machine.name: d for d in example_search().guide.deployments}


@pytest.mark.parametrize("name", CASES)
def test_a_failure_after_all_is_served_changes_nothing(deployments, name):
    pools, rules = hard_cases(deployments)[name]
    load = random_requests(9.0, 60.0, 3)
    late = tuple(MachineFailure(g, 0, LONG_AFTER) for g in range(len(pools)))
    one, other = (simulate(pools, load, rules, failures=f) for f in ((), late))
    assert one.state.requests.tobytes() == other.state.requests.tobytes()


@pytest.mark.parametrize("router", ["expected-finish", "shortest-queue"])
@pytest.mark.parametrize("failing", [0, 1])
def test_a_machine_that_fails_at_once_might_not_be_there(deployments, router, failing):
    h, a = deployments["dgx-h100"], deployments["dgx-a100"]
    load = random_requests(6.0, 60.0, 5)
    gone = (MachineFailure(failing, 0, BEFORE),)
    counts = [(3, 2), (2, 2), (3, 1)]
    with_it = simulate(split(h, a, *counts[0]), load, Rules("split", router), failures=gone)
    without = simulate(split(h, a, *counts[1 + failing]), load, Rules("split", router))
    for name in TIMES:
        assert getattr(with_it.records, name).tolist() == getattr(without.records, name).tolist()
    assert with_it.counters["restarts"] == 0


@pytest.mark.parametrize("share", [0.5, 2.0], ids=["prompt", "output"])
def test_a_request_alone_starts_over_on_the_other_machine(deployments, share):
    """It fails so far into its prompt time; the second try takes what a request alone takes."""
    both = deployments["dgx-h100"]
    alone_s = float(both.alone_e2e_s(1500, 60))
    failed_s = 3.0 + share * float(both.alone_ttft_s(1500))
    pools = (SimulatedPool(Role.MIXED, both, 2),)
    run = simulate(
        pools,
        requests([3.0], 1500, 60),
        Rules("colocated"),
        failures=(MachineFailure(0, 0, failed_s),),
    )
    records = run.records
    assert (records.restarts[0], records.prompt_instance[0]) == (1, 1)
    assert records.arrival_s[0] == 3.0
    assert records.finish_s[0] == pytest.approx(failed_s + alone_s, rel=EXACT)
    assert records.ttft_s[0] == pytest.approx(
        failed_s - 3.0 + float(both.alone_ttft_s(1500)), rel=EXACT
    )


def test_a_token_machine_that_fails_during_the_prompt_costs_no_more_than_the_overlap(deployments):
    """Another one takes its place, and the transfer starts after the prompt."""
    h, a = deployments["dgx-h100"], deployments["dgx-a100"]
    ttft = float(h.alone_ttft_s(1500))
    run = simulate(
        split(h, a, 1, 2),
        requests([0.0], 1500, 60),
        Rules("split"),
        failures=(MachineFailure(1, 0, 0.5 * ttft),),
    )
    serial_s = (
        1500 * a.model.kv_bytes_per_token / min(h.transfer_bytes_per_s, a.transfer_bytes_per_s)
    )
    floor_s = max(h.machine.transfer_floor_s, a.machine.transfer_floor_s)
    assert run.counters["restarts"] == 0
    assert run.counters["redirects"] == 1
    assert run.records.token_instance[0] == 2
    assert run.records.ttft_s[0] == pytest.approx(ttft, rel=EXACT)
    assert run.records.transfer_s[0] == pytest.approx(max(serial_s, floor_s), rel=1e-7)


def test_a_prompt_machine_generates_itself_where_no_token_machine_is_left(deployments):
    h = deployments["dgx-h100"]
    failures = (MachineFailure(1, 0, 0.5 * float(h.alone_ttft_s(1500))),)
    pools = split(h, deployments["dgx-a100"])
    run = simulate(pools, requests([0.0], 1500, 60), Rules("mixed-pool"), failures=failures)
    assert run.records.token_instance[0] == 0
    assert run.records.e2e_s[0] == pytest.approx(float(h.alone_e2e_s(1500, 60)), rel=EXACT)
    assert (run.counters["redirects"], run.counters["returned"]) == (1, 1)


@pytest.mark.parametrize("name", CASES)
def test_everybody_is_served_and_nothing_is_left(deployments, name):
    pools, rules = hard_cases(deployments)[name]
    load = random_requests(6.0, 60.0, 7)
    largest = max(range(len(pools)), key=lambda g: pools[g].machines)
    run = simulate(pools, load, rules, failures=(MachineFailure(largest, 0, DURING),))
    r, instances = run.records, run.state.instances
    assert np.isfinite(r.finish_s).all()
    assert r.restarts.sum() == run.counters["restarts"] > 0
    assert (r.prompt_start_s >= r.arrival_s).all()
    assert (r.prompt_start_s[r.restarts > 0] >= DURING).all()
    failed = np.flatnonzero(np.isfinite(instances["failed_s"]))
    late = r.finish_s > DURING
    assert not np.isin(r.token_instance[late], failed).any()
    for left in (*LEFTOVERS, "pending_tokens", "backlog_ns", "flow_count", "running", "fresh"):
        assert not instances[left].any()


def test_a_machine_that_is_gone_draws_no_power_and_does_not_idle(deployments):
    h = deployments["dgx-h100"]
    pools, window_s = (SimulatedPool(Role.MIXED, h, 2),), (0.0, 100.0)
    gone = (MachineFailure(0, 1, 25.0),)
    run = simulate(pools, requests([], 1, 1), Rules("colocated"), window_s, gone)
    (idle,) = measure_pools(pools, [run])
    assert idle.mean_power_w == pytest.approx(1.25 * h.power.idle_w)
    load = requests([30.0], 1500, 60)
    (measure,) = measure_pools(pools, [simulate(pools, load, Rules("colocated"), window_s, gone)])
    alone_s = float(h.alone_e2e_s(1500, 60))
    assert measure.utilization == pytest.approx(alone_s / 125)
    busy_j = measure.mean_power_w * 100 - h.power.idle_w * (125 - alone_s)
    assert h.power.idle_w * alone_s < busy_j < h.machine.provisioned_power_w * alone_s
