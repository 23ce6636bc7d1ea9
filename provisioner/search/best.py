"""The best cluster at the demand asked for: a hunt in every design, the best of all wins.

A first cluster is settled on in every design before any hunt begins, so that time may run out at
any moment. Among equals of the winning design the cheapest, then the one of least power, then the
smallest is taken. A power limit seldom binds, and without it fewer kinds of machines are worth
trying: the best cluster without it is looked for first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from provisioner.errors import StoppedError
from provisioner.planning.counted import counted, within_limits
from provisioner.planning.objective import Objective
from provisioner.planning.objectives import cost, machines, power
from provisioner.planning.problem import Problem
from provisioner.search.certainty import MOST_BETTER, clusters_within, violation_note, violations
from provisioner.search.hunt import Hunt
from provisioner.search.ruled_out import RuledOut
from provisioner.search.setting import Setting
from provisioner.search.space import Space
from provisioner.search.start import alone_by_role, by_guide, settle
from provisioner.search.trials import Counts, OutOfTimeError
from provisioner.search.winner import Proof, Winner

_SAME = 1e-9
_LIMIT_OF = {"cost": "usd_per_hour", "power": "power_w", "machines": "machines"}
_TIE_BREAKERS = (cost, power, machines)
INTERRUPT, TIME_LIMIT = "an interrupt", "the time limit"
_FREE_SHARE = 0.4
"""Share of the time for the search without a power limit."""
LEAST_BOUND_S = 2.0
"""Time for the bound of each design where the search has used up its own."""


@dataclass
class Best:
    """The hunts of all designs.

    ``stopped`` is None, or what ended the search before its time.
    """

    setting: Setting
    spaces: list[Space]
    hunts: list[Hunt]
    stopped: str | None = None

    @property
    def value(self) -> float | None:
        """Value of the best cluster so far."""
        return min((h.value for h in self.hunts if h.best and h.value is not None), default=None)

    @property
    def leader(self) -> Hunt | None:
        """The hunt that holds the best cluster so far."""
        holders = [hunt for hunt in self.hunts if hunt.best is not None]
        return min(holders, key=lambda hunt: hunt.value or 0.0, default=None)

    @property
    def done(self) -> bool:
        """Whether nothing better is left in any design."""
        return all(hunt.done for hunt in self.hunts)


def find(setting: Setting, designs: list[str]) -> tuple[Winner | None, Best]:
    """Search for the best cluster at the demand asked for.

    Raises
    ------
    StoppedError
        Where the time limit comes before any plan.
    KeyboardInterrupt
        At Ctrl-C before any plan.
    """
    found = _without_power_limit(setting, designs) or _searched(setting, designs)
    winner, best = found
    if winner is None:
        check_not_stopped(best)
    return found


def _searched(setting: Setting, designs: list[str]) -> tuple[Winner | None, Best]:
    best = hunts_of(setting, designs, setting.search.objective)
    run(best)
    return winner_of(best), best


def _without_power_limit(setting: Setting, designs: list[str]) -> tuple[Winner | None, Best] | None:
    """The best cluster without a power limit, where the limit allows it; None otherwise."""
    scenario = setting.search.case.scenario
    if scenario.limits.power_w is None or scenario.objective == "power":
        return None
    free = scenario.limits.model_copy(update={"power_w": None})
    allowance = setting.allowance
    deadline = allowance.deadline
    allowance.deadline -= (1 - _FREE_SHARE) * allowance.left_s
    winner, best = _searched(setting.limited_by(free), designs)
    allowance.deadline = deadline
    if winner is not None:
        problem = replace(winner.space.problem, limits=scenario.limits)
        if within_limits(problem, counted(problem, winner.counts)):
            winner = replace(winner, space=replace(winner.space, problem=problem))
            return (winner, best) if best.stopped != TIME_LIMIT else None
    if best.stopped == INTERRUPT:
        raise KeyboardInterrupt
    return None


def check_not_stopped(best: Best) -> None:
    """Raise what ended a search before any plan was found, if anything did."""
    if best.stopped == INTERRUPT:
        raise KeyboardInterrupt
    if best.stopped:
        raise StoppedError("the time limit was reached before any plan was found")


def hunts_of(
    setting: Setting, designs: list[str], objective: Objective, theta: float = 1.0
) -> Best:
    """Make ready a hunt in every design, at ``theta`` times the demand."""
    trial = setting.trial(theta)
    spaces = [setting.space(design, trial, theta) for design in designs]
    hunts = [
        Hunt(
            space.problem,
            objective,
            RuledOut(setting.trials(space.places, trial), space.weights),
            lambda text, design=space.design: setting.progress(f"{design}: {text}"),  # type: ignore[misc]
        )
        for space in spaces
        if space.places
    ]
    return Best(setting, [space for space in spaces if space.places], hunts)


def run(best: Best) -> None:
    """Hunt in every design until nothing better is left, time is up, or the user stops it."""
    try:
        for space, hunt in zip(best.spaces, best.hunts, strict=True):
            hunt.to_beat(best.value)
            best.setting.progress(f"{space.design}: a first cluster")
            settle(hunt, alone_by_role(hunt))
            if hunt.value is None:
                found = by_guide(best.setting, space)
                settle(hunt, found[0] if found else None)
        for hunt in sorted(best.hunts, key=lambda h: math.inf if h.value is None else h.value):
            hunt.to_beat(best.value)
            hunt.run()
        _break_ties(best)
    except OutOfTimeError:
        best.stopped = TIME_LIMIT
    except KeyboardInterrupt:
        best.stopped = INTERRUPT


def _break_ties(best: Best) -> None:
    """Among clusters as good as the best one, prefer what costs, draws and counts less."""
    hunt = best.leader
    if hunt is None or hunt.best is None or not best.done:
        return
    problem, settled = hunt.problem, hunt.best
    objective: Objective = hunt.objective
    for other in (o for o in _TIE_BREAKERS if o is not hunt.objective):
        problem = _no_worse(problem, objective, hunt.worth_by(objective, settled))
        among = hunt.again(other, problem)
        among.offer(settled)
        among.run()
        settled = among.best or settled
        hunt.best = settled
        objective = other


def _no_worse(problem: Problem, objective: Objective, value: float) -> Problem:
    """The problem whose clusters are at least as good by an objective."""
    key = _LIMIT_OF[objective.NAME]
    ceiling = max(value * (1 + _SAME), _SAME)
    limit = round(value) if key == "machines" else ceiling
    return replace(problem, limits=problem.limits.model_copy(update={key: limit}))


def winner_of(best: Best) -> Winner | None:
    """The best cluster with its bound and how certain it is; None where none passed."""
    proof, notes = _proof(best)
    hunt = best.leader
    if hunt is None or hunt.best is None or hunt.value is None:
        return None
    bound = hunt.value if proof != "none" else bound_of(best)
    if best.stopped:
        notes.append(f"the search was ended by {best.stopped}; a better plan may exist")
    return Winner(
        space=best.spaces[best.hunts.index(hunt)],
        counts=hunt.best,
        trials=hunt.trials,
        theta=1.0,
        value=hunt.value,
        bound=bound,
        proof=proof,
        answer=hunt.answer,
        notes=tuple(notes),
    )


def bound_of(best: Best) -> float | None:
    """A value that no cluster of any design beats; None where none is known."""
    bounds = []
    for hunt in best.hunts:
        if hunt.done:
            bounds.append(math.inf if hunt.value is None else hunt.value)
            continue
        if hunt.bound is None:
            hunt.solved(LEAST_BOUND_S)
        if hunt.bound is None:
            return None
        bounds.append(hunt.bound)
    value = best.value
    return min(bounds if value is None else [*bounds, value], default=None)


def _proof(best: Best) -> tuple[Proof, list[str]]:
    """How certain it is that nothing better passes, after what checks that takes."""
    if best.stopped or not best.done:
        return "none", []
    try:
        if _all_better_tried(best):
            return "exhaustive", []
        found = sum(_violations_of(hunt, best) for hunt in best.hunts)
    except OutOfTimeError:
        return "none", ["time was up before the cuts of the search were checked"]
    except KeyboardInterrupt:
        return "none", ["the search was stopped before its cuts were checked"]
    if found:
        return "none", [violation_note(found)]
    return "monotone", []


def _violations_of(hunt: Hunt, best: Best) -> int:
    """Number of violations of a design; a better cluster among them is the best from then on."""
    found = violations(hunt.ruled_out, hunt.best)
    for counts in found:
        if hunt.trials.staffed(counts) and hunt.trials.passes(counts):
            hunt.to_beat(best.value)
            hunt.offer(counts)
    return len(found)


def _all_better_tried(best: Best) -> bool:
    """Try every better cluster where they are few; one that passes is the best from then on."""
    while True:
        value, left = best.value, MOST_BETTER
        beaten = False
        for hunt in best.hunts:
            clusters = clusters_within(
                replace(hunt.problem, most=hunt.most()), left, _better_than(hunt, value)
            )
            if clusters is None:
                return False
            left -= len(clusters)
            for counts in filter(hunt.trials.staffed, clusters):
                if hunt.trials.passes(counts):
                    hunt.to_beat(value)
                    hunt.offer(counts)
                    beaten = True
                    break
            if beaten:
                break
        if not beaten:
            return True


def _better_than(hunt: Hunt, value: float | None) -> Callable[[Counts], bool]:
    return lambda counts: hunt.beats(counts, value)
