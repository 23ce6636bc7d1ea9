"""Highest rates by the published simulator's rules, on the grid of rates that it was run on.

Under a budget a design of two types is a line of clusters: so many prompt machines, and as many
token machines as are left. The line is searched at one step above the best rate so far. A cluster
that misses TTFT alone is taken to have too few prompt machines, one that keeps TTFT too few token
machines; so the search proves nothing, and how many clusters it tried is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from provisioner.domain.designs import machine_of, roles_of
from provisioner.domain.reproduction import Published
from provisioner.inputs import hardware
from provisioner.reproduction.published import ISO_COST, MODEL, PRICES, counts_of, pools_of
from provisioner.reproduction.questions import (
    GRID_PER_S,
    budget_usd_per_hour,
    budget_w,
    judged_compatibly,
)

Counts = tuple[int, ...]
_TTFT = "ttft"
_MOST_TRIED = 12
"""Most clusters that are tried at one rate."""
_CLOSE = 1e-9


@dataclass
class CompatibleJudge:
    """What clusters of one design miss at a rate, each simulated once."""

    workload: str
    design: str
    model: str = MODEL
    missed: dict[tuple[Counts, float], frozenset[str]] = field(default_factory=dict)

    def misses(self, counts: Counts, rate_per_s: float) -> frozenset[str]:
        """Metrics that a cluster does not keep at a rate."""
        key = counts, rate_per_s
        if key not in self.missed:
            pools = pools_of(self.design, counts)
            slo = judged_compatibly(self.workload, pools, rate_per_s, self.model).verdict.slo
            self.missed[key] = frozenset(m.metric for m in slo.metrics if not m.ok)
        return self.missed[key]

    def highest(self, counts: Counts, guess_per_s: float) -> float:
        """Highest rate of the grid at which a cluster passes, from a guess on; 0 where none."""
        rate = max(round(guess_per_s / GRID_PER_S), 1) * GRID_PER_S
        if not self.misses(counts, rate):
            while not self.misses(counts, rate + GRID_PER_S):
                rate += GRID_PER_S
            return rate
        while rate > 0 and self.misses(counts, rate):
            rate -= GRID_PER_S
        return rate


def best_within_budget(
    judge: CompatibleJudge, published: Published, rate_per_s: float
) -> tuple[Counts, float]:
    """The best cluster found within a question's budget, and its highest rate on the grid.

    Parameters
    ----------
    rate_per_s : float
        Highest rate of the published cluster [requests/s]; where it is within the budget the
        answer is at least as good.
    """
    line = within_budget(published.question, published.design)
    best = counts_of(published) if fits_budget(published) else line[len(line) // 2]
    rate = rate_per_s if fits_budget(published) else judge.highest(best, rate_per_s)
    while True:
        found = _passing(judge, line, best[0], rate + GRID_PER_S)
        if found is None:
            return best, rate
        best, rate = found, judge.highest(found, rate + GRID_PER_S)


def _passing(
    judge: CompatibleJudge, line: list[Counts], start: int, rate_per_s: float
) -> Counts | None:
    """A cluster of a line that passes at a rate; None where none was found."""
    left = {counts[0]: counts for counts in line}
    at = start
    for _ in range(_MOST_TRIED):
        if not left:
            return None
        at = min(left, key=lambda prompts: (abs(prompts - at), prompts))
        missed = judge.misses(left[at], rate_per_s)
        if not missed:
            return left[at]
        tried = at
        left.pop(at)
        if missed == {_TTFT}:
            left = {prompts: counts for prompts, counts in left.items() if prompts > tried}
        elif _TTFT not in missed:
            left = {prompts: counts for prompts, counts in left.items() if prompts < tried}
        at = sorted(left)[len(left) // 2] if left else at
    return None


def within_budget(question: str, design: str) -> list[Counts]:
    """Clusters of a split design with as many token machines as the budget leaves."""
    budget, (prompt, token) = _budget(question), _spent(question, design)
    most = int(budget / prompt * (1 + _CLOSE))
    line = [(n, int((budget - n * prompt) / token * (1 + _CLOSE))) for n in range(1, most + 1)]
    return [counts for counts in line if counts[1] > 0]


def fits_budget(published: Published) -> bool:
    """Whether a published cluster is within the budget of its question."""
    spent = _spent(published.question, published.design)
    total = sum(n * each for n, each in zip(counts_of(published), spent, strict=True))
    return total <= _budget(published.question) * (1 + _CLOSE)


def _budget(question: str) -> float:
    return budget_usd_per_hour() if question == ISO_COST else budget_w()


def _spent(question: str, design: str) -> tuple[float, ...]:
    """What one machine of each role takes of the budget."""
    prices = hardware.read_price_list(PRICES)
    names = [machine_of(design, role) for role in roles_of(design)]
    if question == ISO_COST:
        rents = {p.hardware: p.usd_per_hour for p in prices.prices}
        return tuple(rents[hardware.read_machine(name).hardware] for name in names)
    powers = {p.machine: p.provisioned_power_w for p in prices.powers}
    return tuple(powers[name] for name in names)
