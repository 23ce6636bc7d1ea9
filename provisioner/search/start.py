"""A first cluster that passes, so that an interrupted search has an answer, and a good one.

By the guide's estimate, then with more machines until the judge passes it, then with fewer as
long as it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from provisioner.errors import StoppedError
from provisioner.search.find import find
from provisioner.search.frontier import last_true
from provisioner.search.hunt import Hunt
from provisioner.search.setting import Setting
from provisioner.search.space import Space
from provisioner.search.trials import Counts

_GROWTH = 0.08
_MOST_STEPS = 30
_GUIDE_TIME = 0.25
_LEAST_GUIDE_S = 0.5
"""Share of the time left that the guide may take, and what it gets in any case [s]."""


def alone_by_role(hunt: Hunt) -> Counts:
    """One kind of machine per role, that which serves the demand at the best value."""
    counts = [0] * len(hunt.trials.places)
    for role in hunt.roles:
        members = hunt.ruled_out.members(role)
        enough = {j: math.ceil(1 / hunt.ruled_out.weights[j]) for j in members}
        best = min(members, key=lambda j: hunt.worth(_only(len(counts), j, enough[j])))
        counts[best] = enough[best]
    return tuple(counts)


def by_guide(setting: Setting, space: Space) -> tuple[Counts, float] | None:
    """The guide's own plan of a design and the demand it serves; None where there is none in time.

    The demand is in multiples of the scenario's.
    """
    case = setting.search.case
    limit_s = max(_GUIDE_TIME * setting.allowance.left_s, _LEAST_GUIDE_S)
    changes = {"designs": (space.design,), "time_limit_s": limit_s}
    scenario = case.scenario.model_copy(update=changes)
    try:
        found = find(replace(setting.search, case=replace(case, scenario=scenario)))
    except StoppedError:
        return None
    if found is None:
        return None
    names = [(role, deployment.name) for role, deployment in space.places]
    counts = [0] * len(names)
    for candidate, number in zip(found.problem.candidates, found.solution.machines, strict=True):
        name = candidate.role, candidate.deployment.name
        if number and name not in names:
            return None
        if number:
            counts[names.index(name)] += number
    return tuple(counts), found.solution.theta


def _only(length: int, j: int, number: int) -> Counts:
    return tuple(number if i == j else 0 for i in range(length))


def settle(hunt: Hunt, counts: Counts | None) -> None:
    """Grow a cluster until it passes, then shrink it; the hunt is offered what is found."""
    if counts is None:
        return
    grown = _grown(hunt, counts)
    if grown is not None:
        hunt.offer(grown)
        hunt.offer(_shrunk(hunt, grown))


def _grown(hunt: Hunt, counts: Counts) -> Counts | None:
    """The cluster with more machines, role by role where roles can be told apart."""
    for _ in range(_MOST_STEPS):
        if not hunt.allowed(counts):
            return None
        failed = hunt.ruled_out.failed_roles(counts)
        if not failed:
            if hunt.trials.passes(counts):
                return counts
            failed = list(hunt.roles)
        growing = [j for role in failed for j in hunt.ruled_out.members(role)]
        counts = tuple(
            n + math.ceil(n * _GROWTH) if j in growing else n for j, n in enumerate(counts)
        )
    return None


def _shrunk(hunt: Hunt, counts: Counts) -> Counts:
    """Take away machines of each kind, the dearest pools first, as long as the cluster passes."""
    value = [hunt.worth(_only(len(counts), j, number)) for j, number in enumerate(counts)]
    for j in sorted(range(len(counts)), key=lambda j: -value[j]):
        spared = last_true(counts[j], 1, _without(hunt, counts, j))
        counts = _less(counts, j, spared)
    return counts


def _without(hunt: Hunt, counts: Counts, j: int) -> Callable[[int], bool]:
    return lambda number: hunt.trials.passes(_less(counts, j, number))


def _less(counts: Counts, j: int, number: int) -> Counts:
    return (*counts[:j], counts[j] - number, *counts[j + 1 :])
