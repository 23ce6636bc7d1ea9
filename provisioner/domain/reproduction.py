"""A published evaluation beside what its clusters do here."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner.domain.result import PlanResult
from provisioner.domain.verdict import ACTIVE_LEVELS

COMPATIBLE, MEASURED = "compatible", "measured"
"""The two rules: the published simulator's, and our own."""


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
    """The best cluster of a design by the published simulator's rules, and how many were tried.

    Every better one was simulated, or has no more machines of any role than one that failed.
    """

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
    compatible_best : CompatibleBest
        The best of its design by the published simulator's rules.
    best : PlanResult
        Our plan for the question with this design, by our own judge.
    """

    published: Published
    bill: Bill
    fits: bool
    compatible_rate_per_s: float
    measured_rate_per_s: float | None
    compatible_best: CompatibleBest
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
class HeatPoint:
    """One cluster; of each metric the most that a percentile takes of its limit, by both rules."""

    prompt_machines: int
    token_machines: int
    usd_per_hour: float
    compatible_ttft: float
    compatible_tbt: float
    compatible_e2e: float
    measured_ttft: float
    measured_tbt: float
    measured_e2e: float

    @property
    def compatible(self) -> float:
        """The most that any percentile takes of its limit; the SLO holds below 1."""
        return max(self.compatible_ttft, self.compatible_tbt, self.compatible_e2e)

    @property
    def measured(self) -> float:
        """The same by measured token times; the SLO holds up to 1."""
        return max(self.measured_ttft, self.measured_tbt, self.measured_e2e)


@dataclass(frozen=True)
class Loaded:
    """One cluster at a rate, by one of the rules.

    ``active_share`` belongs to `ACTIVE_LEVELS`; ``ttft``, ``tbt`` and ``e2e`` are the most that
    any percentile of each takes of its limit.
    """

    design: str
    rule: str
    rate_per_s: float
    borrowed_prompt: int
    borrowed_token: int
    ttft: float
    tbt: float
    e2e: float
    active_share: tuple[float, ...]

    @property
    def most_taken(self) -> float:
        """The most that any percentile takes of its limit."""
        return max(self.ttft, self.tbt, self.e2e)

    def share_up_to(self, tokens: int) -> float:
        """Share of time with at most so many active tokens, one of `ACTIVE_LEVELS`."""
        return self.active_share[ACTIVE_LEVELS.index(tokens)]


@dataclass(frozen=True)
class BatchJob:
    """What a cluster makes of requests that are all there from the start [requests/s].

    ``per_usd`` is per USD/h of one accelerator in every machine, as in the paper.
    """

    design: str
    prompt_machines: int
    token_machines: int
    compatible_rate_per_s: float
    measured_rate_per_s: float
    compatible_per_usd: float
    measured_per_usd: float
    paper_per_usd: float | None


@dataclass(frozen=True)
class LostMachine:
    """One cluster with and without a failure.

    ``taken`` is the most that any percentile takes of its limit: the SLO holds up to 1; ``limit``
    is the one that takes most after the failure. ``e2e_p99_s`` are end-to-end latencies [s].
    """

    design: str
    machines: str
    rate_per_s: float
    fails: str
    judged: int
    restarted: int
    taken_without: float
    taken: float
    limit: str
    e2e_p99_without_s: float
    e2e_p99_s: float


@dataclass(frozen=True)
class Reproduction:
    """Everything that is simulated: what stands in one file each, and the best of all machines.

    ``optima`` is by (question, workload).
    """

    rows: tuple[Reproduced, ...]
    optima: dict[tuple[str, str], PlanResult]
    changed: tuple[Changed, ...] = ()
    heat: tuple[HeatPoint, ...] = ()
    loaded: tuple[Loaded, ...] = ()
    batch: tuple[BatchJob, ...] = ()
    lost: tuple[LostMachine, ...] = ()

    def rows_of(self, question: str, workload: str) -> list[Reproduced]:
        """The clusters of one question."""
        return [
            row
            for row in self.rows
            if (row.published.question, row.published.workload) == (question, workload)
        ]

    def row(self, question: str, workload: str, design: str) -> Reproduced:
        """One cluster."""
        rows = self.rows_of(question, workload)
        return next(row for row in rows if row.published.design == design)
