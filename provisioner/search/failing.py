"""Which machines of a simulated cluster fail when.

The first machines of a pool fail first. Spares do not: they idle, and do not take over.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from provisioner.domain.cluster import NamedCluster, NamedPool
from provisioner.domain.failure import Failure
from provisioner.errors import InputError
from provisioner.simulation.cluster import MachineFailure


def completed_failures(
    cluster: NamedCluster, failures: tuple[Failure, ...], duration_s: float
) -> tuple[Failure, ...]:
    """The failures in order of time, with the tensor parallelism of the pools that they are of.

    Parameters
    ----------
    cluster : NamedCluster
        Completed.
    duration_s : float
        Time in which requests arrive [s].

    Raises
    ------
    InputError
        Where the cluster has no such machines, a role would be left without any, or nothing
        arrives any more.
    """
    sized = []
    for failure in failures:
        if failure.time_s >= duration_s:
            raise InputError(
                f"failure {failure}: requests arrive in the first {duration_s:g} s only"
            )
        pool = cluster.pools[_place(cluster, failure)]
        sized.append(replace(failure, tensor_parallel=pool.tensor_parallel))
    ordered = tuple(sorted(sized, key=lambda failure: failure.time_s))
    _check_enough(cluster, ordered)
    return ordered


def machine_failures(
    cluster: NamedCluster, failures: tuple[Failure, ...]
) -> tuple[MachineFailure, ...]:
    """The same by number of pool and machine."""
    gone: Counter[int] = Counter()
    events = []
    for failure in failures:
        place = _place(cluster, failure)
        for _ in range(failure.machines):
            events.append(MachineFailure(place, gone[place], failure.time_s))
            gone[place] += 1
    return tuple(events)


def _place(cluster: NamedCluster, failure: Failure) -> int:
    fitting = [
        place
        for place, pool in enumerate(cluster.pools)
        if (pool.role, pool.machine) == (failure.role, failure.machine)
        and failure.tensor_parallel in (None, pool.tensor_parallel)
    ]
    if len(fitting) == 1:
        return fitting[0]
    pools = ", ".join(_label(pool) for pool in cluster.pools)
    problem = "several such pools; add /tpN" if fitting else "no such pool"
    raise InputError(f"failure {failure}: {problem} (pools: {pools})")


def _label(pool: NamedPool) -> str:
    return f"{pool.role.value}:{pool.machine}/tp{pool.tensor_parallel}"


def _check_enough(cluster: NamedCluster, failures: tuple[Failure, ...]) -> None:
    gone: Counter[int] = Counter()
    for failure in failures:
        gone[_place(cluster, failure)] += failure.machines
    for place, pool in enumerate(cluster.pools):
        working = pool.machines - pool.spares
        if gone[place] > working:
            raise InputError(
                f"failures: {gone[place]} machines of {_label(pool)} are to fail, and {working} "
                f"work{' besides spares' if pool.spares else ''}"
            )
    for role in {pool.role for pool in cluster.pools}:
        places = [place for place, pool in enumerate(cluster.pools) if pool.role == role]
        left = sum(
            cluster.pools[place].machines - cluster.pools[place].spares - gone[place]
            for place in places
        )
        if left == 0:
            raise InputError(
                f"failures: no {role.value} machine would be left; at least one is needed"
            )
