"""Types per role: a role has at most so many machine types; operators rarely want more.

``u_t <= uses_m`` per pool size t (`pool_size`) of each candidate of machine type m in the role,
``sum_m uses_m <= limit``. Spares go where a pool is (`spare_machines`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution
from provisioner.planning.variables import Variable, Variables

NAME = "types_per_role"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield the rows that tell which types a role uses, and the limit where there is one."""
    for j, candidate in enumerate(problem.candidates):
        use = variables.uses.get((candidate.role, candidate.machine.name))
        if use is not None:
            for low, size in variables.size[j].items():
                yield f"uses__{candidate.name}__{low}", size <= use
    if problem.max_types_per_role is None:
        return
    for role in problem.roles:
        uses = [use for (r, _), use in variables.uses.items() if r is role]
        yield f"types_per_role__{role.value}", pulp.lpSum(uses) <= problem.max_types_per_role


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per role with too many machine types."""
    if problem.max_types_per_role is None:
        return
    for role in problem.roles:
        used = {
            problem.candidates[j].machine.name
            for j in problem.of_role(role)
            if solution.machines[j] > 0
        }
        if len(used) > problem.max_types_per_role:
            yield f"{role.value}: {len(used)} machine types ({', '.join(sorted(used))})"
