"""The clusters that the Splitwise paper evaluates, and the rates that it and its simulator report.

Facts of the paper (ISCA 2024, arXiv 2311.18677v2) and of its simulator (commit 8f99e7d, MIT),
which was run on two-minute traces in steps of 10 requests/s; the figure is named on each row.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from provisioner.domain.base import Role
from provisioner.domain.designs import machine_of, roles_of
from provisioner.domain.reproduction import Published
from provisioner.inputs.tables import Row, read_rows

PRICES = "splitwise-paper"
"""Price list with the paper's prices and power budgets."""
MODEL = "bloom-176b"
CONVERSATION, CODING = "azure-conv", "azure-code"
"""Workloads of the paper's two services."""
BUDGET_MACHINES, BUDGET_TYPE = 40, "dgx-h100"
"""Budgets of money and of power are those of so many machines of this type."""
FIXED_RATE_PER_S = 70.0
"""Rate of the questions of least power and least cost [requests/s]."""
ISO_POWER, ISO_COST = "iso-power", "iso-cost"
LEAST_POWER, LEAST_COST = "iso-throughput-power", "iso-throughput-cost"
QUESTIONS = {
    ISO_POWER: "most throughput at equal power",
    ISO_COST: "most throughput at equal cost",
    LEAST_POWER: "least power at 70 requests/s",
    LEAST_COST: "least cost at 70 requests/s",
}
_FILE = Path(__file__).with_name("published.csv")
_COLUMNS = (
    "question",
    "workload",
    "design",
    "prompt_machines",
    "token_machines",
    "paper_rate_per_s",
    "simulator_rate_per_s",
    "source",
)


def pools_of(design: str, counts: tuple[int, ...]) -> dict[tuple[str, str], int]:
    """Machines by role and type of a named design, prompt (or mixed) machines first."""
    return {
        (role.value, machine_of(design, role)): number
        for role, number in zip(roles_of(design), counts, strict=False)
        if number
    }


def counts_text(counts: Iterable[int]) -> str:
    """Machines of each role, for people; roles without any are left out."""
    return " + ".join(str(number) for number in counts if number)


def counts_of(published: Published) -> tuple[int, ...]:
    """Machines of each role of the cluster's design."""
    counts = (published.prompt_machines, published.token_machines)
    return counts[: len(roles_of(published.design))]


def is_baseline(design: str) -> bool:
    """Whether a design has mixed machines."""
    return roles_of(design) == (Role.MIXED,)


def published_clusters() -> tuple[Published, ...]:
    """Every cluster of figures 16, 18 and 19, in their order."""
    return tuple(_cluster(row) for row in read_rows(_FILE, _COLUMNS))


def published_cluster(question: str, workload: str, design: str) -> Published:
    """One cluster."""
    return next(
        cluster
        for cluster in published_clusters()
        if (cluster.question, cluster.workload, cluster.design) == (question, workload, design)
    )


def _cluster(row: Row) -> Published:
    return Published(
        question=row.text("question", tuple(QUESTIONS)),
        workload=row.text("workload"),
        design=row.text("design"),
        prompt_machines=row.whole("prompt_machines"),
        token_machines=row.whole("token_machines", 0),
        paper_rate_per_s=_rate(row, "paper_rate_per_s"),
        simulator_rate_per_s=_rate(row, "simulator_rate_per_s"),
        source=row.text("source"),
    )


def _rate(row: Row, column: str) -> float | None:
    return row.positive(column) if row.cells[column] else None
