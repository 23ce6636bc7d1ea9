"""Conclusions of the paper, and whether they survive measured token times.

Each compares highest rates under the same budget, of the best cluster of each design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from provisioner.domain.reproduction import Reproduced, Reproduction
from provisioner.reproduction.published import (
    CODING,
    CONVERSATION,
    ISO_COST,
    ISO_POWER,
    is_baseline,
)

WORKLOADS = (CONVERSATION, CODING)
_BUDGETS = {ISO_POWER: "equal power", ISO_COST: "equal cost"}


@dataclass(frozen=True)
class Conclusion:
    """A conclusion of the paper; ``survives`` in all cases, in none, or only in some (None)."""

    text: str
    survives: bool | None
    numbers: str


def conclusions(found: Reproduction) -> Iterator[Conclusion]:
    """Every conclusion with its numbers."""
    for question, budget in _BUDGETS.items():
        yield _pairs(
            f"Splitting the phases serves more than mixing them at {budget}",
            found,
            question,
            lambda rows: (_best(rows, split=True), _best(rows, split=False)),
        )
    for design, rival, question, text in (
        ("splitwise-aa", "baseline-h100", ISO_COST, "Split A100s serve more than mixed H100s"),
        (
            "splitwise-ha",
            "baseline-h100",
            ISO_POWER,
            "H100s with A100s for tokens beat mixed H100s",
        ),
        (
            "splitwise-ha",
            "splitwise-hh",
            ISO_POWER,
            "A100s are the better token machines for H100s",
        ),
        ("splitwise-hhcap", "splitwise-hh", ISO_POWER, "Capping the token machines pays"),
    ):
        yield _pairs(f"{text}, at {_BUDGETS[question]}", found, question, _named(design, rival))
    yield _published_counts(found)


def _rate(row: Reproduced) -> float:
    return row.best.plan.rate_per_s if row.best.plan else 0.0


def _best(rows: list[Reproduced], *, split: bool) -> Reproduced:
    return max((r for r in rows if is_baseline(r.published.design) is not split), key=_rate)


def _named(design: str, rival: str) -> Callable[[list[Reproduced]], tuple[Reproduced, Reproduced]]:
    def pick(rows: list[Reproduced]) -> tuple[Reproduced, Reproduced]:
        by_design = {row.published.design: row for row in rows}
        return by_design[design], by_design[rival]

    return pick


def _pairs(
    text: str,
    found: Reproduction,
    question: str,
    pick: Callable[[list[Reproduced]], tuple[Reproduced, Reproduced]],
) -> Conclusion:
    """A conclusion that one cluster serves more than another, for each workload."""
    parts, verdicts = [], []
    for workload in WORKLOADS:
        one, other = pick(found.rows_of(question, workload))
        verdicts.append(_rate(one) > _rate(other))
        parts.append(
            f"{workload}: {one.published.design} {_rate(one):.1f}/s, {other.published.design} "
            f"{_rate(other):.1f}/s ({_rate(one) / _rate(other):.2f}x)"
        )
    return Conclusion(text, _all_or_none(verdicts), "; ".join(parts))


def _all_or_none(verdicts: list[bool]) -> bool | None:
    return verdicts[0] if len(set(verdicts)) == 1 else None


def _published_counts(found: Reproduction) -> Conclusion:
    """Whether the published machine counts serve nearly what the best of their design do."""
    shares = {
        f"{row.published.design} {row.published.workload} {row.published.question}": (
            (row.measured_rate_per_s or 0.0) / _rate(row)
        )
        for row in found.rows
        if row.published.question in _BUDGETS and not is_baseline(row.published.design) and row.fits
    }
    least, most = min(shares, key=lambda k: shares[k]), max(shares, key=lambda k: shares[k])
    near = sum(share >= 0.95 for share in shares.values())
    return Conclusion(
        "The published machine counts are near the best of their designs",
        _all_or_none([share >= 0.95 for share in shares.values()]),
        f"{near} of {len(shares)} serve at least 95 % of it; from {shares[least]:.0%} ({least}) to "
        f"{shares[most]:.0%} ({most})",
    )
