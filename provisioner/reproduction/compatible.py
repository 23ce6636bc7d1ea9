"""The best clusters of each design by the published simulator's rules.

Rates are on the grid that the simulator was run on. A cluster with no more machines of either role
than one that misses the SLO, at no lower rate, is taken to miss it too (`monotone`, as in
`provisioner.search`): so a part of the clusters that use a budget up is ruled out by one simulation
of a cluster that has as many of each role as any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from provisioner.domain.reproduction import Published
from provisioner.reproduction.budgets import (
    Counts,
    below,
    budget_of,
    fits_budget,
    largest,
    spent_each,
)
from provisioner.reproduction.published import FIXED_RATE_PER_S, MODEL, counts_of, pools_of
from provisioner.reproduction.questions import GRID_PER_S, judged_compatibly

_MORE = 1.25
"""Growth of a cluster that is too small to begin with."""


@dataclass
class CompatibleJudge:
    """Whether clusters of one design pass at a rate, each simulated once."""

    workload: str
    design: str
    model: str = MODEL
    known: dict[tuple[Counts, float], bool] = field(default_factory=dict)

    @property
    def tried(self) -> int:
        """Clusters that were simulated."""
        return len({counts for counts, _ in self.known})

    def passes(self, counts: Counts, rate_per_s: float) -> bool:
        """Whether a cluster keeps the SLO at a rate."""
        key = counts, rate_per_s
        if key not in self.known:
            pools = pools_of(self.design, counts)
            verdict = judged_compatibly(self.workload, pools, rate_per_s, self.model).verdict
            self.known[key] = verdict.slo.ok
        return self.known[key]

    def may_pass(self, counts: Counts, rate_per_s: float) -> bool:
        """Whether a cluster is not below one that missed, and passes."""
        for (other, rate), passed in self.known.items():
            within = all(n <= most for n, most in zip(counts, other, strict=True))
            if not passed and within and rate <= rate_per_s:
                return False
        return self.passes(counts, rate_per_s)

    def highest(self, counts: Counts, guess_per_s: float) -> float:
        """Highest rate of the grid at which a cluster passes, from a guess on; 0 where none."""
        rate = max(round(guess_per_s / GRID_PER_S), 1) * GRID_PER_S
        if self.passes(counts, rate):
            while self.passes(counts, rate + GRID_PER_S):
                rate += GRID_PER_S
            return rate
        while rate > 0 and not self.passes(counts, rate):
            rate -= GRID_PER_S
        return rate


def best_within_budget(
    judge: CompatibleJudge, published: Published, rate_per_s: float
) -> tuple[Counts, float]:
    """The best cluster within a question's budget, and its highest rate on the grid.

    Parameters
    ----------
    rate_per_s : float
        Highest rate of the published cluster [requests/s]; where it is within the budget the
        answer is at least as good.
    """
    line = largest(spent_each(published.question, published.design), budget_of(published.question))
    best, rate = counts_of(published), rate_per_s
    if not fits_budget(published):
        best = line[len(line) // 2]
        rate = judge.highest(best, rate_per_s)
    while True:
        found = _passing(judge, line, best, rate + GRID_PER_S)
        if found is None:
            return best, rate
        best, rate = found, judge.highest(found, rate + GRID_PER_S)


def least_at_fixed_rate(judge: CompatibleJudge, published: Published) -> Counts:
    """The cluster that takes least power or money and passes at the rate of all such questions."""
    each = spent_each(published.question, published.design)
    best = counts_of(published)
    while not judge.passes(best, FIXED_RATE_PER_S):
        best = tuple(int(n * _MORE) + 1 for n in best)
    best = _shrunk(judge, best)
    while True:
        found = _passing(judge, largest(each, below(best, each)), best, FIXED_RATE_PER_S)
        if found is None:
            return best
        best = _shrunk(judge, found)


def _passing(
    judge: CompatibleJudge, line: list[Counts], near: Counts, rate_per_s: float
) -> Counts | None:
    """A cluster of a line that passes at a rate, looked for from one on; None where none does."""
    if not line:
        return None
    corner = tuple(max(numbers) for numbers in zip(*line, strict=True))
    if not judge.may_pass(corner, rate_per_s):
        return None
    if corner in line:
        return corner
    middle = len(line) // 2
    halves = [line[:middle], line[middle:]]
    if near[0] >= line[middle][0]:
        halves.reverse()
    for half in halves:
        found = _passing(judge, half, near, rate_per_s)
        if found is not None:
            return found
    return None


def _shrunk(judge: CompatibleJudge, counts: Counts) -> Counts:
    """A cluster that passes at the fixed rate, with as few machines of one role after another."""
    for role in range(len(counts)):
        fails, passes = 0, counts[role]
        while passes - fails > 1:
            middle = (fails + passes) // 2
            if judge.may_pass(_with(counts, role, middle), FIXED_RATE_PER_S):
                passes = middle
            else:
                fails = middle
        counts = _with(counts, role, passes)
    return counts


def _with(counts: Counts, role: int, number: int) -> Counts:
    return (*counts[:role], number, *counts[role + 1 :])
