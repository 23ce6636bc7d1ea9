"""Small judged cases, and every cluster there is put to the judge without the search."""

import itertools
from collections.abc import Iterator

import numpy as np

from provisioner.capacity.targets import references_of
from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.domain.designs import roles_of
from provisioner.domain.scenario import Scenario
from provisioner.inputs.resolve import resolve
from provisioner.performance.deployment import Deployment
from provisioner.search.find import prepare
from provisioner.simulation.arrivals import offer
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.rules import Rules
from provisioner.simulation.trial import new_trial, passes

SHORT = {"duration_s": 24.0, "warmup_s": 4.0, "seeds": 2}
FIXED = {"name": "fixed", "prompt_tokens": 1020, "output_tokens": 40, "rate_per_s": 3.0}
SLOS = (
    "splitwise",
    [{"metric": "ttft", "percentile": 90, "at_most_s": 1.2}],
    [
        {"metric": "ttft", "percentile": 50, "at_most_slowdown": 2.0},
        {"metric": "tbt", "percentile": 90, "at_most_s": 0.09},
    ],
    [{"metric": "e2e", "percentile": 90, "at_most_slowdown": 1.6}],
)
Kinds = tuple[tuple[Role, Deployment], ...]
Counts = tuple[int, ...]


def case_of(**fields) -> Case:
    """A case of BLOOM-176B that is judged on a few seconds."""
    data = {
        "workloads": [FIXED],
        "hardware": ["dgx-a100", "dgx-h100"],
        "simulation": SHORT,
        **fields,
    }
    return resolve(Scenario.model_validate(data))


def random_fields(seed: int) -> dict:
    """One or two workloads at a few requests per second, on one or two machine types."""
    rng = np.random.default_rng(seed)
    workloads = [
        {
            "name": f"w{i}",
            "prompt_tokens": int(rng.choice([60, 700, 1500, 2600])),
            "output_tokens": int(rng.choice([1, 2, 13, 60])),
            "rate_per_s": float(np.round(rng.uniform(0.3, 6), 2)),
            "slo": SLOS[rng.integers(len(SLOS))],
        }
        for i in range(rng.integers(1, 3))
    ]
    if rng.random() < 0.3:
        workloads = [{"name": "azure-conv", "rate_per_s": float(np.round(rng.uniform(0.5, 4), 2))}]
    hardware = ["dgx-a100", "dgx-h100", "dgx-h100-cap70"]
    fields = {
        "workloads": workloads,
        "hardware": [str(name) for name in rng.permutation(hardware)[: rng.integers(1, 3)]],
        "spares": {"prompt": int(rng.random() < 0.2)},
    }
    if rng.random() < 0.3:
        fields["existing"] = {"dgx-a100": int(rng.integers(1, 3))}
    if rng.random() < 0.3:
        fields["limits"] = {"available": {"dgx-h100": int(rng.integers(0, 3))}}
    return fields


def kinds_of(case: Case, design: str) -> Kinds:
    """Every deployment in every role of a design."""
    deployments = prepare(case).guide.deployments
    return tuple((role, d) for role in roles_of(design) for d in deployments)


def scheduler_of(roles: set[Role]) -> str:
    """What `auto` is documented to mean."""
    if roles == {Role.MIXED}:
        return "colocated"
    return "mixed-pool" if Role.MIXED in roles else "split"


class Judge:
    """Passing by hand: the traffic drawn anew, the rules as documented."""

    def __init__(self, case: Case, kinds: Kinds, theta: float = 1.0) -> None:
        simulation = case.scenario.simulation
        self.case, self.kinds = case, kinds
        self.trial = new_trial(
            case.workloads,
            references_of(case),
            {
                seed: offer(case.workloads, simulation.arrivals, seed, simulation.duration_s, theta)
                for seed in range(simulation.seeds)
            },
            (simulation.warmup_s, simulation.duration_s),
        )
        requests = [t.offered.requests for t in self.trial.traffic]
        self.generates = any((r.output_tokens > 1).any() for r in requests)

    def passes(self, counts: Counts) -> bool:
        """Whether a cluster keeps the SLO, with a spare in place of one machine too."""
        return self.is_cluster(counts) and all(
            self.keeps(case) for case in [counts, *self.with_spares(counts)]
        )

    def is_cluster(self, counts: Counts) -> bool:
        roles = {role for (role, _), n in zip(self.kinds, counts, strict=True) if n}
        needed = {Role.PROMPT, Role.TOKEN} if self.generates else {Role.PROMPT}
        return Role.MIXED in roles or needed <= roles

    def keeps(self, counts: Counts) -> bool:
        pools = [
            SimulatedPool(role, deployment, n)
            for (role, deployment), n in zip(self.kinds, counts, strict=True)
            if n
        ]
        roles = {pool.role for pool in pools}
        if roles == {Role.PROMPT}:
            pools.append(SimulatedPool(Role.TOKEN, pools[0].deployment, 1))
        scenario = self.case.scenario
        scheduler = scheduler_of(roles) if scenario.scheduler == "auto" else scenario.scheduler
        return passes(self.trial, tuple(pools), Rules(scheduler, scenario.router))

    def with_spares(self, counts: Counts) -> Iterator[Counts]:
        for role, number in self.case.scenario.spares.items():
            used = [j for j, (r, _) in enumerate(self.kinds) if r is role and counts[j]]
            if number and used:
                spare = min(used, key=lambda j: rent_order(self.kinds[j][1].machine))
                for j in used:
                    yield tuple(n - (i == j) + (i == spare) for i, n in enumerate(counts))


def rent_order(machine) -> tuple:
    return machine.price_usd_per_hour, machine.provisioned_power_w, machine.name


class Bill:
    """Cost, power and number of machines of a cluster, spares included, owned ones free."""

    def __init__(self, case: Case, kinds: Kinds) -> None:
        self.case, self.kinds = case, kinds

    def machines(self, counts: Counts) -> dict:
        """Machines by type, with the spares of the cheapest kind that a role uses."""
        total: dict = {}
        for (_, deployment), n in zip(self.kinds, counts, strict=True):
            machine = deployment.machine
            total[machine.name] = total.get(machine.name, 0) + n
        for role, number in self.case.scenario.spares.items():
            used = [
                d.machine for (r, d), n in zip(self.kinds, counts, strict=True) if r is role and n
            ]
            if used:
                total[min(used, key=rent_order).name] += number
        return total

    def value(self, counts: Counts, objective: str) -> float:
        types = {d.machine.name: d.machine for _, d in self.kinds}
        total = self.machines(counts)
        if objective == "machines":
            return sum(total.values())
        if objective == "power":
            return sum(types[name].provisioned_power_w * n for name, n in total.items())
        left = dict(self.case.scenario.existing)
        rent = 0.0
        for name in sorted(total, key=lambda name: -types[name].price_usd_per_hour):
            owned = min(total[name], left.get(types[name].hardware, 0))
            left[types[name].hardware] = left.get(types[name].hardware, 0) - owned
            rent += types[name].price_usd_per_hour * (total[name] - owned)
        return rent

    def allowed(self, counts: Counts) -> bool:
        limits, types = (
            self.case.scenario.limits,
            {d.machine.name: d.machine for _, d in self.kinds},
        )
        per_hardware: dict[str, int] = {}
        for name, n in self.machines(counts).items():
            hardware = types[name].hardware
            per_hardware[hardware] = per_hardware.get(hardware, 0) + n
        scalars = {
            "usd_per_hour": self.value(counts, "cost"),
            "power_w": self.value(counts, "power"),
            "machines": self.value(counts, "machines"),
        }
        return all(per_hardware.get(h, 0) <= n for h, n in limits.available.items()) and all(
            getattr(limits, key) is None or used <= getattr(limits, key) * (1 + 1e-9)
            for key, used in scalars.items()
        )


def vectors(case: Case, kinds: Kinds, most: int) -> Iterator[Counts]:
    """Every vector of counts within the limits with up to so many machines of a kind."""
    bill = Bill(case, kinds)
    for counts in itertools.product(range(most + 1), repeat=len(kinds)):
        if any(counts) and bill.allowed(counts):
            yield counts
