"""Rack space: the cluster's machines fit the rack units of the site.

``sum_m U_m used_m <= limit``, spares and existing machines included.

Not modelled: racks that are full before their neighbours, switches and patch panels.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.planning.limits import rack_units
from provisioner.planning.problem import Problem, Solution, exceeds
from provisioner.planning.variables import Variable, Variables

NAME = "rack_space"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row; nothing where there is no limit."""
    if problem.limits.rack_units is not None:
        used = rack_units(problem).expression(problem, variables)
        yield NAME, used <= problem.limits.rack_units


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence where the limit is exceeded."""
    limit, used = problem.limits.rack_units, rack_units(problem).value(problem, solution)
    if limit is not None and exceeds(used, limit):
        yield f"{used:g} rack units of {limit:g}"
