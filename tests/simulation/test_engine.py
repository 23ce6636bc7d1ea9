"""The engine against closed forms, an independent queue, and what must hold of any run."""

import dataclasses
import heapq

import numpy as np
import pytest
from scipy import stats

from provisioner.domain.base import Role
from provisioner.performance.transfer import transfer_s
from provisioner.simulation.cluster import MachineFailure, Requests, SimulatedPool
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import simulate
from tests.builders import example_search

EXACT = 1e-9
LENGTHS = ((1, 1), (1, 2), (40, 300), (511, 7), (2048, 2), (2049, 90), (5000, 33), (1020, 129))


@pytest.fixture(scope="module")
def deployments():
    return {d.machine.name: d for d in example_search().guide.deployments}


def requests(arrivals, prompts, outputs):
    n = len(arrivals)
    return Requests(
        np.asarray(arrivals, dtype=float),
        np.broadcast_to(prompts, n),
        np.broadcast_to(outputs, n),
        np.zeros(n, dtype=np.int64),
    )


def random_requests(rate_per_s, duration_s, seed, longest=3000, most=400):
    rng = np.random.default_rng(seed)
    n = rng.poisson(rate_per_s * duration_s)
    return requests(
        np.sort(rng.uniform(0, duration_s, n)),
        rng.integers(1, longest, n),
        rng.integers(1, most, n),
    )


def split(prompt, token, prompts=1, tokens=1):
    return SimulatedPool(Role.PROMPT, prompt, prompts), SimulatedPool(Role.TOKEN, token, tokens)


@pytest.mark.parametrize(("p", "o"), LENGTHS)
@pytest.mark.parametrize("names", [("dgx-h100", "dgx-a100"), ("dgx-a100", "dgx-h100")])
def test_a_request_alone_takes_its_formula_and_the_transfer(deployments, names, p, o):
    prompt, token = (deployments[name] for name in names)
    records = simulate(split(prompt, token), requests([3.0], p, o), Rules("split")).records
    ttft = float(prompt.alone_ttft_s(p))
    added = transfer_s(
        p * prompt.model.kv_bytes_per_token,
        ttft,
        min(prompt.transfer_bytes_per_s, token.transfer_bytes_per_s),
        max(prompt.machine.transfer_floor_s, token.machine.transfer_floor_s),
    )
    generating = (o - 1) * float(token.alone_tbt_s(p, o))
    assert records.ttft_s[0] == pytest.approx(ttft, rel=EXACT)
    assert records.transfer_s[0] == pytest.approx(float(added) * (o > 1), rel=1e-7, abs=1e-12)
    expected = ttft + (float(added) + generating) * (o > 1)
    assert records.e2e_s[0] == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize(("p", "o"), LENGTHS)
@pytest.mark.parametrize("router", ["expected-finish", "shortest-queue"])
def test_a_request_alone_on_a_mixed_machine_takes_its_formula(deployments, router, p, o):
    both = deployments["dgx-a100"]
    pools = (SimulatedPool(Role.MIXED, both, 3),)
    records = simulate(pools, requests([0.0], p, o), Rules("colocated", router)).records
    assert records.e2e_s[0] == pytest.approx(float(both.alone_e2e_s(p, o)), rel=EXACT)
    if o > 1:
        assert records.tbt_s[0] == pytest.approx(float(both.alone_tbt_s(p, o)), rel=EXACT)


def test_chunks_of_a_prompt_alone_add_up(deployments):
    """A prompt of 5,000 tokens in chunks of 2,048: t_p of 2,048, 2,048 and 904 tokens."""
    both = deployments["dgx-h100"]
    run = simulate(
        (SimulatedPool(Role.MIXED, both, 1),),
        requests([0.0], 5000, 1),
        Rules("colocated", chunk_tokens=2048),
    )
    sizes, ends = [2048, 2048, 904], [0, 2048, 4096, 5000]
    times = [
        float(both.prompt.time_s(n, b**2 - a**2))
        for n, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)
    ]
    assert run.records.ttft_s[0] == pytest.approx(sum(times), rel=EXACT)
    assert run.counters["chunks"] == 3


@pytest.mark.parametrize("machines", [1, 3, 8])
def test_prompts_that_share_no_batch_wait_as_in_a_queue_with_one_line(deployments, machines):
    """Of 1,500-token prompts no two fit a batch; the earliest end is the first free machine."""
    prompt = deployments["dgx-h100"]
    service = float(prompt.alone_ttft_s(1500))
    rng = np.random.default_rng(machines)
    arrivals = np.cumsum(rng.exponential(service / machines / 0.8, 4000))
    pools = split(prompt, prompt, machines)
    found = simulate(pools, requests(arrivals, 1500, 1), Rules("split")).records
    free = [0.0] * machines
    ends = []
    for arrival in arrivals:
        start = max(arrival, heapq.heappop(free))
        heapq.heappush(free, start + service)
        ends.append(start + service)
    assert found.first_token_s == pytest.approx(ends, rel=1e-7)


def mean_wait_of_m_d_c(servers, load, service_s):
    """Mean wait in M/D/c: ``N(t + D) = max(N(t) - c, 0) + Poisson``, then Little's law."""
    arriving = load * servers
    most = 60 * servers
    poisson = stats.poisson.pmf(np.arange(most), arriving)
    number = np.zeros(most)
    number[0] = 1.0
    for _ in range(2000):
        left = np.concatenate([[number[: servers + 1].sum()], number[servers + 1 :]])
        number = np.convolve(left, poisson)[:most]
    in_system = float(number @ np.arange(most))
    return (in_system / arriving - 1) * service_s


@pytest.mark.parametrize("servers", [1, 2, 6])
def test_the_mean_wait_is_that_of_m_d_c(deployments, servers):
    """Prompts of 1,500 tokens share no batch; the noise of 240,000 arrivals is a few per cent."""
    prompt = deployments["dgx-h100"]
    service = float(prompt.alone_ttft_s(1500))
    rng = np.random.default_rng(servers)
    arrivals = np.cumsum(rng.exponential(service / servers / 0.75, 240_000))
    pools = split(prompt, prompt, servers)
    found = simulate(pools, requests(arrivals, 1500, 1), Rules("split")).records
    expected = mean_wait_of_m_d_c(servers, 0.75, service)
    assert found.queue_s.mean() == pytest.approx(expected, rel=0.06)
    if servers == 1:
        assert expected == pytest.approx(0.75 * service / (2 * 0.25), rel=1e-6)


def test_little_s_law(deployments):
    """Mean number in the system = arrival rate x mean time in it, over a run that empties."""
    load = random_requests(8.0, 300.0, 2)
    h, a = deployments["dgx-h100"], deployments["dgx-a100"]
    records = simulate(split(h, a, 3, 5), load, Rules("split")).records
    edges = np.sort(np.concatenate([records.arrival_s, records.finish_s]))
    middle = (edges[1:] + edges[:-1]) / 2
    arrived = np.searchsorted(np.sort(records.arrival_s), middle)
    left = np.searchsorted(np.sort(records.finish_s), middle)
    span_s = edges[-1] - edges[0]
    in_system = float((arrived - left) @ np.diff(edges)) / span_s
    rate = len(load) / span_s
    assert in_system == pytest.approx(rate * records.e2e_s.mean(), rel=1e-9)


@pytest.mark.parametrize("router", ["expected-finish", "shortest-queue"])
def test_relabelled_machines_change_nothing(deployments, router):
    """The order of the pools, and one pool as two of the same kind."""
    h, a = deployments["dgx-h100"], deployments["dgx-a100"]
    pools = (
        *(SimulatedPool(Role.PROMPT, d, n) for d, n in ((h, 2), (a, 3))),
        *(SimulatedPool(Role.TOKEN, d, n) for d, n in ((h, 2), (a, 4))),
    )
    load = random_requests(9.0, 120.0, 11)
    one = simulate(pools, load, Rules("split", router)).records
    parted = (pools[0], *(SimulatedPool(Role.PROMPT, a, n) for n in (1, 2)), *pools[2:])
    others = [parted] if router == "shortest-queue" else [parted, pools[::-1]]
    for changed in others:
        other = simulate(changed, load, Rules("split", router)).records
        assert other.first_token_s == pytest.approx(one.first_token_s, rel=EXACT)
        assert other.finish_s == pytest.approx(one.finish_s, rel=EXACT)


def shrunk(deployment, tokens):
    """The deployment with memory for so many KV tokens."""
    model, size = deployment.model, deployment.tensor_parallel
    needed = (tokens * model.kv_bytes_per_token + model.weight_bytes) / (0.9 * size) + 1
    machine = deployment.machine.model_copy(update={"accelerator_memory_bytes": needed})
    return dataclasses.replace(deployment, machine=machine)


def narrowed(deployment, bytes_per_s):
    """The deployment with another network."""
    machine = deployment.machine.model_copy(update={"network_bytes_per_s": bytes_per_s})
    return dataclasses.replace(deployment, machine=machine)


def hard_cases(deployments):
    """Clusters under pressure; together they use every mechanism (asserted below)."""
    h, a = deployments["dgx-h100"], deployments["dgx-a100"]
    tight, slow = shrunk(h, 9000), narrowed(h, 3e10)
    mixed = (SimulatedPool(Role.MIXED, h, 2), SimulatedPool(Role.MIXED, a, 1))
    return {
        "split": ((*split(h, a, 2, 2), SimulatedPool(Role.TOKEN, h, 1)), Rules("split")),
        "room": (split(h, tight, 2, 2), Rules("split")),
        "links": (split(slow, slow, 3, 2), Rules("split", "shortest-queue")),
        "colocated": (mixed, Rules("colocated")),
        "colocated room": ((SimulatedPool(Role.MIXED, tight, 3),), Rules("colocated")),
        "chunks": (mixed, Rules("colocated", chunk_tokens=512)),
        "mixed-pool": (split(h, tight, 2, 3), Rules("mixed-pool", most_waiting_tokens=1000)),
        "three pools": (
            (*split(h, a), SimulatedPool(Role.MIXED, h, 1)),
            Rules("mixed-pool", "shortest-queue"),
        ),
    }


CASES = (
    "split",
    "room",
    "links",
    "colocated",
    "colocated room",
    "chunks",
    "mixed-pool",
    "three pools",
)


@pytest.mark.parametrize("name", CASES)
def test_everybody_is_served_in_order_and_nothing_is_left(deployments, name):
    pools, rules = hard_cases(deployments)[name]
    run = simulate(pools, random_requests(9.0, 120.0, 7), rules)
    r, instances = run.records, run.state.instances
    assert np.isfinite(r.finish_s).all()
    assert (r.prompt_start_s >= r.arrival_s).all()
    assert (r.first_token_s > r.prompt_start_s).all()
    assert (r.ready_s >= r.first_token_s).all()
    several = r.output_tokens > 1
    assert (r.token_start_s >= r.ready_s).all()
    assert (r.finish_s > r.token_start_s)[several].all()
    assert (r.finish_s == r.first_token_s)[~several].all()
    for left in ("used_tokens", "kv_tokens", "count", "assigned", "promised_tokens", "prompts"):
        assert not instances[left].any()
    for left in ("pending_tokens", "backlog_ns", "flow_count", "running", "fresh"):
        assert not instances[left].any()


@pytest.mark.parametrize("name", CASES)
def test_the_same_input_gives_the_same_bytes(deployments, name):
    pools, rules = hard_cases(deployments)[name]
    one, other = (simulate(pools, random_requests(9.0, 60.0, 3), rules) for _ in range(2))
    assert one.state.requests.tobytes() == other.state.requests.tobytes()


def test_every_mechanism_is_at_work_in_the_hard_cases(deployments):
    total: dict[str, int] = {}
    load = random_requests(9.0, 120.0, 7)
    for pools, rules in hard_cases(deployments).values():
        failing = [g for g, pool in enumerate(pools) if pool.machines > 1][-1:]
        failures = tuple(MachineFailure(g, 0, 60.0) for g in failing)
        for name, hits in simulate(pools, load, rules, failures=failures).counters.items():
            total[name] = total.get(name, 0) + hits
    assert [name for name, hits in total.items() if hits == 0] == []


def test_the_gaps_between_tokens_add_up(deployments):
    """One gap per token but the first, as everybody is measured."""
    for pools, rules in hard_cases(deployments).values():
        load = random_requests(6.0, 60.0, 5)
        run = simulate(pools, load, rules)
        assert run.state.groups["gaps"].sum() == (load.output_tokens - 1).sum()
