"""Which pool of its role serves which request class, for any vector of counts.

One canonical set of shares per vector: the fullest pool of each role is as little used as can be,
then the least work is done (`planning.balance`), by the guide's coefficients. Whether the pools
have enough room is not asked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from provisioner.capacity.candidate import Candidate, Tier, candidate_name
from provisioner.capacity.demand import Demand, bucket_names
from provisioner.capacity.guide import Guide
from provisioner.domain.base import Role
from provisioner.domain.workload import FloatArray
from provisioner.performance.deployment import MIXED_FACTOR
from provisioner.performance.token import MAX_BATCH
from provisioner.planning.balance import balanced
from provisioner.planning.problem import Problem, Solution
from provisioner.search.trials import Counts, Place
from provisioner.simulation.arrivals import Offered

ClassKey = tuple[str, str]
"""Names of a workload and of a request class within it."""


@dataclass
class Gateway:
    """Shares by counts, of the places of one design."""

    demand: Demand
    candidates: tuple[Candidate, ...]
    _known: dict[Counts, FloatArray] = field(default_factory=dict)

    def shares(self, counts: Counts) -> FloatArray:
        """Share of each class that each place serves in its role, places x classes."""
        if any(n and c.role is Role.MIXED for n, c in zip(counts, self.candidates, strict=True)):
            return self._balanced(counts)
        total = np.zeros((len(counts), len(self.demand.names)))
        for role in (Role.PROMPT, Role.TOKEN):
            own = tuple(
                n if c.role is role else 0 for n, c in zip(counts, self.candidates, strict=True)
            )
            if any(own):
                total += self._balanced(own)
        return total

    def _balanced(self, counts: Counts) -> FloatArray:
        if counts not in self._known:
            self._known[counts] = self._balance(counts)
        return self._known[counts]

    def _balance(self, counts: Counts) -> FloatArray:
        nothing = np.zeros((len(counts), len(self.demand.names)))
        solution = Solution(counts, tuple(0 for _ in counts), {}, nothing, 1.0)
        problem = Problem(demand=self.demand, candidates=self.candidates)
        found = balanced(problem, solution, most_full=None).serve
        return found if found.any() else _by_machines(self.candidates, counts, nothing)


def _by_machines(
    candidates: tuple[Candidate, ...], counts: Counts, nothing: FloatArray
) -> FloatArray:
    """Every class in proportion to the machines, where the coefficients allow nothing."""
    shares = nothing.copy()
    for role in {c.role for n, c in zip(counts, candidates, strict=True) if n}:
        own = [j for j, c in enumerate(candidates) if c.role is role]
        number = sum(counts[j] for j in own)
        for j in own:
            shares[j] = counts[j] / number
    return shares


def gateway_of(guide: Guide, places: tuple[Place, ...], budget: int) -> Gateway:
    """Candidates that serve everything, one for every place.

    Parameters
    ----------
    budget : int
        TTFT budget of the guide's candidates. What cannot keep the SLO under it gets the
        coefficients of a machine that has no SLO.
    """
    roles = tuple(dict.fromkeys(role for role, _ in places))
    able: dict[tuple[Role, str], Candidate] = {}
    for candidate in guide.candidates(roles, budget):
        if candidate.serves.all():
            able.setdefault((candidate.role, candidate.deployment.name), candidate)
    return Gateway(
        guide.demand,
        tuple(
            _of_any_size(
                able.get((role, deployment.name)) or _without_slo(guide, (role, deployment))
            )
            for role, deployment in places
        ),
    )


def _of_any_size(candidate: Candidate) -> Candidate:
    """The candidate with the headroom of a large pool, so that shares do not jump with size."""
    return replace(candidate, tiers=(Tier(1, candidate.tiers[-1].headroom),))


def _without_slo(guide: Guide, place: Place) -> Candidate:
    role, deployment = place
    intercepts, slopes = deployment.token.segments
    factor = MIXED_FACTOR if role is Role.MIXED else 1.0
    return Candidate(
        name=candidate_name(role, deployment, 0, 1),
        role=role,
        deployment=deployment,
        serves=np.ones(len(guide.demand.names), dtype=bool),
        prompt_s=factor * guide.demand.prompt_s(deployment),
        tiers=(Tier(1, 1.0),),
        intercepts_s=intercepts,
        slopes_s=slopes,
        context_s=deployment.token.context_s,
        target_s=np.inf,
        kv_room_tokens=deployment.kv_room_tokens,
        batch_limit=float(MAX_BATCH),
        phases_share_time=True,
    )


def classes_of(demand: Demand) -> list[ClassKey]:
    """Every class of a demand, in its order."""
    return [
        (demand.workloads[which].name, name)
        for which, name in zip(demand.workload, demand.names, strict=True)
    ]


def with_classes(
    offered: Offered, workloads: Sequence[str], classes: Sequence[ClassKey]
) -> Offered:
    """Requests with the number of their class; those of none of them get one more."""
    requests = offered.requests
    column = {key: at for at, key in enumerate(classes)}
    buckets = bucket_names(requests.prompt_tokens, requests.output_tokens)
    keys = zip((workloads[w] for w in offered.workload), buckets, strict=True)
    numbers = np.array([column.get(key, len(column)) for key in keys], dtype=np.int64)
    return replace(offered, requests=replace(requests, request_class=numbers))
