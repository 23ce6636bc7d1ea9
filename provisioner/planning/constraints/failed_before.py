"""Failed before: where a cluster failed, a better one has more machines in one of its pools.

Per cut (pools J, counts f): ``n_j >= (f_j + 1) y_j`` and ``sum_j y_j >= 1`` over J, y binary. It
rules out every cluster with no more machines than the failed one in these pools.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "failed_before"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield the rows of every cut."""
    for number, (cut, chosen) in enumerate(zip(problem.cuts, variables.more, strict=True)):
        for j, count in cut.counts:
            if j in chosen:
                more = variables.machines[j] >= (count + 1) * chosen[j]
                yield f"more__{number}__{problem.candidates[j].name}", more
        yield f"{NAME}__{number}", pulp.lpSum(chosen.values()) >= 1


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per cut that rules the solution out."""
    for number, cut in enumerate(problem.cuts):
        if all(solution.machines[j] <= count for j, count in cut.counts):
            yield f"no more machines than cluster {number}, which failed"
