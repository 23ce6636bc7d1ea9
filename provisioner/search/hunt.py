"""The hunt for the best cluster of one design at one demand, and the proof that it is the best.

Over and over the bounding program names the best cluster that is not ruled out. Where the judge
passes it, nothing better is left; where it fails, it is ruled out with its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from provisioner.domain.base import Role
from provisioner.planning.counted import counted, within_limits
from provisioner.planning.objective import Objective
from provisioner.planning.problem import Problem
from provisioner.planning.solve import Answer, solve
from provisioner.search.ruled_out import RuledOut
from provisioner.search.trials import Counts, OutOfTimeError, Trials

_CLOSE = 1e-9


@dataclass(eq=False)
class Hunt:
    """State of a hunt.

    Attributes
    ----------
    problem : Problem
        The bounding program; its candidates are the places of the trials, and ``most`` the most
        machines of each that are looked at.
    best : tuple of int or None
        Counts of the best cluster that passed.
    value : float or None
        What is to be beaten: the value of ``best``, or of a cluster of another design.
    bound : float or None
        No cluster that passes has a better value.
    done : bool
        Whether nothing better than ``value`` is left.
    answer : Answer or None
        The last solve of the bounding program.
    """

    problem: Problem
    objective: Objective
    ruled_out: RuledOut
    progress: Callable[[str], None] = lambda _: None
    best: Counts | None = None
    value: float | None = None
    bound: float | None = None
    done: bool = False
    answer: Answer | None = None

    @property
    def trials(self) -> Trials:
        """The judge, with its memory."""
        return self.ruled_out.trials

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles of the design."""
        return self.ruled_out.roles

    def again(self, objective: Objective, problem: Problem) -> Hunt:
        """A hunt for something else among the same clusters; what failed is not tried again."""
        return replace(
            self,
            problem=problem,
            objective=objective,
            best=None,
            value=None,
            bound=None,
            done=False,
            answer=None,
        )

    def worth(self, counts: Counts) -> float:
        """Value of the objective of a cluster."""
        return self.worth_by(self.objective, counts)

    def worth_by(self, objective: Objective, counts: Counts) -> float:
        """Value of another objective."""
        return objective.value(self.problem, counted(self.problem, counts))

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

    def to_beat(self, value: float | None) -> None:
        """Look only for what beats a value of elsewhere too."""
        if value is not None and (self.value is None or value < self.value):
            self.best, self.value = None, value

    def run(self) -> None:
        """Hunt until nothing better is left.

        Raises
        ------
        OutOfTimeError
            Where time is up before; what was found is kept.
        """
        while not self.done:
            self.step()

    def step(self) -> None:
        """Try the best cluster that is not ruled out.

        Raises
        ------
        OutOfTimeError
            Where no time is left.
        """
        counts = self._next()
        if counts is None:
            self.done = True
            self.bound = self.value
        elif self.ruled_out.passes(counts, self.most(), self.offer):
            self.done = True

    def _next(self) -> Counts | None:
        """The best cluster that is not ruled out; None where the hunt is over."""
        answer = self.solved()
        if not answer.optimal:
            raise OutOfTimeError
        if answer.solution is None or not self.beats(answer.solution.machines, self.value):
            return None
        counts = answer.solution.machines
        best = "none yet" if self.value is None else f"{self.value:,.6g}"
        number = len(self.ruled_out.cuts)
        self.progress(f"best {best}, none below {self.worth(counts):,.6g}; {number} cuts")
        return counts

    def solved(self, least_s: float = 0.0) -> Answer:
        """Solve the bounding program as it stands and note its bound.

        Raises
        ------
        OutOfTimeError
            Where no time is left, and ``least_s`` gives none.
        """
        left_s = max(self.trials.allowance.left_s, least_s)
        if left_s <= 0:
            raise OutOfTimeError
        problem = replace(self.problem, cuts=tuple(self.ruled_out.cuts), most=self.most())
        self.answer = solve(problem, self.objective, left_s)
        if self.answer.bound is not None:
            self._note_bound(self.answer.bound)
        return self.answer

    def _note_bound(self, bound: float) -> None:
        self.bound = bound if self.bound is None else max(self.bound, bound)
        if self.value is not None:
            self.bound = min(self.bound, self.value)

    def most(self) -> Counts:
        """Per kind, as many machines as a better cluster within the limits may have."""
        limits = self.problem.most
        assert limits is not None
        return tuple(self._affordable(j, limit) for j, limit in enumerate(limits))

    def _affordable(self, j: int, limit: int) -> int:
        """Most machines of one kind, alone, that the limits allow and that would be better."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            alone = tuple(middle if i == j else 0 for i in range(len(self.problem.candidates)))
            if self.allowed(alone) and self.beats(alone, self.value):
                low = middle
            else:
                high = middle - 1
        return low
