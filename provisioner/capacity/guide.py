"""The guide: candidates whose coefficients hold the SLO by the analytic latency estimate.

For a TTFT budget (see `targets`), a prompt pool's headroom is the utilisation at which the TTFT
limits and the budget hold; a token pool's largest batch is the one at which the TBT limits and,
with the budget spent, the E2E limits hold. Both hold for every workload that the pool serves.
A heuristic: prompts that share a batch and imbalance between machines are left to calibration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from provisioner.capacity import latency
from provisioner.capacity.candidate import Candidate, Tier, candidate_name, fits_memory
from provisioner.capacity.demand import Demand
from provisioner.capacity.latency import Mix, Service, TokenLimits
from provisioner.capacity.targets import BUDGETS, Limit, Targets
from provisioner.domain.base import Role
from provisioner.domain.workload import FloatArray
from provisioner.performance.deployment import MIXED_FACTOR, Deployment

KV_HEADROOM = 0.9
"""Share of the KV room that the mean may fill; the rest is for the variation of the batch."""
POOL_SIZES = np.array(
    [*range(1, 9), 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256]
)
"""Pool sizes [machines] at which the headroom of a prompt pool steps up."""

Chosen = NDArray[np.bool_]


@dataclass(frozen=True)
class Guide:
    """Everything that the guide's candidates are made from."""

    demand: Demand
    targets: tuple[Targets, ...]
    deployments: tuple[Deployment, ...]
    _serving_all: dict[Role, tuple[Candidate, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def budgets(self) -> range:
        """Indices of the TTFT budgets to try, widest first; just that where E2E is not limited."""
        limited = any(target.e2e for target in self.targets)
        widest = len(BUDGETS) - 1
        return range(widest, -1 if limited else widest - 1, -1)

    def candidates(self, roles: tuple[Role, ...], budget: int) -> tuple[Candidate, ...]:
        """Candidates of all deployments in these roles under one TTFT budget."""
        return tuple(
            candidate
            for role in roles
            for deployment in self.deployments
            for candidate in self._levels(role, deployment, budget)
        )

    def serving_all(self, role: Role) -> tuple[Candidate, ...]:
        """Candidates of a role that may serve everything, under every TTFT budget."""
        if role not in self._serving_all:
            every = (c for budget in self.budgets for c in self.candidates((role,), budget))
            self._serving_all[role] = tuple(c for c in every if c.serves.all())
        return self._serving_all[role]

    def _levels(self, role: Role, deployment: Deployment, budget: int) -> Iterator[Candidate]:
        """One candidate per distinct strictness of the workloads, strictest first."""
        everyone = np.ones(len(self.targets), dtype=bool)
        if len(self.targets) == 1:
            name = candidate_name(role, deployment, 0, 1)
            only = self._candidate(name, role, deployment, budget, everyone)
            yield from [] if only is None else [only]
            return
        strictness = np.array(
            [
                self._strictness(role, deployment, budget, i, everyone)
                for i in range(len(self.targets))
            ]
        )
        levels = sorted(set(strictness[strictness > 0]))
        for number, level in enumerate(levels):
            served = strictness >= level
            name = candidate_name(role, deployment, number, len(levels))
            candidate = self._candidate(name, role, deployment, budget, served)
            if candidate is not None:
                yield candidate

    def _strictness(
        self, role: Role, deployment: Deployment, budget: int, index: int, mixed: Chosen
    ) -> float:
        """How much of a pool one workload lets be used; 0 where it cannot be served."""
        alone = np.arange(len(self.targets)) == index
        batch = 1.0
        if role is not Role.PROMPT:
            batch, _ = self.largest_batch(role, deployment, budget, alone, mixed)
        if role is Role.TOKEN or batch == 0:
            return batch
        tiers = self.tiers(role, deployment, budget, alone, mixed, batch)
        if not tiers:
            return 0.0
        return tiers[-1].headroom * (batch if role is Role.MIXED else 1.0)

    def _candidate(
        self, name: str, role: Role, deployment: Deployment, budget: int, served: Chosen
    ) -> Candidate | None:
        batch, label = 1.0, ""
        if role is not Role.PROMPT:
            batch, label = self.largest_batch(role, deployment, budget, served, served)
        tiers: tuple[Tier, ...] = (Tier(1, 1.0),)
        if role is not Role.TOKEN and batch > 0:
            tiers = self.tiers(role, deployment, budget, served, served, batch)
        if batch == 0 or not tiers:
            return None
        intercepts, slopes = deployment.token.segments
        mix = self.mix(role, deployment, served)
        gap = latency.token_state(deployment, mix, batch).gap_s
        iteration = float(deployment.token_s(batch, mix.kv_tokens * batch))
        minorant = float(np.max(intercepts + slopes * batch))
        below = float(deployment.token.base(batch)) - minorant
        factor = 1.0 if role is not Role.MIXED else MIXED_FACTOR
        return Candidate(
            name=name,
            role=role,
            deployment=deployment,
            serves=self.demand.of_workloads(served)
            & fits_memory(deployment, longest_requests(self.demand, role)),
            prompt_s=factor * self.demand.prompt_s(deployment),
            tiers=tiers,
            intercepts_s=intercepts,
            slopes_s=slopes,
            context_s=deployment.token.context_s,
            target_s=gap * (iteration - below) / iteration if mix.iterations > 0 else np.inf,
            kv_room_tokens=KV_HEADROOM * deployment.kv_room_tokens,
            batch_limit=batch,
            phases_share_time=True,
            token_label=label,
        )

    def mix(self, role: Role, deployment: Deployment, served: Chosen) -> Mix:
        """Means over the requests of the served workloads, weighted by their rates."""
        demand = self.demand
        rate = np.where(demand.of_workloads(served), demand.rate_per_s, 0.0)
        total = rate.sum()
        iterations = float(rate @ demand.iterations)
        kv = float(rate @ demand.kv_token_iterations) / iterations if iterations else 0.0
        if role is Role.TOKEN:
            return Mix(iterations / total, kv)
        return Mix(
            iterations / total,
            kv,
            float(rate @ demand.prompt_s(deployment)) / total,
            float(rate @ demand.prompt_sq_s(deployment)) / total,
        )

    def largest_batch(
        self, role: Role, deployment: Deployment, budget: int, held_to: Chosen, served: Chosen
    ) -> tuple[float, str]:
        """Largest mean batch that keeps the limits of ``held_to`` with the mix of ``served``."""
        limits = [
            self.token_limits(role, deployment, budget, target)
            for target, chosen in zip(self.targets, held_to, strict=True)
            if chosen
        ]
        return latency.largest_batch(deployment, self.mix(role, deployment, served), limits)

    def token_limits(
        self, role: Role, deployment: Deployment, budget: int, target: Targets
    ) -> TokenLimits:
        """What one workload asks of a token or mixed pool."""
        transfer = latency.added_s(deployment, target.lengths) if role is Role.TOKEN else None
        return TokenLimits(target.lengths, target.tbt, target.e2e, budget, transfer)

    def tiers(
        self,
        role: Role,
        deployment: Deployment,
        budget: int,
        held_to: Chosen,
        served: Chosen,
        batch: float,
    ) -> tuple[Tier, ...]:
        """Prompt headroom by pool size; sizes that gain nothing or cannot pass are left out."""
        servers = POOL_SIZES * deployment.instances_per_machine
        best = np.ones(len(servers))
        labels = [""] * len(servers)
        for target, chosen in zip(self.targets, held_to, strict=True):
            if not chosen:
                continue
            service = self.service(role, deployment, served, target, batch)
            limits = prompt_limits(target, budget)
            found, names = latency.headroom(servers, service, target.prompt, limits)
            for i in np.flatnonzero(found < best):
                best[i], labels[i] = found[i], names[i]
        return _steps(best, labels)

    def service(
        self, role: Role, deployment: Deployment, served: Chosen, target: Targets, batch: float
    ) -> Service:
        """Prompt times in a prompt pool, or in a mixed pool whose batch decodes meanwhile."""
        mix = self.mix(Role.MIXED, deployment, served)
        prompt = target.prompt
        if role is Role.PROMPT:
            times = deployment.prompt_s(prompt.tokens, prompt.squared)
            return Service(times, mix.prompt_s, mix.prompt_sq_s)
        times = deployment.mixed_s(prompt.tokens, prompt.squared, batch, mix.kv_tokens * batch)
        wait_s = float(deployment.token_s(batch, mix.kv_tokens * batch))
        return Service(
            times, MIXED_FACTOR * mix.prompt_s, MIXED_FACTOR**2 * mix.prompt_sq_s, wait_s
        )


def prompt_limits(target: Targets, budget: int) -> list[Limit]:
    """TTFT limits of a workload and the TTFT budgets of its E2E limits."""
    return [*target.ttft, *(limit.prompt_limit(budget) for limit in target.e2e)]


def longest_requests(demand: Demand, role: Role) -> FloatArray:
    """Per class, the KV tokens of its longest request in this role, by its cells' means."""
    longest = []
    for which, cells in zip(demand.workload, demand.cells, strict=True):
        lengths = demand.workloads[which].histogram
        output = 1.0 if role is Role.PROMPT else lengths.output_tokens[cells]
        longest.append(float(np.max(lengths.prompt_tokens[cells] + output)))
    return np.array(longest)


def _steps(headroom: FloatArray, labels: list[str]) -> tuple[Tier, ...]:
    steps: list[Tier] = []
    for size, value, label in zip(POOL_SIZES, headroom, labels, strict=True):
        if value > 0 and (not steps or value > steps[-1].headroom):
            steps.append(Tier(int(size), float(value), label))
    return tuple(steps)
