"""The clusters of one design that are looked at, and the bounding program over them.

The program is made from the very requests that the judge counts, not from the nominal demand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from provisioner.capacity.bounding import bounding_candidates
from provisioner.capacity.candidate import Candidate
from provisioner.capacity.demand import Demand
from provisioner.capacity.targets import Targets, resolve_targets
from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.domain.designs import allows, roles_of
from provisioner.domain.workload import IntArray, LengthHistogram
from provisioner.performance.deployment import Deployment
from provisioner.planning.problem import Problem
from provisioner.search.dominance import worth_trying
from provisioner.search.find import Search
from provisioner.search.trials import Place
from provisioner.search.unit_costs import prompt_pool, token_pool
from provisioner.simulation.trial import Trial

_AMPLE = 2
"""Most machines of a kind that are looked at, in multiples of what the guide says is enough."""
_MORE = 10
"""So many machines more than that, for the smallest demands."""


@dataclass(frozen=True)
class Space:
    """Kinds of machines by role, and what is known of them before any is tried.

    ``weights`` are the shares of the demand that one machine of each kind serves, by the guide.
    """

    design: str
    places: tuple[Place, ...]
    problem: Problem
    weights: tuple[float, ...]


def space_of(search: Search, design: str, trial: Trial, theta: float) -> Space:
    """Prepare a design for a trial at ``theta`` times the demand."""
    roles = roles_of(design)
    every = tuple(
        (role, deployment)
        for role in roles
        for deployment in search.guide.deployments
        if allows(design, role, deployment.machine.name)
    )
    tried = {_name(*every[i]) for i in worth_trying(every, search.case.scenario)}
    from_s, until_s = trial.window_s
    demand, candidates = bounding_candidates(
        offered_targets(search.case, trial), search.guide.deployments, roles, until_s - from_s
    )
    kept = tuple(c for c in candidates if _name(c.role, c.deployment) in tried)
    enough = _enough(search, kept, theta)
    problem = replace(
        search.problem(kept),
        demand=demand,
        most=tuple(_AMPLE * n + _MORE for n in enough),
        scale_demand=False,
    )
    return Space(
        design=design,
        places=tuple((c.role, c.deployment) for c in kept),
        problem=problem,
        weights=tuple(1 / n for n in enough),
    )


def _enough(search: Search, candidates: tuple[Candidate, ...], theta: float) -> list[int]:
    """Per candidate, machines that serve all demand alone, by the guide.

    Where it says that a kind cannot keep the SLO, so many that every request has one for itself.
    """
    found: dict[tuple[Role, str], int] = {}
    for role in dict.fromkeys(c.role for c in candidates):
        for able in search.guide.serving_all(role):
            place = _name(able.role, able.deployment)
            enough = _enough_alone(search.guide.demand, able, theta)
            found[place] = min(found.get(place, enough), enough)
    return [
        found.get(_name(c.role, c.deployment)) or _one_each(search, c, theta) for c in candidates
    ]


def _one_each(search: Search, candidate: Candidate, theta: float) -> int:
    """Machines of which every request has an instance for itself while it is served."""
    deployment, busy_s = candidate.deployment, 0.0
    for workload in search.case.workloads:
        lengths = workload.histogram
        each_s = np.zeros(len(lengths.share))
        if candidate.handles_prompts:
            squared = lengths.prompt_sq_sum / lengths.requests
            each_s += deployment.prompt_s(lengths.prompt_tokens, squared)
        if candidate.handles_tokens:
            token_s = deployment.alone_tbt_s(lengths.prompt_tokens, lengths.output_tokens)
            each_s += (lengths.output_tokens - 1) * token_s
        busy_s += workload.rate_per_s * float(lengths.share @ each_s)
    return max(math.ceil(theta * busy_s / candidate.instances), 1)


def _enough_alone(demand: Demand, candidate: Candidate, theta: float) -> int:
    enough = 1
    if candidate.handles_prompts:
        enough = max(enough, prompt_pool(demand, candidate, theta)[0])
    if candidate.handles_tokens:
        enough = max(enough, token_pool(demand, candidate, theta)[0])
    return enough


def _name(role: Role, deployment: Deployment) -> tuple[Role, str]:
    return role, deployment.name


def offered_targets(case: Case, trial: Trial) -> tuple[Targets, ...]:
    """The workloads as the judge counts them: every judged request, at its own lengths."""
    from_s, until_s = trial.window_s
    judged_s = (until_s - from_s) * len(trial.traffic)
    workloads = []
    for index, workload in enumerate(case.workloads):
        prompts, outputs = _judged_lengths(trial, index)
        if len(prompts):
            exact = exact_histogram(prompts, outputs)
            rate = len(prompts) / judged_s
            workloads.append(replace(workload, histogram=exact, rate_per_s=rate))
    return resolve_targets(replace(case, workloads=tuple(workloads)))


def _judged_lengths(trial: Trial, index: int) -> tuple[IntArray, IntArray]:
    prompts, outputs = [], []
    for traffic in trial.traffic:
        requests = traffic.offered.requests
        first, end = np.searchsorted(requests.arrival_s, trial.window_s)
        own = traffic.offered.workload[first:end] == index
        prompts.append(requests.prompt_tokens[first:end][own])
        outputs.append(requests.output_tokens[first:end][own])
    return np.concatenate(prompts), np.concatenate(outputs)


def exact_histogram(prompts: IntArray, outputs: IntArray) -> LengthHistogram:
    """A histogram with a cell for every pair of lengths, so that nothing is averaged."""
    pairs, number = np.unique(np.column_stack([prompts, outputs]), axis=0, return_counts=True)
    prompt, output = pairs[:, 0], pairs[:, 1]
    return LengthHistogram(
        prompt_from=prompt,
        output_from=output,
        requests=number,
        prompt_sum=prompt * number,
        prompt_sq_sum=prompt**2 * number,
        output_sum=output * number,
        product_sum=prompt * output * number,
        output_sq_sum=output**2 * number,
    )
