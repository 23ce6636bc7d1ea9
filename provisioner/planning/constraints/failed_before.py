"""Failed before: where a cluster failed, a better one has more machines in one of its pools.

Per pool, the counts ``c_1 < c_2 < ...`` that cuts ask for are reached one after the other:
``n >= sum_i (c_i - c_(i-1)) y_i`` and ``y_i >= y_(i+1)``, y binary. Per cut (pools J, counts f):
``sum_j y_j(f_j + 1) >= 1`` over J. It rules out every cluster with no more machines than the failed
one in these pools. Steps that all cuts share leave the solver far less to branch on than a
variable per cut and pool.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "failed_before"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield the rows of every step, then of every cut."""
    for j, steps in enumerate(variables.reach):
        yield from _in_order(problem.candidates[j].name, variables.machines[j], steps)
    for number, cut in enumerate(problem.cuts):
        reached = [variables.reach[j].get(count + 1) for j, count in cut.counts]
        yield f"{NAME}__{number}", pulp.lpSum(r for r in reached if r is not None) >= 1


def _in_order(
    name: str, machines: Variable, steps: dict[int, Variable]
) -> Iterator[tuple[str, Variable]]:
    if steps:
        sizes = [after - before for before, after in itertools.pairwise([0, *steps])]
        total = pulp.lpSum(size * y for size, y in zip(sizes, steps.values(), strict=True))
        yield f"reach__{name}", machines >= total
    for (_, lower), (count, higher) in itertools.pairwise(steps.items()):
        yield f"reach__{name}__{count}", lower >= higher


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per cut that rules the solution out."""
    for number, cut in enumerate(problem.cuts):
        if all(solution.machines[j] <= count for j, count in cut.counts):
            yield f"no more machines than cluster {number}, which failed"
