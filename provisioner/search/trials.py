"""Clusters put to the judge, each once: counts of machines in, whether they pass out.

With prompt and token machines alone (the `split` scheduler) a role can also be tried by itself,
against an ideal other role: prompts whose token work takes nothing, and tokens whose prompts never
wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from provisioner.domain.base import Role
from provisioner.domain.verdict import Verdict
from provisioner.domain.workload import FloatArray, Workload
from provisioner.performance.deployment import Deployment
from provisioner.planning.constraints.spare_machines import rank
from provisioner.simulation.cluster import Requests, SimulatedPool
from provisioner.simulation.judge import judge
from provisioner.simulation.rules import Router, Rules, Scheduler
from provisioner.simulation.trial import Trial, passes

Place = tuple[Role, Deployment]
Counts = tuple[int, ...]

_IDEAL_LOAD = 0.1
"""Utilisation of the ideal prompt role."""


class OutOfTimeError(Exception):
    """The time limit came before the answer."""


@dataclass
class Allowance:
    """What a search may still take, and what it took.

    ``deadline`` is the monotonic time after which nothing is tried any more [s].
    """

    deadline: float
    simulations: int = 0

    @property
    def left_s(self) -> float:
        """Time left [s]; negative where it is over."""
        return self.deadline - time.monotonic()


@dataclass
class Trials:
    """The judge of one design at one demand, with a memory.

    Attributes
    ----------
    places : tuple of (Role, Deployment)
        What the entries of a vector of counts stand for.
    allowance : Allowance
        Shared with all judges of a search.
    shares : callable, optional
        For `plan-shares`: share of each request class that each place serves, by counts.
    """

    trial: Trial
    workloads: tuple[Workload, ...]
    places: tuple[Place, ...]
    scheduler: Literal["auto"] | Scheduler
    router: Router
    allowance: Allowance
    spares: dict[Role, int] = field(default_factory=dict)
    shares: Callable[[Counts], FloatArray] | None = None
    known: dict[tuple[Role | None, Counts], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        offered = [traffic.offered.requests for traffic in self.trial.traffic]
        self._generates = any((requests.output_tokens > 1).any() for requests in offered)
        self._of_role = {
            Role.PROMPT: self.trial.of_metrics(["ttft"]).with_requests(_prompts_only),
            Role.TOKEN: self.trial.of_metrics(["tbt", "e2e"]),
        }

    @property
    def separable(self) -> bool:
        """Whether roles can be tried by themselves."""
        roles = {role for role, _ in self.places}
        return Role.MIXED not in roles and self.scheduler in ("auto", "split")

    def rules(self, counts: Counts, pools: tuple[SimulatedPool, ...]) -> Rules:
        """Scheduler and router of a cluster; pools beyond those counted serve every class."""
        roles = frozenset(pool.role for pool in pools)
        scheduler = scheduler_of(roles) if self.scheduler == "auto" else self.scheduler
        if self.shares is None:
            return Rules(scheduler, self.router)
        own = self.shares(counts)[[j for j, count in enumerate(counts) if count]]
        more = np.ones((len(pools) - len(own), own.shape[1]))
        shares = np.vstack([own, more])
        # Requests of no class of the demand go to any pool.
        return Rules(scheduler, self.router, shares=np.column_stack([shares, 0 * shares[:, :1]]))

    def pools(self, counts: Sequence[int]) -> tuple[SimulatedPool, ...]:
        """The simulated pools of a vector of counts."""
        return tuple(
            SimulatedPool(role, deployment, count)
            for (role, deployment), count in zip(self.places, counts, strict=True)
            if count
        )

    def passes(self, counts: Counts) -> bool:
        """Whether a cluster keeps every limit, with a spare in place of any one machine too."""
        return all(
            self._tried(None, case, self.trial, self.pools(case))
            for case in (counts, *self.after_losses(counts))
        )

    def role_passes(self, role: Role, counts: Counts) -> bool:
        """Whether a role keeps its limits against an ideal other role.

        ``counts`` of other roles do not matter.
        """
        if role is Role.TOKEN and not self._generates:
            return True
        own = tuple(
            count if place[0] is role else 0
            for place, count in zip(self.places, counts, strict=True)
        )
        return any(own) and all(
            self._role_passes(role, case) for case in (own, *self.after_losses(own))
        )

    def _role_passes(self, role: Role, own: Counts) -> bool:
        pools = self.pools(own)
        if role is Role.TOKEN:
            pools = (*pools, self._ideal_prompts())
        return self._tried(role, own, self._of_role[role], pools)

    def after_losses(self, counts: Counts) -> list[Counts]:
        """The cluster where a spare stands in for one machine of another kind than its own."""
        changed = []
        for role, number in self.spares.items():
            used = [j for j, (r, _) in enumerate(self.places) if r is role and counts[j]]
            if number and used:
                spare = min(used, key=lambda j: rank(self.places[j][1].machine))
                changed += [_exchanged(counts, j, spare) for j in used if j != spare]
        return changed

    def verdict(self, counts: Counts) -> Verdict:
        """Everything that is measured of a cluster."""
        self.allowance.simulations += 1
        pools = self.pools(counts)
        whole = self._whole(pools)
        found = judge(self.trial, self.workloads, whole, self.rules(counts, whole))
        return replace(found, pools=found.pools[: len(pools)])

    def staffed(self, counts: Counts) -> bool:
        """Whether both phases have machines; outputs of one token need none of their own."""
        roles = {place[0] for place, count in zip(self.places, counts, strict=True) if count}
        needed = {Role.PROMPT, Role.TOKEN} if self._generates else {Role.PROMPT}
        return Role.MIXED in roles or needed <= roles

    def _whole(self, pools: tuple[SimulatedPool, ...]) -> tuple[SimulatedPool, ...]:
        """The pools with a token machine for form's sake where there is none."""
        roles = {pool.role for pool in pools}
        return pools if roles != {Role.PROMPT} else (*pools, _any_tokens(pools[0]))

    def _tried(
        self, role: Role | None, counts: Counts, trial: Trial, pools: tuple[SimulatedPool, ...]
    ) -> bool:
        key = role, counts
        if key not in self.known:
            if self.allowance.left_s <= 0:
                raise OutOfTimeError
            able = role is not None or self.staffed(counts)
            self.allowance.simulations += able
            whole = self._whole(pools)
            self.known[key] = able and passes(trial, whole, self.rules(counts, whole))
        return self.known[key]

    def _ideal_prompts(self) -> SimulatedPool:
        """So many of the fastest prompt machines that prompts do not wait."""
        requests = self.trial.traffic[0].offered.requests
        work_s = {
            deployment.name: float(deployment.prompt_s(requests.prompt_tokens).sum())
            for role, deployment in self.places
            if role is Role.PROMPT
        }
        fastest = min(work_s, key=lambda name: work_s[name])
        deployment = next(d for _, d in self.places if d.name == fastest)
        span_s = float(requests.arrival_s[-1]) if len(requests) else 1.0
        busy = work_s[fastest] / max(span_s, 1.0) / deployment.instances_per_machine
        return SimulatedPool(Role.PROMPT, deployment, int(busy / _IDEAL_LOAD) + 1)


def scheduler_of(roles: frozenset[Role]) -> Scheduler:
    """The scheduler that `auto` means for a cluster with machines in these roles."""
    if roles == {Role.MIXED}:
        return "colocated"
    return "mixed-pool" if Role.MIXED in roles else "split"


def _exchanged(counts: Counts, lost: int, spare: int) -> Counts:
    return tuple(n - (j == lost) + (j == spare) for j, n in enumerate(counts))


def _prompts_only(requests: Requests) -> Requests:
    return replace(requests, output_tokens=np.ones_like(requests.output_tokens))


def _any_tokens(pool: SimulatedPool) -> SimulatedPool:
    """A token machine for form's sake: where every output is one token it has no work."""
    return SimulatedPool(Role.TOKEN, pool.deployment, 1)
