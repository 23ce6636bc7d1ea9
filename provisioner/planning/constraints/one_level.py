"""One level: a deployment is held to one SLO level in a role.

Of the candidates of one deployment in one role, which differ in the SLO level that they are held
to, at most one is used.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "one_level"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per deployment and role with several levels."""
    for group in _groups(problem):
        chosen = [size for j in group for size in variables.size[j].values()]
        yield f"one_level__{problem.candidates[group[0]].name}", pulp.lpSum(chosen) <= 1


def _groups(problem: Problem) -> list[list[int]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for j, candidate in enumerate(problem.candidates):
        groups.setdefault((candidate.role, candidate.deployment.name), []).append(j)
    return [group for group in groups.values() if len(group) > 1]


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per deployment and role used at several levels."""
    for group in _groups(problem):
        used = [problem.candidates[j].name for j in group if solution.machines[j] > 0]
        if len(used) > 1:
            yield f"several SLO levels at once: {', '.join(used)}"
