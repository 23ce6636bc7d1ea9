"""What machines take of a question's budget, and the clusters that use it up."""

from __future__ import annotations

from provisioner.domain.designs import machine_of, roles_of
from provisioner.domain.reproduction import Published, Reproduced, Reproduction
from provisioner.inputs import hardware
from provisioner.reproduction.published import ISO_COST, ISO_POWER, LEAST_COST, counts_of
from provisioner.reproduction.questions import (
    budget_usd_per_hour,
    budget_w,
    powers_w,
    rents_usd_per_hour,
)

Counts = tuple[int, ...]
_CLOSE = 1e-9


def has_budget(question: str) -> bool:
    """Whether a question is for the most throughput within a budget."""
    return question in (ISO_POWER, ISO_COST)


def budget_of(question: str) -> float:
    """Money [USD/h] or power [W] of a question that has a budget."""
    return budget_usd_per_hour() if question == ISO_COST else budget_w()


def spent_each(question: str, design: str) -> tuple[float, ...]:
    """What one machine of each role takes: rent [USD/h] where cost is asked for, or power [W]."""
    names = [machine_of(design, role) for role in roles_of(design)]
    if question in (ISO_COST, LEAST_COST):
        rents = rents_usd_per_hour()
        return tuple(rents[hardware.read_machine(name).hardware] for name in names)
    powers = powers_w()
    return tuple(powers[name] for name in names)


def spent(counts: Counts, each: tuple[float, ...]) -> float:
    """What a cluster takes."""
    return sum(n * one for n, one in zip(counts, each, strict=True))


def fits_budget(published: Published) -> bool:
    """Whether a published cluster is within the budget of its question."""
    each = spent_each(published.question, published.design)
    return spent(counts_of(published), each) <= budget_of(published.question) * (1 + _CLOSE)


def largest(each: tuple[float, ...], budget: float) -> list[Counts]:
    """Clusters within a budget to which no machine can be added, fewest of the first role first."""
    most = int(budget / each[0] * (1 + _CLOSE))
    if len(each) == 1:
        return [(most,)] if most else []
    line = [(n, int((budget - n * each[0]) / each[1] * (1 + _CLOSE))) for n in range(1, most + 1)]
    kept = [counts for counts in line if counts[1] > 0]
    # Of clusters with as many of the second role only the one with most of the first counts.
    most_of_first = {second: first for first, second in kept}
    return [c for c in kept if most_of_first[c[1]] == c[0]]


def below(counts: Counts, each: tuple[float, ...]) -> float:
    """A budget that a cluster just exceeds."""
    return spent(counts, each) * (1 - 10 * _CLOSE)


def compatible_optimum(found: Reproduction, question: str, workload: str) -> Reproduced:
    """The design that is best by the published simulator's rules; of equals what takes least.

    That simulator has no clusters of several types in a role, so the designs are all there is.
    """

    def value(row: Reproduced) -> tuple[float, float]:
        best = row.compatible_best
        takes = spent(best.counts, spent_each(question, row.published.design))
        return best.rate_per_s, -takes

    return max(found.rows_of(question, workload), key=value)
