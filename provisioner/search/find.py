"""The guide's own plan: by the analytic latency estimate, before anything is simulated.

It is solved for every design and TTFT budget, and the best plan wins. Where a search starts, not
where it ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from provisioner.capacity.candidate import Candidate
from provisioner.capacity.demand import classify
from provisioner.capacity.deployments import deployments_of
from provisioner.capacity.guide import Guide
from provisioner.capacity.targets import resolve_targets
from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.domain.designs import allows, roles_of
from provisioner.errors import StoppedError
from provisioner.planning.balance import balanced
from provisioner.planning.objective import Objective
from provisioner.planning.objectives import BY_NAME, cost, machines, power
from provisioner.planning.problem import Problem, Solution
from provisioner.planning.solve import Answer, solve

Progress = Callable[[str], None]
"""Called with a short sentence whenever the search moves on."""

_CLOSE = 1e-6
_LEAST_RATE_PER_S = 1e-9
_TIE_BREAKERS = (cost, power, machines)


@dataclass(frozen=True)
class Found:
    """The best plan of a search and the program it came from.

    ``complete`` is False where the search was stopped before every program was solved.
    """

    design: str
    budget: int
    problem: Problem
    solution: Solution
    answer: Answer
    complete: bool = True


@dataclass(frozen=True)
class Search:
    """A case made ready: what the programs are built from."""

    case: Case
    guide: Guide
    objective: Objective
    notes: tuple[str, ...]

    def problem(self, candidates: tuple[Candidate, ...]) -> Problem:
        """The case's program over some candidates."""
        scenario = self.case.scenario
        return Problem(
            demand=self.guide.demand,
            candidates=candidates,
            limits=scenario.limits,
            existing=tuple(sorted(scenario.existing.items())),
            spares=tuple(sorted((r, n) for r, n in scenario.spares.items() if n)),
            max_types_per_role=scenario.max_types_per_role,
            scale_demand=self.objective.MAXIMIZE,
        )

    def better(self, a: float, b: float) -> bool:
        """Whether value ``a`` beats ``b`` by more than tolerance."""
        margin = _CLOSE * abs(b)
        return a > b + margin if self.objective.MAXIMIZE else a < b - margin


def prepare(case: Case) -> Search:
    """Fit profiles, gather request classes and resolve limits."""
    deployments, notes = deployments_of(case)
    guide = Guide(classify(case.workloads), resolve_targets(case), deployments)
    return Search(case, guide, BY_NAME[case.scenario.objective], (*case.notes, *notes))


def find(search: Search, progress: Progress = lambda _: None) -> Found | None:
    """Solve the guide for every design and TTFT budget; the best plan, or None.

    A plan that serves nothing is none. Equal plans are told apart by cost, power and number of
    machines, in this order. The time limit and Ctrl-C end the search with the best plan so far.

    Raises
    ------
    StoppedError
        Where the time limit comes before any plan.
    KeyboardInterrupt
        At Ctrl-C before any plan.
    """
    deadline = time.monotonic() + search.case.scenario.time_limit_s
    best: list[Found] = []
    complete = True
    try:
        for design, budget, problem in programs(search):
            progress(f"{design}: TTFT budget {budget}")
            left = deadline - time.monotonic()
            if left <= 0:
                complete = False
                break
            to_beat = search.objective.value(best[0].problem, best[0].solution) if best else None
            answer = solve(problem, search.objective, left, no_worse_than=to_beat)
            complete = complete and answer.optimal
            if answer.solution is not None and _serves(problem, answer.solution):
                found = Found(design, budget, problem, answer.solution, answer)
                best = _kept(search, best, found)
        if best:
            return _balanced(replace(_tie_broken(search, best, deadline), complete=complete))
    except KeyboardInterrupt:
        if not best:
            raise
        return _balanced(replace(best[0], complete=False))
    if not complete:
        raise StoppedError("the time limit was reached before any plan was found")
    return None


def _balanced(found: Found) -> Found:
    return replace(found, solution=balanced(found.problem, found.solution))


def _serves(problem: Problem, solution: Solution) -> bool:
    """Whether a solution serves anything; a fixed demand is served in full, however small."""
    served = solution.theta * problem.demand.total_rate_per_s
    return not problem.scale_demand or served > _LEAST_RATE_PER_S


def _kept(search: Search, best: list[Found], found: Found) -> list[Found]:
    """The plans that are equally good, after one more."""
    if not best:
        return [found]
    new, old = (search.objective.value(f.problem, f.solution) for f in (found, best[0]))
    if search.better(new, old):
        return [found]
    return best if search.better(old, new) else [*best, found]


def _tie_broken(search: Search, best: list[Found], deadline: float) -> Found:
    others = tuple(o for o in _TIE_BREAKERS if o is not search.objective)
    solved = []
    for found in best:
        left = max(deadline - time.monotonic(), 1.0)
        value = search.objective.value(found.problem, found.solution)
        answer = solve(found.problem, search.objective, left, others, no_worse_than=value)
        solved.append(replace(found, solution=answer.solution or found.solution))
    return min(solved, key=lambda f: [o.value(f.problem, f.solution) for o in others])


def programs(search: Search) -> Iterator[tuple[str, int, Problem]]:
    """Yield every program worth solving: (design, budget, problem)."""
    for design in search.case.scenario.designs:
        kept: list[tuple[int, tuple[Candidate, ...]]] = []
        for budget in search.guide.budgets:
            every = search.guide.candidates(roles_of(design), budget)
            candidates = tuple(c for c in every if allows(design, c.role, c.machine.name))
            if not serves_all(candidates, search.guide):
                continue
            if not any(_covers(other, candidates) for _, other in kept):
                kept = [(i, other) for i, other in kept if not _covers(candidates, other)]
                kept.append((budget, candidates))
        for budget, candidates in kept:
            yield design, budget, search.problem(candidates)


def serves_all(candidates: tuple[Candidate, ...], guide: Guide) -> bool:
    """Whether every class has a candidate in both phases."""
    for k in range(len(guide.demand.names)):
        able = {c.role for c in candidates if c.serves[k]}
        if Role.MIXED not in able and not {Role.PROMPT, Role.TOKEN} <= able:
            return False
    return True


def _covers(wide: tuple[Candidate, ...], narrow: tuple[Candidate, ...]) -> bool:
    """Whether one budget's candidates allow everything that another's do."""
    by_name = {c.name: c for c in wide}
    return all(c.name in by_name and _at_least(by_name[c.name], c) for c in narrow)


def _at_least(wide: Candidate, narrow: Candidate) -> bool:
    return (
        bool((wide.serves >= narrow.serves).all())
        and wide.target_s >= narrow.target_s
        and wide.batch_limit >= narrow.batch_limit
        and all(wide.headroom(tier.low) >= tier.headroom for tier in narrow.tiers)
    )
