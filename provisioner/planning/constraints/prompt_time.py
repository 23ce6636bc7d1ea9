"""Prompt time: a pool's prompt work fits the share of its time that its size allows.

``sum_k lambda_k P_k x_k <= I sum_t h_t m_t`` with P the prompt seconds of a request, I the
instances per machine, and m_t the machines counted under headroom h_t (`pool_size`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pulp

from provisioner.planning.problem import Problem, Solution, exceeds, prompt_work
from provisioner.planning.variables import Variable, Variables

NAME = "prompt_time"


def rows(problem: Problem, variables: Variables) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate that does prompts."""
    for i, candidate in enumerate(problem.candidates):
        if not candidate.handles_prompts:
            continue
        weight = problem.demand.rate_per_s * candidate.prompt_s
        work = pulp.lpSum(float(weight[k]) * x for k, x in variables.serve[i].items())
        headroom = {tier.low: tier.headroom for tier in candidate.tiers}
        if variables.sized[i]:
            room = pulp.lpSum(
                candidate.instances * headroom[low] * m for low, m in variables.sized[i].items()
            )
        else:
            top = candidate.instances * candidate.tiers[-1].headroom
            room = pulp.lpSum([top * variables.machines[i]])
        yield f"prompt_time__{candidate.name}", work <= room


def violations(problem: Problem, solution: Solution) -> Iterator[str]:
    """Yield one sentence per pool with more prompt work than its size allows."""
    for i, candidate in enumerate(problem.candidates):
        if not candidate.handles_prompts:
            continue
        machines = solution.machines[i]
        room = candidate.instances * candidate.headroom(machines) * machines
        work = prompt_work(problem, solution, i)
        if exceeds(work, room):
            yield f"{candidate.name}: {work:g} s/s of prompt work in {room:g}"
