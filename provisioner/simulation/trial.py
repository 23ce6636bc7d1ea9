"""A trial: the traffic of several seeds, ready to judge clusters with.

Every run starts empty. Requests arrive from 0 to the run's length and are all served to their
end; those that arrive before the warm-up's end are not judged. Utilisation, power and gaps are
measured from the warm-up's end until the last arrival is due. A limit holds where the percentile
over the judged requests of all seeds is at or below it; a percentile is the smallest value that
so many requests do not exceed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from provisioner.domain.slo import SloLimit
from provisioner.domain.workload import FloatArray, IntArray, Workload
from provisioner.metrics import BY_NAME
from provisioner.performance.deployment import Deployment
from provisioner.simulation.arrivals import Offered
from provisioner.simulation.cluster import MachineFailure, Requests, SimulatedPool
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import Records, Run, simulate

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Check:
    """One limit of one workload on the requests of one run.

    ``judged`` are the requests that count, ``scale_s`` what their latency is divided by.
    """

    judged: IntArray
    scale_s: FloatArray


@dataclass(frozen=True)
class Traffic:
    """What one seed offers, and the checks of every limit."""

    seed: int
    offered: Offered
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Trial:
    """Traffic, limits and the machines that fail.

    ``window_s`` is where arrivals are judged, in every run.
    """

    limits: tuple[tuple[str, SloLimit], ...]
    traffic: tuple[Traffic, ...]
    window_s: tuple[float, float]
    failures: tuple[MachineFailure, ...] = ()

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the runs."""
        return tuple(traffic.seed for traffic in self.traffic)

    def number(self, index: int) -> int:
        """Judged requests of a limit over all seeds."""
        return sum(len(traffic.checks[index].judged) for traffic in self.traffic)

    def of_metrics(self, names: Collection[str]) -> Trial:
        """The trial with the limits on these metrics alone."""
        kept = [i for i, (_, limit) in enumerate(self.limits) if limit.metric in names]
        return replace(
            self,
            limits=tuple(self.limits[i] for i in kept),
            traffic=tuple(
                replace(t, checks=tuple(t.checks[i] for i in kept)) for t in self.traffic
            ),
        )

    def with_requests(self, change: Callable[[Requests], Requests]) -> Trial:
        """The trial with other requests, judged as before."""
        return replace(
            self,
            traffic=tuple(
                replace(t, offered=replace(t.offered, requests=change(t.offered.requests)))
                for t in self.traffic
            ),
        )


def new_trial(
    workloads: tuple[Workload, ...],
    references: dict[str, Deployment],
    offered: dict[int, Offered],
    window_s: tuple[float, float],
) -> Trial:
    """Prepare the checks of every limit.

    Parameters
    ----------
    references : dict
        Deployments that slowdowns are relative to, by the name of the SLO's reference.
    offered : dict
        What each seed offers.
    window_s : (float, float)
        Requests that arrive from the first time to before the second are judged.
    """
    limits = tuple((w.name, limit) for w in workloads for limit in w.slo.limits)
    return Trial(
        limits=limits,
        traffic=tuple(
            _traffic(workloads, references, seed, requests, window_s)
            for seed, requests in offered.items()
        ),
        window_s=window_s,
    )


def _traffic(
    workloads: tuple[Workload, ...],
    references: dict[str, Deployment],
    seed: int,
    offered: Offered,
    window_s: tuple[float, float],
) -> Traffic:
    first, end = np.searchsorted(offered.requests.arrival_s, window_s)
    own = np.arange(len(offered))
    inside = (own >= first) & (own < end)
    checks = []
    for index, workload in enumerate(workloads):
        judged = np.flatnonzero(inside & (offered.workload == index))
        reference = references.get(workload.slo.reference or "")
        made: dict[tuple[str, str], Check] = {}  # limits on one metric share what they need
        for limit in workload.slo.limits:
            key = limit.metric, limit.unit
            if key not in made:
                made[key] = _check(limit, offered.requests, judged, reference)
            checks.append(made[key])
    return Traffic(seed, offered, tuple(checks))


def _check(
    limit: SloLimit, requests: Requests, judged: IntArray, reference: Deployment | None
) -> Check:
    if limit.metric == "tbt":
        judged = judged[requests.output_tokens[judged] > 1]  # one token has no gap
    if limit.unit == "s" or reference is None:
        return Check(judged, np.ones(len(judged)))
    alone_s = BY_NAME[limit.metric].alone_s(reference, requests)
    return Check(judged, np.asarray(alone_s)[judged])


def values_of(trial: Trial, traffic: Traffic, records: Records) -> Iterator[FloatArray]:
    """Yield the judged requests' values of every limit, each in the limit's unit."""
    measured = {
        name: BY_NAME[name].measure(records) for name in {x.metric for _, x in trial.limits}
    }
    before, values = None, np.empty(0)
    for (_, limit), check in zip(trial.limits, traffic.checks, strict=True):
        if check is not before:
            before, values = check, measured[limit.metric][check.judged] / check.scale_s
        yield values


def passes(trial: Trial, pools: tuple[SimulatedPool, ...], rules: Rules) -> bool:
    """Whether a cluster keeps every limit; runs stop as soon as one is out of reach."""
    left = [_may_exceed(limit, trial.number(i)) for i, (_, limit) in enumerate(trial.limits)]
    for traffic, run in run_all(trial, pools, rules):
        for i, values in enumerate(values_of(trial, traffic, run.records)):
            left[i] -= int(np.count_nonzero(values > trial.limits[i][1].limit))
        if min(left, default=0) < 0:
            return False
    return True


def _may_exceed(limit: SloLimit, number: int) -> int:
    return number - rank(limit.quantile, number)


def rank(quantile: float, number: int) -> int:
    """Requests that must be at or below a percentile, of so many."""
    return max(math.ceil(quantile * number - _ROUNDING), min(number, 1))


def run_all(
    trial: Trial, pools: tuple[SimulatedPool, ...], rules: Rules
) -> Iterator[tuple[Traffic, Run]]:
    """Yield the run of every seed, in order; as many at a time as there are processors."""

    def run(traffic: Traffic) -> Run:
        return simulate(pools, traffic.offered.requests, rules, trial.window_s, trial.failures)

    width = min(os.cpu_count() or 1, len(trial.traffic))
    if width == 1:
        for traffic in trial.traffic:
            yield traffic, run(traffic)
        return
    with ThreadPoolExecutor(width) as workers:
        for start in range(0, len(trial.traffic), width):
            wave = trial.traffic[start : start + width]
            yield from zip(wave, workers.map(run, wave), strict=True)
