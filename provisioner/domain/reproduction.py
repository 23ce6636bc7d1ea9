"""A published evaluation beside what its clusters do here."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner.domain.result import PlanResult


@dataclass(frozen=True)
class Published:
    """A cluster of a paper; of a baseline ``prompt_machines`` are all that it has.

    Rates are the highest that keep the SLO [requests/s]; None where none is reported.
    """

    question: str
    workload: str
    design: str
    prompt_machines: int
    token_machines: int
    paper_rate_per_s: float | None
    simulator_rate_per_s: float | None
    source: str


@dataclass(frozen=True)
class Bill:
    """What a cluster takes: machines, rent, reserved power, space."""

    machines: int
    usd_per_hour: float
    provisioned_power_w: float
    rack_units: float


@dataclass(frozen=True)
class CompatibleBest:
    """The best cluster found by the published simulator's rules, and how many were tried."""

    counts: tuple[int, ...]
    rate_per_s: float
    bill: Bill
    tried: int


@dataclass(frozen=True)
class Reproduced:
    """One published cluster, and the best of its design within the same budget.

    Attributes
    ----------
    bill : Bill
        Of the published cluster.
    fits : bool
        Whether the published cluster is within the budget of its question.
    compatible_rate_per_s : float
        Its highest rate by the published simulator's rules, on the grid of 10 requests/s.
    measured_rate_per_s : float or None
        Its highest rate by our own judge; None where it serves nothing.
    compatible_best : CompatibleBest or None
        None for baselines, which have nothing to choose, and for questions at a fixed rate.
    best : PlanResult
        Our plan for the question with this design, by our own judge.
    """

    published: Published
    bill: Bill
    fits: bool
    compatible_rate_per_s: float
    measured_rate_per_s: float | None
    compatible_best: CompatibleBest | None
    best: PlanResult


@dataclass(frozen=True)
class Changed:
    """A published cluster under other traffic, or with another model, than it was chosen for.

    Rates are the highest that keep the SLO [requests/s], with machines that help each other out;
    ``own`` are those of the cluster that was chosen for what is asked now (conversation), at
    equal power.
    """

    design: str
    prompt_machines: int
    token_machines: int
    chosen_for: str
    model: str
    workload: str
    compatible_rate_per_s: float
    measured_rate_per_s: float | None
    own_compatible_rate_per_s: float | None
    own_measured_rate_per_s: float | None


@dataclass(frozen=True)
class Reproduction:
    """All published clusters, the best of all machines per (question, workload), and changes."""

    rows: tuple[Reproduced, ...]
    optima: dict[tuple[str, str], PlanResult]
    changed: tuple[Changed, ...] = ()

    def row(self, question: str, workload: str, design: str) -> Reproduced:
        """One cluster."""
        return next(
            row
            for row in self.rows
            if (row.published.question, row.published.workload, row.published.design)
            == (question, workload, design)
        )
