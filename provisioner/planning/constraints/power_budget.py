"""Power budget: the cluster never reserves more power than the site allows.

``sum_m P_m used_m <= limit`` with P the provisioned power of a machine [W], spares and existing
machines included.

Not modelled: power below nameplate at partial load; the site must reserve nameplate.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.planning.objectives import power
from provisioner.planning.problem import Problem, Solution, exceeds
from provisioner.planning.variables import Variable, Variables

NAME = "power_budget"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row; nothing where there is no limit."""
    if problem.limits.power_w is not None:
        yield NAME, power.expression(problem, variables) <= problem.limits.power_w


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence where the limit is exceeded."""
    limit, used = problem.limits.power_w, power.value(problem, solution)
    if limit is not None and exceeds(used, limit):
        yield f"{used:g} W of {limit:g}"
