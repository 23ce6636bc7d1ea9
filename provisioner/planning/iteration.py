"""What the constraints on token iterations share: time at the fixed point, segment by segment.

An instance's token iterations, KV-cache reads and, in a mixed pool, prompts all take its time:
``s_i L + c M + 1.1 P <= n``. Each constraint adds what the intercept a_i takes besides, as three
coefficients: seconds per token iteration, per KV-token iteration, and the share of an instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pulp

from provisioner.capacity.candidate import Candidate
from provisioner.domain.base import Role
from provisioner.domain.workload import FloatArray
from provisioner.planning.problem import (
    Problem,
    Solution,
    exceeds,
    kv_token_iterations,
    prompt_work,
    token_iterations,
)
from provisioner.planning.variables import Variable, Variables

Taken = Callable[[Candidate, float], tuple[float, float, float]]
"""(candidate, intercept) to what the intercept takes: per L, per M, per instance."""


def prompts_take_time(candidate: Candidate) -> bool:
    """Whether prompt work lengthens the token iterations of a pool."""
    return candidate.role is Role.MIXED and candidate.phases_share_time


def rows(
    problem: Problem, variables: Variables, name: str, taken: Taken
) -> Iterator[tuple[str, Variable]]:
    """Yield one row per candidate that generates tokens and segment of its iteration time."""
    for j, candidate in enumerate(problem.candidates):
        if not candidate.handles_tokens:
            continue
        for i, (weight, per_instance) in enumerate(weights(problem, candidate, taken)):
            load = pulp.lpSum(float(weight[k]) * y for k, y in variables.serve[j].items())
            room = candidate.instances * (1 - per_instance) * variables.machines[j]
            yield f"{name}__{candidate.name}__{i}", load <= room


def weights(
    problem: Problem, candidate: Candidate, taken: Taken
) -> Iterator[tuple[FloatArray, float]]:
    """Yield (instances that each whole class takes, share of an instance lost) per segment."""
    demand = problem.demand
    for intercept, slope in zip(candidate.intercepts_s, candidate.slopes_s, strict=True):
        per_iteration, per_kv, per_instance = taken(candidate, float(intercept))
        seconds = (slope + per_iteration) * demand.iterations
        seconds = seconds + (candidate.context_s + per_kv) * demand.kv_token_iterations
        if prompts_take_time(candidate):
            seconds = seconds + candidate.prompt_s
        yield demand.rate_per_s * seconds, per_instance


def shortages(
    problem: Problem, solution: Solution, taken: Taken
) -> Iterator[tuple[Candidate, float]]:
    """Yield (candidate, instances missing) for every pool that has too few."""
    for j, candidate in enumerate(problem.candidates):
        if not candidate.handles_tokens:
            continue
        used, available = max(
            usage(problem, solution, j, taken), key=lambda pair: pair[0] - pair[1]
        )
        if exceeds(used, available):
            yield candidate, used - available


def usage(
    problem: Problem, solution: Solution, j: int, taken: Taken
) -> Iterator[tuple[float, float]]:
    """Yield (instances used, instances available) per segment of one pool."""
    candidate = problem.candidates[j]
    load = token_iterations(problem, solution, j)
    context = kv_token_iterations(problem, solution, j)
    prompts = prompt_work(problem, solution, j) if prompts_take_time(candidate) else 0.0
    instances = candidate.instances * solution.machines[j]
    for intercept, slope in zip(candidate.intercepts_s, candidate.slopes_s, strict=True):
        per_iteration, per_kv, per_instance = taken(candidate, float(intercept))
        used = (slope + per_iteration) * load + (candidate.context_s + per_kv) * context + prompts
        yield float(used), instances * (1 - per_instance)
