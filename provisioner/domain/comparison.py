"""Designs planned side by side for one scenario."""

from __future__ import annotations

from dataclasses import dataclass, replace

from provisioner.domain.result import PlanResult


@dataclass(frozen=True)
class Compared:
    """One design's plan.

    ``highest_rate_per_s`` is the most that its machines serve within the SLO [requests/s]; None
    without a plan, or where time was up before it was found.
    """

    name: str
    result: PlanResult
    highest_rate_per_s: float | None


@dataclass(frozen=True)
class Comparison:
    """Plans of designs and the best of all, which is the last; ``baseline`` names one of them."""

    baseline: str
    rows: tuple[Compared, ...]
    warnings: tuple[str, ...] = ()

    @property
    def base(self) -> Compared:
        """What the others are compared with."""
        return next(row for row in self.rows if row.name == self.baseline)

    @property
    def exit_code(self) -> int:
        """That of the best of all."""
        return self.rows[-1].result.exit_code

    def with_warnings(self, more: tuple[str, ...]) -> Comparison:
        """The same with further warnings, first."""
        return replace(self, warnings=(*more, *self.warnings))
