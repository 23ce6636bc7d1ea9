"""Why nothing is within the limits: which of them has to move, and to what value.

Each limit is dropped alone and its own use is minimised, judged like any plan; where no single
one helps, all are dropped and the sum of their relative uses is minimised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from provisioner.domain.result import Reason
from provisioner.planning.limits import Limit, Total, limits_of
from provisioner.planning.objective import Objective
from provisioner.planning.problem import Problem
from provisioner.search.best import Best
from provisioner.search.hunt import Hunt
from provisioner.search.start import alone_by_role, settle
from provisioner.search.trials import OutOfTimeError

_DIGITS = 2


def limit_reasons(best: Best) -> list[Reason]:
    """Limits of the site whose move alone makes the case feasible, or all that have to move."""
    limits = limits_of(best.hunts[0].problem)
    alone = []
    for limit in limits:
        best.setting.progress(f"without limits.{limit.key}")
        found = _least(best, limit.dropped, partial(_use, limit.key))
        if found is not None:
            hunt, sure = found
            alone.append(_limit_reason(limit, hunt.value or 0.0, alone=True, sure=sure))
    return alone or _together(best, limits)


def _use(key: str, problem: Problem) -> Objective:
    return next(limit for limit in limits_of(problem) if limit.key == key).use


def _least(
    best: Best, dropped: Callable[[Problem], Problem], use: Callable[[Problem], Objective]
) -> tuple[Hunt, bool] | None:
    """The hunt that needs least of something in any design, and whether it was finished."""
    leader: Hunt | None = None
    sure = True
    for hunt in best.hunts:
        among = hunt.again(use(hunt.problem), dropped(hunt.problem))
        if leader is not None:
            among.to_beat(leader.value)
        try:
            settle(among, alone_by_role(among))
            among.run()
        except OutOfTimeError:
            sure = False
        if among.best is not None:
            leader = among
    return None if leader is None else (leader, sure)


def _together(best: Best, limits: list[Limit]) -> list[Reason]:
    """Limits to move together, by the least sum of their uses relative to their values."""

    def without_any(problem: Problem) -> Problem:
        for limit in limits_of(problem):
            problem = limit.dropped(problem)
        return problem

    found = _least(best, without_any, lambda problem: Total(tuple(limits_of(problem))))
    if found is None or found[0].best is None:
        return []
    hunt, sure = found
    assert hunt.best is not None
    uses = [(limit, hunt.worth_by(limit.use, hunt.best)) for limit in limits]
    return [
        _limit_reason(limit, used, alone=False, sure=sure)
        for limit, used in uses
        if used > limit.value
    ]


def _limit_reason(limit: Limit, needed: float, *, alone: bool, sure: bool) -> Reason:
    needed = _rounded_up(needed)
    unit = limit.unit.removesuffix("s") if limit.value == 1 else limit.unit
    others = "" if alone else ", and the other limits named have to move too"
    least = "is the least that would do" if sure else "would do, and less may"
    return Reason(
        limit=f"limits.{limit.key}",
        value=limit.value,
        needed=needed,
        alone=alone,
        sentence=(
            f"limits.{limit.key} of {limit.value:,.10g} {unit} is too small; "
            f"{needed:,.10g} {limit.unit} {least}{others}"
        ),
    )


def _rounded_up(value: float) -> float:
    """The value to the cent, never below it by more than the solver's own rounding."""
    scale = 10.0**_DIGITS
    return math.ceil(value * scale - 1e-6 * max(1.0, abs(value))) / scale
