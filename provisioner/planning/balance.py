"""Balance: of all routings that a vector of machine counts allows, the one that is reported.

The program fixes counts; which pool serves which request class is often open. Here the fullest
pool of each role is as little used as can be, and of what is still open the routing with the
least work is taken. Slightly unequal weights leave one such routing, whatever the solver.

Not modelled: routing that follows the state of the machines from moment to moment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from provisioner.domain.base import Role
from provisioner.domain.workload import FloatArray
from provisioner.planning import iteration
from provisioner.planning.constraints import batch_limit, kv_room, network, token_time
from provisioner.planning.problem import Problem, Solution

_CLOSE = 1e-9
_TOLERANCE = 2e-7
"""How much more than full a pool may be: the solver's own tolerance."""
_UNEQUAL = 1e-2
_GOLDEN = (np.sqrt(5) - 1) / 2
_TOKEN_RULES = (token_time.taken, kv_room.taken, batch_limit.taken)


@dataclasses.dataclass(frozen=True)
class _Row:
    """Instances that serving each whole class takes in a pool, and how many it has."""

    pool: int
    weight: FloatArray
    available: float


def balanced(
    problem: Problem, solution: Solution, most_full: float | None = 1 + _TOLERANCE
) -> Solution:
    """Return the solution with its shares balanced; the counts stay.

    A solution that cannot be balanced, for the solver's tolerances, is returned as it is. A role
    that stands alone serves everything.

    Parameters
    ----------
    most_full : float, optional
        How much of itself a pool may be used, by the program's coefficients; None for any.
    """
    pools = [j for j, count in enumerate(solution.machines) if count > 0]
    places = [(j, k) for j in pools for k in _able(problem, j)]
    roles = list(dict.fromkeys(problem.candidates[j].role for j in pools))
    rows = [row for j in pools for row in _rows(problem, solution, j)]
    served = _served(problem, roles, places)
    matrix = np.array([_coefficients(problem, row, places, roles) for row in rows])
    program = {
        "A_ub": matrix,
        "b_ub": np.zeros(len(rows)),
        "A_eq": served,
        "b_eq": (np.arange(len(served)) < len(problem.demand.names)).astype(float),
    }
    full = [(0.0, None)] * len(places) + [(0.0, most_full)] * len(roles)
    fullest = linprog([0.0] * len(places) + [1.0] * len(roles), bounds=full, **program)
    if not fullest.success:
        return solution
    ceilings = fullest.x[len(places) :] * (1 + _CLOSE) + _CLOSE
    if most_full is not None:
        ceilings = np.minimum(ceilings, most_full + _TOLERANCE)
    bounds = [(0.0, None)] * len(places) + [(0.0, ceiling) for ceiling in ceilings]
    least = linprog([*_work(rows, places), *[0.0] * len(roles)], bounds=bounds, **program)
    if not least.success:
        return solution
    serve = np.zeros_like(solution.serve)
    for (j, k), share in zip(places, least.x, strict=False):
        serve[j, k] = share * solution.theta if share > _CLOSE else 0.0
    return dataclasses.replace(solution, serve=serve)


def _able(problem: Problem, j: int) -> list[int]:
    return [int(k) for k in np.flatnonzero(problem.candidates[j].serves)]


def _rows(problem: Problem, solution: Solution, j: int) -> Iterator[_Row]:
    """Everything that the work of one pool uses up, at the solution's theta."""
    candidate, machines = problem.candidates[j], solution.machines[j]
    instances = candidate.instances * machines
    if candidate.handles_prompts:
        work = problem.demand.rate_per_s * candidate.prompt_s * solution.theta
        yield _Row(j, work, instances * candidate.headroom(machines))
    if candidate.role is not Role.MIXED:
        yield _Row(j, network.machines_per_share(problem, j) * solution.theta, machines)
    if candidate.handles_tokens:
        for rule in _TOKEN_RULES:
            for weight, per_instance in iteration.weights(problem, candidate, rule):
                yield _Row(j, weight * solution.theta, instances * (1 - per_instance))


def _coefficients(
    problem: Problem, row: _Row, places: list[tuple[int, int]], roles: list[Role]
) -> list[float]:
    """One row: what its pool's shares take is within the role's ceiling of what there is."""
    taken = [float(row.weight[k]) if j == row.pool else 0.0 for j, k in places]
    role = problem.candidates[row.pool].role
    return taken + [-row.available if other is role else 0.0 for other in roles]


def _served(problem: Problem, roles: list[Role], places: list[tuple[int, int]]) -> FloatArray:
    """Rows for each class: its prompts are served in full, and handed over in full."""
    classes = range(len(problem.demand.names))
    generating = np.flatnonzero(problem.demand.iterations > 0)
    first = {Role.TOKEN: 1.0} if set(roles) == {Role.TOKEN} else {Role.PROMPT: 1.0, Role.MIXED: 1.0}
    rows = [(first, k) for k in classes]
    if len(roles) > 1 and {Role.PROMPT, Role.TOKEN} & set(roles):
        rows += [({Role.PROMPT: 1.0, Role.TOKEN: -1.0}, int(k)) for k in generating]
    return np.array(
        [
            [sign.get(problem.candidates[j].role, 0.0) * (which == k) for j, which in places]
            + [0.0] * len(roles)
            for sign, k in rows
        ]
    )


def _work(rows: list[_Row], places: list[tuple[int, int]]) -> list[float]:
    """Cost of each share: the largest part of its pool that it takes, all slightly unequal."""
    most: dict[tuple[int, int], float] = dict.fromkeys(places, 0.0)
    for row in rows:
        for j, k in places:
            if j == row.pool and row.available > 0:
                most[j, k] = max(most[j, k], float(row.weight[k]) / row.available)
    return [
        part * (1 + _UNEQUAL * ((number * _GOLDEN) % 1))
        for number, part in enumerate(most.values(), start=1)
    ]
