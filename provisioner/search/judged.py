"""A cluster that somebody named, judged on a scenario's traffic.

Three kinds of traffic: the scenario's own, as a plan is judged on it; windows of its traces, each
compressed to the workload's rate; or its traces whole, once, from their first request to their
last.

Not modelled: spares that take over from machines that fail; they idle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from provisioner.capacity.targets import references_of
from provisioner.domain.case import Case
from provisioner.domain.cluster import NamedCluster, NamedPool, Simulated
from provisioner.domain.failure import Failure
from provisioner.domain.plan import Pool
from provisioner.domain.scenario import WorkloadEntry
from provisioner.domain.trace import Trace
from provisioner.domain.verdict import PoolMeasure
from provisioner.domain.workload import Workload
from provisioner.errors import InputError, UsageError
from provisioner.performance.deployment import Deployment, deploy
from provisioner.performance.memory import shortfall
from provisioner.search.failing import completed_failures, machine_failures
from provisioner.search.notes import notes_of
from provisioner.search.shares import with_classes
from provisioner.search.trials import scheduler_of
from provisioner.simulation.arrivals import Offered, offer, replay_once
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.compilation import warm_up
from provisioner.simulation.judge import judge
from provisioner.simulation.rules import Rules, Scheduler
from provisioner.simulation.trial import new_trial

Traffic = Literal["scenario", "windows", "whole"]
"""The scenario's own traffic, windows of its compressed traces, or its traces whole."""
TRAFFIC: tuple[str, ...] = get_args(Traffic)


def simulate_cluster(
    case: Case,
    cluster: NamedCluster,
    traffic: Traffic = "scenario",
    chunk_tokens: int | None = None,
    failures: tuple[Failure, ...] = (),
) -> Simulated:
    """Judge a cluster.

    Parameters
    ----------
    case : Case
        Resolved from a scenario for this cluster (`provisioner.inputs.clusters.scenario_for`).
    cluster : NamedCluster
        Completed for the case.
    chunk_tokens : int, optional
        Colocated machines do prompts in chunks, so that a batch has at most so many tokens.
    failures : tuple of Failure, optional
        Machines that fail, in every run.

    Raises
    ------
    InputError
        Where the model does not fit a machine, the scheduler or router not the cluster, nothing is
        left after the warm-up, or failures are of machines that the cluster has not.
    UsageError
        Where an option has no effect.
    """
    pools = simulated_pools(case, cluster)
    rules = _rules(case, cluster, chunk_tokens)
    offered = offered_requests(case, traffic)
    if rules.router == "plan-shares":
        rules, offered = _with_shares(case, cluster, rules, offered)
    trial = new_trial(case.workloads, references_of(case), offered, window_s(case, traffic))
    failures = completed_failures(cluster, failures, trial.window_s[1])
    trial = replace(trial, failures=machine_failures(cluster, failures))
    warm_up(pools, rules)
    verdict = judge(trial, case.workloads, pools, rules)
    return Simulated(
        model=case.model.name,
        prices=case.price_list.name,
        workloads=tuple((w.name, w.rate_per_s) for w in case.workloads),
        scheduler=rules.scheduler,
        router=rules.router,
        pools=tuple(
            pool_of(case, pool, measure, simulated.deployment.power.idle_w)
            for pool, measure, simulated in zip(cluster.pools, verdict.pools, pools, strict=True)
        ),
        verdict=verdict,
        warnings=tuple(dict.fromkeys(notes_of(case, pools, trial, verdict))),
        chunk_tokens=chunk_tokens,
        failures=failures,
    )


def simulated_pools(case: Case, cluster: NamedCluster) -> tuple[SimulatedPool, ...]:
    """The working machines of a completed cluster.

    Raises
    ------
    InputError
        Where the model does not fit a machine.
    """
    return tuple(
        SimulatedPool(pool.role, _deployed(case, pool), pool.machines - pool.spares)
        for pool in cluster.pools
    )


def _deployed(case: Case, pool: NamedPool) -> Deployment:
    assert pool.tensor_parallel is not None
    machine = next(m for m in case.machines if m.name == pool.machine)
    problem = shortfall(case.model, machine, pool.tensor_parallel)
    if problem:
        raise InputError(f"{pool.where}: {problem}")
    return deploy(case.model, machine, case.profiles[machine.name, pool.tensor_parallel])


def pool_of(case: Case, pool: NamedPool, measure: PoolMeasure, idle_w: float) -> Pool:
    """A pool as reports show it; ``idle_w`` is drawn by each of its spares [W]."""
    machine = next(m for m in case.machines if m.name == pool.machine)
    assert pool.tensor_parallel is not None
    existing = pool.existing or 0
    return Pool(
        role=pool.role,
        machine=machine.name,
        hardware=machine.hardware,
        tensor_parallel=pool.tensor_parallel,
        instances_per_machine=machine.accelerators // pool.tensor_parallel,
        machines=pool.machines,
        spares=pool.spares,
        existing=existing,
        utilization=measure.utilization,
        usd_per_hour=machine.price_usd_per_hour * (pool.machines - existing),
        provisioned_power_w=machine.provisioned_power_w * pool.machines,
        rack_units=machine.rack_units * pool.machines,
        mean_power_w=measure.mean_power_w + idle_w * pool.spares,
    )


def _rules(case: Case, cluster: NamedCluster, chunk_tokens: int | None) -> Rules:
    scenario = case.scenario
    fitting = scheduler_of(frozenset(pool.role for pool in cluster.pools))
    scheduler = fitting if scenario.scheduler == "auto" else scenario.scheduler
    _check_scheduler(scheduler, fitting)
    if chunk_tokens is not None and scheduler != "colocated":
        raise UsageError(
            f"chunk_tokens changes nothing: only colocated machines do prompts in chunks, and the "
            f"scheduler is {scheduler}"
        )
    if scenario.router == "plan-shares" and not cluster.routing:
        raise InputError(
            "router: plan-shares needs the shares of a saved plan (its routing.csv); simulate "
            "that plan's folder, or choose expected-finish or shortest-queue"
        )
    return Rules(scheduler, scenario.router, chunk_tokens)


def _check_scheduler(scheduler: Scheduler, fitting: Scheduler) -> None:
    allowed = {
        "colocated": ("colocated",),
        "split": ("split", "mixed-pool"),
        "mixed-pool": ("mixed-pool",),
    }[fitting]
    if scheduler not in allowed:
        kinds = {
            "colocated": "mixed machines alone",
            "split": "prompt and token machines",
            "mixed-pool": "mixed machines beside others",
        }
        raise InputError(
            f"scheduler: {scheduler} does not fit {kinds[fitting]} (allowed: auto, "
            f"{', '.join(allowed)})"
        )


def window_s(case: Case, traffic: Traffic) -> tuple[float, float]:
    """From when until when arrivals are judged [s].

    Raises
    ------
    InputError
        Where the warm-up leaves nothing of whole traces.
    """
    simulation = case.scenario.simulation
    if traffic != "whole":
        return simulation.warmup_s, simulation.duration_s
    stated = "warmup_s" in simulation.model_fields_set
    from_s = simulation.warmup_s if stated else 0.0
    until_s = max(_trace(workload).period_s for workload in as_fast_as_asked(case))
    if from_s >= until_s:
        raise InputError(
            f"simulation: warmup_s: {from_s:g} s leave nothing of a trace of {until_s:g} s"
        )
    return from_s, until_s


def offered_requests(case: Case, traffic: Traffic) -> dict[int, Offered]:
    """What every seed offers; whole traces are one seed's, 0.

    Raises
    ------
    InputError
        Where traces are to be replayed and a workload has none.
    """
    simulation = case.scenario.simulation
    if traffic == "whole":
        return {0: replay_once(*as_fast_as_asked(case))}
    workloads, arrivals = case.workloads, simulation.arrivals
    if traffic == "windows":
        workloads, arrivals = as_fast_as_asked(case), "replay"
    if arrivals == "replay":
        for workload in workloads:
            _trace(workload)
    return {
        seed: offer(workloads, arrivals, seed, simulation.duration_s)
        for seed in range(simulation.seeds)
    }


def as_fast_as_asked(case: Case) -> tuple[Workload, ...]:
    """The workloads with their traces compressed to the rates asked for, not superposed."""
    entries = zip(case.scenario.workloads, case.workloads, strict=True)
    return tuple(_compressed(entry, w, case.scenario.growth) for entry, w in entries)


def _compressed(entry: WorkloadEntry, workload: Workload, growth: float) -> Workload:
    trace = _trace(workload)
    speedup = growth
    if entry.rate_per_s is not None and trace.span_s > 0:
        speedup = workload.rate_per_s * trace.span_s / len(trace)
    if speedup != 1:
        trace = trace.compressed(speedup)
    # One whole copy of the circle comes round in a period.
    return replace(workload, trace=trace, rate_per_s=len(trace) / trace.period_s)


def _trace(workload: Workload) -> Trace:
    if workload.trace is None:
        raise InputError(
            f"simulation: arrivals: replay needs a trace, and {workload.name} has none; use poisson"
        )
    return workload.trace


def _with_shares(
    case: Case, cluster: NamedCluster, rules: Rules, offered: dict[int, Offered]
) -> tuple[Rules, dict[int, Offered]]:
    """Rules and requests for `plan-shares`: one column per request class of the plan.

    Requests of no class of the plan go to any machine; they have the last column.
    """
    names = [workload.name for workload in case.workloads]
    stated = {share.workload for share in cluster.routing}
    for name in names:
        if name not in stated:
            raise InputError(
                f"router: plan-shares has no shares of {name}: routing.csv is of other traffic "
                f"({', '.join(sorted(stated))})"
            )
    classes = sorted({(share.workload, share.request_class) for share in cluster.routing})
    column = {key: at for at, key in enumerate(classes)}
    places = {(p.role, p.machine, p.tensor_parallel): at for at, p in enumerate(cluster.pools)}
    shares = np.zeros((len(places), len(classes) + 1))
    for share in cluster.routing:
        place = places.get((share.role, share.machine, share.tensor_parallel))
        if place is not None:
            shares[place, column[share.workload, share.request_class]] = share.share
    return replace(rules, shares=shares), {
        seed: with_classes(requests, names, classes) for seed, requests in offered.items()
    }
