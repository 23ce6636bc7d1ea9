"""What all parts of a search share: the case made ready, the traffic, the time left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from provisioner.capacity.demand import Demand
from provisioner.domain.base import Role
from provisioner.domain.designs import roles_of
from provisioner.domain.scenario import Limits
from provisioner.errors import InputError
from provisioner.performance.deployment import Deployment
from provisioner.search.find import Progress, Search
from provisioner.search.shares import Gateway, classes_of, gateway_of, with_classes
from provisioner.search.space import Space, space_of
from provisioner.search.trials import Allowance, Place, Trials, scheduler_of
from provisioner.search.unit_costs import cheapest_budget
from provisioner.simulation.arrivals import offer
from provisioner.simulation.trial import Trial, new_trial


@dataclass
class Setting:
    """A search under way.

    Attributes
    ----------
    references : dict
        Deployments that slowdowns are relative to, by name.
    allowance : Allowance
        Time left, and simulations so far.
    """

    search: Search
    references: dict[str, Deployment]
    allowance: Allowance
    progress: Progress
    gateways: dict[tuple[tuple[Role, str], ...], Gateway] = field(default_factory=dict)

    @property
    def seeds(self) -> range:
        """Seeds of the judge."""
        return range(self.search.case.scenario.simulation.seeds)

    @property
    def demand(self) -> Demand:
        """The scenario's demand by request class."""
        return self.search.guide.demand

    @cached_property
    def budget(self) -> int:
        """The guide's TTFT budget under which single kinds of machines serve for least."""
        return cheapest_budget(self.search.guide)

    def trial(self, theta: float = 1.0, seeds: Iterable[int] | None = None) -> Trial:
        """The traffic of some seeds at a multiple of the demand."""
        case = self.search.case
        simulation = case.scenario.simulation
        offered = {
            seed: offer(case.workloads, simulation.arrivals, seed, simulation.duration_s, theta)
            for seed in (self.seeds if seeds is None else seeds)
        }
        if case.scenario.router == "plan-shares":
            names, classes = [w.name for w in case.workloads], classes_of(self.demand)
            offered = {
                seed: with_classes(requests, names, classes) for seed, requests in offered.items()
            }
        window_s = (simulation.warmup_s, simulation.duration_s)
        return new_trial(case.workloads, self.references, offered, window_s)

    def limited_by(self, limits: Limits) -> Setting:
        """The same search within other limits."""
        scenario = self.search.case.scenario.model_copy(update={"limits": limits})
        search = replace(self.search, case=replace(self.search.case, scenario=scenario))
        return replace(self, search=search)

    def gateway(self, places: tuple[Place, ...]) -> Gateway:
        """Shares by counts, of these places."""
        names = tuple((role, deployment.name) for role, deployment in places)
        if names not in self.gateways:
            self.gateways[names] = gateway_of(self.search.guide, places, self.budget)
        return self.gateways[names]

    def trials(self, places: tuple[Place, ...], trial: Trial) -> Trials:
        """A judge of one design."""
        scenario = self.search.case.scenario
        shares = self.gateway(places).shares if scenario.router == "plan-shares" else None
        return Trials(
            trial=trial,
            workloads=self.search.case.workloads,
            places=places,
            scheduler=scenario.scheduler,
            router=scenario.router,
            allowance=self.allowance,
            shares=shares,
            spares={role: n for role, n in scenario.spares.items() if n},
        )

    def space(self, design: str, trial: Trial, theta: float = 1.0) -> Space:
        """The clusters of a design."""
        return space_of(self.search, design, trial, theta)


def designs_of(search: Search) -> tuple[list[str], list[str]]:
    """Designs that the scenario's scheduler can run, and notes on the others.

    Raises
    ------
    InputError
        Where there is none.
    """
    scenario = search.case.scenario
    designs: list[str] = [*scenario.designs]
    if scenario.scheduler == "auto":
        return designs, []
    fitting = [d for d in designs if scenario.scheduler in schedulers_of(d)]
    if not fitting:
        allowed = dict.fromkeys(s for d in designs for s in schedulers_of(d))
        raise InputError(
            f"scheduler: {scenario.scheduler} fits none of the designs "
            f"{', '.join(designs)} (allowed: auto, {', '.join(allowed)})"
        )
    left_out = [d for d in designs if d not in fitting]
    return fitting, [
        f"design {design} is left out: scheduler {scenario.scheduler} does not fit it"
        for design in left_out
    ]


def schedulers_of(design: str) -> tuple[str, ...]:
    """Schedulers that can run a design."""
    fitting = scheduler_of(frozenset[Role](roles_of(design)))
    return ("split", "mixed-pool") if fitting == "split" else (fitting,)
