"""The most that a given cluster serves within the SLO."""

from __future__ import annotations

import time
from collections.abc import Iterable

from provisioner.capacity.targets import references_of
from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.search.find import Progress, prepare
from provisioner.search.highest import Demands
from provisioner.search.setting import Setting
from provisioner.search.space import Space
from provisioner.search.trials import Allowance, OutOfTimeError

Working = tuple[Role, str, int, int]
"""Role, machine type, tensor parallelism, and number of working machines."""


def highest_rate(
    case: Case,
    cluster: Iterable[Working],
    guess: float = 1.0,
    limit_s: float = 60.0,
    progress: Progress = lambda _: None,
) -> float | None:
    """Find the highest rate at which a cluster passes, to a relative step of 0.1 %.

    Parameters
    ----------
    case : Case
        Its demand is varied by scaling the same arrivals.
    guess : float
        Where to begin, in multiples of the case's demand.
    limit_s : float
        Most time [s].

    Returns
    -------
    float or None
        All workloads together [requests/s]; None where the cluster serves nothing, or time was up.
    """
    search = prepare(case)
    setting = Setting(search, references_of(case), Allowance(time.monotonic() + limit_s), progress)
    named = {(d.machine.name, d.tensor_parallel): d for d in search.guide.deployments}
    pools = list(cluster)
    places = tuple((role, named[machine, size]) for role, machine, size, _ in pools)
    space = Space("given", places, search.problem(()), (1.0,) * len(places))
    try:
        theta = Demands(setting, space).highest(tuple(number for *_, number in pools), guess)
    except OutOfTimeError:
        return None
    return None if theta is None else theta * search.guide.demand.total_rate_per_s
