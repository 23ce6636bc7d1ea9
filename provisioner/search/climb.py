"""The most throughput within limits: ever higher demands, until no cluster passes.

At a demand just above the highest so far the bounding program names the cluster that could serve
most. Where the judge passes it, its own highest demand is the next to beat; where it fails, it is
ruled out with its neighbours, at this demand and all above.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from provisioner.planning.counted import counted, within_limits
from provisioner.planning.objectives import cost, throughput
from provisioner.planning.problem import Problem
from provisioner.planning.solve import Answer, most_machines, solve
from provisioner.search.best import (
    INTERRUPT,
    LEAST_BOUND_S,
    TIME_LIMIT,
    Best,
    check_not_stopped,
    hunts_of,
)
from provisioner.search.certainty import MOST_BETTER, clusters_within, violation_note, violations
from provisioner.search.highest import LEAST_RATE_PER_S, STEP, Demands
from provisioner.search.ruled_out import RuledOut
from provisioner.search.setting import Setting
from provisioner.search.space import Space
from provisioner.search.start import by_guide
from provisioner.search.trials import Counts, OutOfTimeError
from provisioner.search.winner import Proof, Winner

_ROUNDING = 1e-6


@dataclass(eq=False)
class Climb:
    """The search in one design.

    Attributes
    ----------
    theta : float
        Demand to beat, in multiples of the scenario's.
    best : tuple of int or None
        The cluster that passes there, if it is of this design.
    bound : float or None
        No cluster of this design passes at a higher demand.
    """

    setting: Setting
    demands: Demands
    ruled_out: RuledOut | None = None
    at: float = 1.0
    theta: float = 0.0
    best: Counts | None = None
    bound: float | None = None
    done: bool = False
    answer: Answer | None = None
    space: Space | None = None

    def offer(self, counts: Counts, theta: float) -> None:
        """Take a cluster that passes at a demand for the best where it is."""
        if theta > self.theta:
            self.best, self.theta = counts, theta

    def to_beat(self, theta: float) -> None:
        """Look only for what beats a demand that is served elsewhere."""
        if theta > self.theta:
            self.best, self.theta = None, theta

    def run(self) -> None:
        """Climb until no cluster passes at a demand a step above the best.

        Raises
        ------
        OutOfTimeError
            Where time is up before.
        """
        while not self.done:
            least = LEAST_RATE_PER_S / self.setting.demand.total_rate_per_s
            target = max(self.theta * (1 + STEP), least)
            counts = self._passing(target)
            if counts is None:
                self.done, self.bound = True, target
            else:
                theta = self.demands.highest(counts, target)
                self.offer(counts, max(target, theta or 0.0))

    def bounded(self, theta: float) -> float | None:
        """The bound; where the search ended before it had one, that of the bounding program."""
        if self.bound is None:
            space = self.setting.space(self.demands.space.design, self.setting.trial(theta), theta)
            answer = solve(allowed_problem(space), throughput, LEAST_BOUND_S)
            if answer.bound is not None:
                self._note_bound(answer.bound, space.problem, theta)
        return self.bound

    def _note_bound(self, bound: float, problem: Problem, theta: float) -> None:
        """Keep the bound of a program that was made from the requests at a demand."""
        found = bound / problem.demand.total_rate_per_s * theta
        self.bound = found if self.bound is None else min(self.bound, found)

    def _passing(self, theta: float) -> Counts | None:
        """A cluster that passes at a demand; None where there is none."""
        problem, ruled_out = self._prepared(theta)
        while True:
            counts = self._next(problem, ruled_out, theta)
            if counts is None:
                return None
            found: list[Counts] = []
            assert problem.most is not None
            if ruled_out.passes(counts, problem.most, found.append):
                return counts
            allowed = [c for c in found if within_limits(problem, counted(problem, c))]
            if allowed:
                return allowed[0]

    def _prepared(self, theta: float) -> tuple[Problem, RuledOut]:
        """The bounding program and what is ruled out at a demand."""
        trials = self.demands.trials(theta)
        self.space = space = self.setting.space(self.demands.space.design, trials.trial, theta)
        if self.ruled_out is None:
            self.ruled_out = RuledOut(trials, space.weights)
        else:
            self.ruled_out = self.ruled_out.at_more(trials, theta / self.at)
        self.at = theta
        return _ample_problem(space), self.ruled_out

    def _next(self, problem: Problem, ruled_out: RuledOut, theta: float) -> Counts | None:
        left_s = self.setting.allowance.left_s
        if left_s <= 0:
            raise OutOfTimeError
        answer = solve(replace(problem, cuts=tuple(ruled_out.cuts)), throughput, left_s)
        self.answer = answer
        if answer.bound is not None:
            self._note_bound(answer.bound, problem, theta)
        if not answer.optimal:
            raise OutOfTimeError
        if answer.solution is None or answer.solution.theta < 1 - _ROUNDING:
            return None
        rate = self.theta * self.setting.demand.total_rate_per_s
        number = len(ruled_out.cuts)
        self.setting.progress(
            f"{self.demands.space.design}: best {rate:,.6g} requests/s; {number} cuts"
        )
        return answer.solution.machines


def allowed_problem(space: Space) -> Problem:
    """The bounding program with free demand, and all machines that the limits allow."""
    problem = replace(space.problem, scale_demand=True)
    return replace(problem, most=most_machines(replace(problem, most=None)))


def _ample_problem(space: Space) -> Problem:
    """The same with no more machines of a kind than are of use at the demand of the space."""
    problem = allowed_problem(space)
    assert problem.most is not None
    assert space.problem.most is not None
    return replace(problem, most=tuple(map(min, space.problem.most, problem.most)))


@dataclass(eq=False)
class Climbs:
    """The climbs of all designs."""

    setting: Setting
    climbs: list[Climb]
    stopped: str | None = None

    @property
    def theta(self) -> float:
        """The highest demand that is served so far."""
        return max((c.theta for c in self.climbs if c.best is not None), default=0.0)

    @property
    def leader(self) -> Climb | None:
        """The climb that holds the best cluster so far."""
        holders = [climb for climb in self.climbs if climb.best is not None]
        return max(holders, key=lambda climb: climb.theta, default=None)


def find(setting: Setting, designs: list[str]) -> tuple[Winner | None, Best]:
    """Search for the cluster that serves most within the limits.

    Raises
    ------
    InputError
        Where a limit is missing without which there is no maximum.
    StoppedError
        Where the time limit comes before any plan.
    KeyboardInterrupt
        At Ctrl-C before any plan.
    """
    small = hunts_of(setting, designs, cost, LEAST_RATE_PER_S / setting.demand.total_rate_per_s)
    for space in small.spaces:
        allowed_problem(space)
    climbs = climbs_of(setting, small.spaces)
    try:
        _run(climbs)
    except OutOfTimeError:
        climbs.stopped = TIME_LIMIT
    except KeyboardInterrupt:
        climbs.stopped = INTERRUPT
    winner = _winner(climbs)
    if winner is None:
        small.stopped = climbs.stopped
        check_not_stopped(small)
    return winner, small


def climbs_of(setting: Setting, spaces: list[Space]) -> Climbs:
    """Make ready a climb in every design."""
    return Climbs(setting, [Climb(setting, Demands(setting, space)) for space in spaces])


def _run(climbs: Climbs) -> None:
    for climb in climbs.climbs:
        climb.setting.progress(f"{climb.demands.space.design}: a first cluster")
        start(climb)
    for climb in sorted(climbs.climbs, key=lambda climb: -climb.theta):
        climb.to_beat(climbs.theta)
        climb.run()


def start(climb: Climb) -> None:
    """The guide's plan and the highest demand at which it passes."""
    found = by_guide(climb.setting, climb.demands.space)
    if found is None:
        return
    counts, guess = found
    theta = climb.demands.highest(counts, guess)
    if theta is not None:
        climb.offer(counts, theta)


def _winner(climbs: Climbs) -> Winner | None:
    leader = climbs.leader
    if leader is None or leader.best is None:
        return None
    proof, notes = _proof(climbs)
    leader = climbs.leader
    assert leader is not None and leader.best is not None
    total = climbs.setting.demand.total_rate_per_s
    bounds = [climb.bounded(leader.theta) for climb in climbs.climbs]
    known = [bound for bound in bounds if bound is not None]
    bound = max([*known, leader.theta]) * total if len(known) == len(bounds) else None
    points = sorted(set(leader.demands.points.get(leader.best, [])))
    notes.append(f"throughput is found to {STEP:.1%}, with the same arrivals at every rate")
    if climbs.stopped:
        notes.append(f"the search was ended by {climbs.stopped}; a better plan may exist")
    return Winner(
        space=leader.demands.space,
        counts=leader.best,
        trials=leader.demands.trials(leader.theta),
        theta=leader.theta,
        value=leader.theta * total,
        bound=bound,
        proof=proof,
        answer=leader.answer,
        notes=tuple(notes),
        points=tuple((theta * total, passed) for theta, passed in points),
    )


def _proof(climbs: Climbs) -> tuple[Proof, list[str]]:
    """How certain it is that nothing serves more, after what checks that takes."""
    if climbs.stopped:
        return "none", []
    try:
        proof, notes = _checked(climbs)
        leader = climbs.leader
        if leader and leader.best and not leader.demands.monotone(leader.best, leader.theta):
            notes.append("the plan fails at some lower demand that was tried (see throughput.csv)")
    except OutOfTimeError:
        climbs.stopped = TIME_LIMIT
    except KeyboardInterrupt:
        climbs.stopped = INTERRUPT
    else:
        return proof, notes
    return "none", []


def _checked(climbs: Climbs) -> tuple[Proof, list[str]]:
    if _all_tried(climbs):
        return "exhaustive", []
    found = sum(_violations(climb) for climb in climbs.climbs)
    return ("none", [violation_note(found)]) if found else ("monotone", [])


def _violations(climb: Climb) -> int:
    if climb.ruled_out is None or climb.space is None:
        return 0
    return len(violations(climb.ruled_out, climb.best))


def _all_tried(climbs: Climbs) -> bool:
    """Try every cluster within the limits at a demand above the best, where they are few."""
    while True:
        raised, left = False, MOST_BETTER
        for climb in climbs.climbs:
            target = climbs.theta * (1 + STEP)
            clusters = clusters_within(allowed_problem(climb.demands.space), left)
            if clusters is None:
                return False
            left -= len(clusters)
            trials = climb.demands.trials(target)
            for counts in (c for c in clusters if trials.staffed(c)):
                if trials.passes(counts):
                    climb.offer(counts, climb.demands.highest(counts, target) or target)
                    raised = True
                    break
        if not raised:
            return True
