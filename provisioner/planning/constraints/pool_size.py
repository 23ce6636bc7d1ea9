"""Pool size: a pool counts on the headroom of one size, and must be at least that large.

``n = sum_t m_t``, ``low_t u_t <= m_t <= high_t u_t``, ``sum_t u_t <= 1``: larger pools queue less
and may be filled further. A pool below its lowest size cannot be bought.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "pool_size"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield the rows of every candidate whose headroom depends on its size."""
    for j, candidate in enumerate(problem.candidates):
        sizes, sized = variables.size[j], variables.sized[j]
        if not sizes:
            continue
        yield f"one_size__{candidate.name}", pulp.lpSum(sizes.values()) <= 1
        yield f"sized__{candidate.name}", pulp.lpSum(sized.values()) == variables.machines[j]
        highs = [low - 1 for low in list(sizes)[1:]] + [variables.machines[j].upBound]
        for (low, chosen), high in zip(sizes.items(), highs, strict=True):
            yield f"at_least__{candidate.name}__{low}", sized[low] >= low * chosen
            yield f"at_most__{candidate.name}__{low}", sized[low] <= high * chosen


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool below its lowest size."""
    for j, candidate in enumerate(problem.candidates):
        machines, low = solution.machines[j], candidate.tiers[0].low
        if 0 < machines < low:
            yield f"{candidate.name}: {machines} machines, at least {low} needed"
