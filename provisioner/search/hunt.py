"""The hunt for the best cluster of one design at one demand, and the proof that it is the best.

Over and over the bounding program names the best cluster that is not ruled out. Where the judge
passes it, nothing better is left. Where it fails, the largest failed clusters around it become
cuts: clusters with no more machines in any of its pools are taken to fail as well. With separable
roles a cut names the pools of one role only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from provisioner.domain.base import Role
from provisioner.planning.counted import counted, within_limits
from provisioner.planning.objective import Objective
from provisioner.planning.problem import Cut, Problem
from provisioner.planning.solve import Answer, solve
from provisioner.search.frontier import Frontier, largest_failing
from provisioner.search.trials import Counts, OutOfTimeError, Trials

_CLOSE = 1e-9


@dataclass
class Hunt:
    """State of a hunt.

    Attributes
    ----------
    problem : Problem
        The bounding program; its candidates are the places of ``trials``, and ``most`` the most
        machines of each that are looked at.
    weights : tuple of float
        Share of the demand that one machine of each kind serves, by the guide.
    best : tuple of int or None
        Counts of the best cluster that passed, of value ``value``.
    bound : float or None
        No cluster that passes has a better value.
    done : bool
        Whether nothing better than ``best`` is left.
    cuts, cut_from : lists
        Cuts, and for each the role tried (None for all) and the largest failed cluster.
    answer : Answer or None
        The last solve of the bounding program.
    """

    problem: Problem
    objective: Objective
    trials: Trials
    weights: tuple[float, ...]
    progress: Callable[[str], None] = lambda _: None
    best: Counts | None = None
    value: float | None = None
    bound: float | None = None
    done: bool = False
    cuts: list[Cut] = field(default_factory=list)
    cut_from: list[tuple[Role | None, Counts]] = field(default_factory=list)
    answer: Answer | None = None
    _frontiers: dict[Role | None, Frontier] = field(default_factory=dict)

    def worth(self, counts: Counts) -> float:
        """Value of the objective of a cluster."""
        return self.objective.value(self.problem, counted(self.problem, counts))

    def allowed(self, counts: Counts) -> bool:
        """Whether the limits allow a cluster."""
        return within_limits(self.problem, counted(self.problem, counts))

    def beats(self, counts: Counts, value: float | None) -> bool:
        """Whether a cluster is better than a value, by more than rounding."""
        return value is None or self.worth(counts) < value - _CLOSE * abs(value)

    def offer(self, counts: Counts) -> None:
        """Take a cluster that passed for the best where it is."""
        if self.allowed(counts) and self.beats(counts, self.value):
            self.best, self.value = counts, self.worth(counts)

    def run(self) -> None:
        """Hunt until nothing better is left, or time is up."""
        try:
            while not self.done:
                self._round()
        except OutOfTimeError:
            return

    def _round(self) -> None:
        counts = self._next()
        if counts is None:
            return
        failed = self.failed_roles(counts)
        if failed:
            for role in failed:
                self._cut(role, counts)
        elif self.trials.passes(counts):
            self.offer(counts)
            self.done = True
        else:
            self._cut(None, counts)

    def _next(self) -> Counts | None:
        """The best cluster that is not ruled out; None where the hunt is over."""
        left_s = self.trials.deadline - time.monotonic()
        if left_s <= 0:
            raise OutOfTimeError
        problem = replace(self.problem, cuts=tuple(self.cuts), most=self._most())
        self.answer = answer = solve(problem, self.objective, left_s)
        if answer.bound is not None:
            self._note_bound(answer.bound)
        if not answer.optimal:
            raise OutOfTimeError
        if answer.solution is None:
            self._exhausted()
            return None
        counts = answer.solution.machines
        if not self.beats(counts, self.value):
            self._exhausted()
            return None
        best = "none yet" if self.value is None else f"{self.value:,.6g}"
        self.progress(f"best {best}, none below {self.worth(counts):,.6g}; {len(self.cuts)} cuts")
        return counts

    def _note_bound(self, bound: float) -> None:
        self.bound = bound if self.bound is None else max(self.bound, bound)
        if self.value is not None:
            self.bound = min(self.bound, self.value)

    def _exhausted(self) -> None:
        self.done = True
        self.bound = self.value

    def _most(self) -> Counts:
        """Per kind, more than any better cluster has."""
        limits = self.problem.most
        assert limits is not None
        return tuple(self._affordable(j, limit) for j, limit in enumerate(limits))

    def _affordable(self, j: int, limit: int) -> int:
        """Most machines of one kind, alone, that the limits allow and that would be better."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            alone = tuple(middle if i == j else 0 for i in range(len(self.problem.candidates)))
            if self._may_be(alone):
                low = middle
            else:
                high = middle - 1
        return low

    def _may_be(self, counts: Counts) -> bool:
        return self.allowed(counts) and self.beats(counts, self.value)

    def failed_roles(self, counts: Counts) -> list[Role]:
        """Roles that fail by themselves; none where roles cannot be told apart."""
        if not self.trials.separable:
            return []
        return [role for role in self.problem.roles if not self.trials.role_passes(role, counts)]

    def _cut(self, role: Role | None, counts: Counts) -> None:
        """Rule out what has no more machines than the largest failed clusters around this one."""
        members = self._members(role)
        start = tuple(n if j in members else 0 for j, n in enumerate(counts))
        frontier = self._frontiers.setdefault(role, Frontier(tuple(members), self.weights))
        frontier.note(start, passed=False)

        def fails(more: Counts) -> bool:
            known = frontier.known(more)
            if known is None:
                known = self._passes(role, more)
                frontier.note(more, passed=known)
            return not known

        most = self._most()
        order = sorted((j for j in members if most[j] > 0), key=lambda j: -counts[j])
        largest = largest_failing(start, order, most, fails, frontier.lacking)
        frontier.fit(largest)
        self.cuts.append(Cut(tuple((j, largest[j]) for j in members)))
        self.cut_from.append((role, largest))

    def _passes(self, role: Role | None, counts: Counts) -> bool:
        if role is not None:
            return self.trials.role_passes(role, counts)
        passed = self.trials.passes(counts)
        if passed:
            self.offer(counts)
        return passed

    def _members(self, role: Role | None) -> list[int]:
        return list(range(len(self.trials.places))) if role is None else self.problem.of_role(role)
