"""Served: every class is served in full, in both phases, by pools that may serve it.

Per class k: ``sum_prompt x + sum_mixed z = theta``, and where requests have a second token
(``E[o - 1] > 0``) ``sum_token y = sum_prompt x``.

Not modelled: requests that are turned away.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pulp

from provisioner.domain.base import Role
from provisioner.planning.problem import TOLERANCE, Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "served"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield two rows per class, the second where prompt and token role both have work of it."""
    for k in range(len(problem.demand.names)):
        prompt = _shares(problem, variables, Role.PROMPT, k)
        token = _shares(problem, variables, Role.TOKEN, k)
        mixed = _shares(problem, variables, Role.MIXED, k)
        theta = 1 if variables.theta is None else variables.theta
        yield f"served__{k}", pulp.lpSum(prompt + mixed) == theta
        if (prompt or token) and problem.demand.iterations[k] > 0:
            yield f"handed_over__{k}", pulp.lpSum(token) == pulp.lpSum(prompt)


def _shares(problem: Problem, variables: Variables, role: Role, k: int) -> list[Variable]:
    return [variables.serve[i][k] for i in problem.of_role(role) if k in variables.serve[i]]


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per class that is not served in full, or where it may not be."""
    prompt, token, mixed = (
        solution.serve[problem.of_role(role)].sum(axis=0)
        for role in (Role.PROMPT, Role.TOKEN, Role.MIXED)
    )
    close = TOLERANCE * max(1.0, solution.theta)
    for k in np.flatnonzero(np.abs(prompt + mixed - solution.theta) > close):
        yield f"class {problem.demand.names[k]}: {prompt[k] + mixed[k]:g} of {solution.theta:g}"
    generating = problem.demand.iterations > 0
    for k in np.flatnonzero(generating & (np.abs(prompt - token) > close)):
        yield f"class {problem.demand.names[k]}: {prompt[k]:g} prompts, {token[k]:g} generated"
    for j, candidate in enumerate(problem.candidates):
        for k in np.flatnonzero(~candidate.serves & (solution.serve[j] > close)):
            yield f"class {problem.demand.names[k]}: not to be served by {candidate.name}"
