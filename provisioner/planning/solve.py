"""Build, solve and read one integer program.

A ratio objective is solved by Dinkelbach's method: maximise ``served - r * spent`` for the ratio r
of the last solution until it does not improve; exact, and a handful of solves.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass

import pulp

from provisioner.errors import InputError
from provisioner.planning import solver
from provisioner.planning.constraints import CONSTRAINTS
from provisioner.planning.objective import Objective
from provisioner.planning.objectives import throughput
from provisioner.planning.problem import Problem, Solution, per_request
from provisioner.planning.variables import Variable, Variables, declare, read_solution

_CLOSE = 1e-7
_NOTHING = 1e-9
"""HiGHS takes smaller coefficients for 0: a pool with no more time left than that does no work."""
_MAX_RATIO_STEPS = 50
_MOST_MACHINES = 1e9


@dataclass(frozen=True)
class Answer:
    """Result of one program.

    ``bound`` is a value of the objective that no solution of this program beats; None where none
    is known, and where work that takes no time lets throughput grow without one.
    """

    solution: Solution | None
    bound: float | None
    optimal: bool
    model: pulp.LpProblem | None

    @property
    def feasible(self) -> bool:
        """Whether a solution was found."""
        return self.solution is not None


def solve(
    problem: Problem,
    objective: Objective,
    time_limit_s: float,
    prefer: tuple[Objective, ...] = (),
    no_worse_than: float | None = None,
) -> Answer:
    """Optimise; among equal optima take the one that is best by ``prefer``, in order.

    With ``no_worse_than`` only solutions at least that good are looked for; a ratio does not know
    it. Preferences among equal ratios are among clusters of the same throughput.

    Raises
    ------
    InputError
        Where the objective is throughput and no limit bounds it.
    """
    deadline = time.monotonic() + time_limit_s
    if not problem.candidates:
        return Answer(None, None, True, None)
    scaled = per_request(problem) if problem.scale_demand else problem
    if hasattr(objective, "PER"):
        answer = _solve_ratio(scaled, objective, deadline)
        answer = _preferred(scaled, answer, [throughput, spent_by(objective)], deadline, prefer)
    else:
        answer = _solve_in_order(scaled, objective, deadline, prefer, no_worse_than)
    if answer.solution is None or not problem.scale_demand:
        return answer
    unit = 1 / problem.demand.total_rate_per_s
    return dataclasses.replace(answer, solution=answer.solution.scaled(unit))


def _solve_in_order(
    problem: Problem,
    objective: Objective,
    deadline: float,
    prefer: tuple[Objective, ...],
    no_worse_than: float | None,
) -> Answer:
    """Optimise the objective, then each that is preferred among the optima of those before."""
    cutoff = [] if no_worse_than is None else [(objective, no_worse_than)]
    answer = _solve_linear(problem, objective, deadline, cutoff)
    return _preferred(problem, answer, [objective], deadline, prefer)


def _preferred(
    problem: Problem,
    answer: Answer,
    reached: list[Objective],
    deadline: float,
    prefer: tuple[Objective, ...],
) -> Answer:
    """Among the solutions that are as good by what is reached, the best by each preference."""
    held = list(reached)
    for other in prefer:
        if answer.solution is None or not answer.optimal:
            return answer
        floors = [(kept, kept.value(problem, answer.solution)) for kept in held]
        if any(not math.isfinite(value) for _, value in floors):
            return answer
        better = _solve_linear(problem, other, deadline, floors)
        if better.solution is None:
            return answer
        answer = Answer(better.solution, answer.bound, answer.optimal, answer.model)
        held.append(other)
    return answer


def build(
    problem: Problem, objective: Objective, ratio: float = 0.0
) -> tuple[pulp.LpProblem, Variables]:
    """Make the model: variables, every constraint's rows, and the objective."""
    sense = pulp.LpMaximize if objective.MAXIMIZE else pulp.LpMinimize
    model = pulp.LpProblem("provisioner", sense)
    variables = declare(model, problem, most_machines(problem))
    goal = objective.expression(problem, variables)
    if ratio:
        goal = goal - ratio * spent_by(objective).expression(problem, variables)
    model.setObjective(goal)
    for constraint in CONSTRAINTS:
        for name, row in constraint.rows(problem, variables):
            model.addConstraint(row, name)
    return model, variables


def _solve_linear(
    problem: Problem,
    objective: Objective,
    deadline: float,
    floors: list[tuple[Objective, float]],
    ratio: float = 0.0,
) -> Answer:
    model, variables = build(problem, objective, ratio)
    for number, (kept, value) in enumerate(floors):
        model.addConstraint(_no_worse(problem, variables, kept, value), f"no_worse__{number}")
    outcome = solver.solve(model, deadline - time.monotonic())
    solution = read_solution(problem, variables) if outcome.found else None
    return Answer(solution, outcome.bound, outcome.status in ("optimal", "infeasible"), model)


def _no_worse(problem: Problem, variables: Variables, kept: Objective, value: float) -> Variable:
    """Row that keeps an earlier objective at its optimum, within the solver's tolerance."""
    slack = _CLOSE * max(1.0, abs(value))
    expression = kept.expression(problem, variables)
    return expression >= value - slack if kept.MAXIMIZE else expression <= value + slack


def _solve_ratio(problem: Problem, objective: Objective, deadline: float) -> Answer:
    """Dinkelbach's method; stops at the time limit with the best ratio so far."""
    ratio = 0.0
    best = Answer(None, None, True, None)
    for _ in range(_MAX_RATIO_STEPS):
        answer = _solve_linear(problem, objective, deadline, [], ratio)
        reached = -math.inf
        if answer.solution is not None:
            reached = objective.value(problem, answer.solution)
        improved = not best.feasible or reached > ratio * (1 + _CLOSE)
        if answer.optimal and not improved:
            return best
        if improved:
            best = Answer(answer.solution, reached, True, answer.model)
        if not answer.optimal or not math.isfinite(reached):
            return dataclasses.replace(best, bound=None, optimal=answer.optimal)
        ratio = reached
    return dataclasses.replace(best, bound=None, optimal=False)


def spent_by(objective: Objective) -> Objective:
    """What a ratio objective divides by."""
    spent: Objective = objective.PER  # type: ignore[attr-defined]
    return spent


def violations(problem: Problem, solution: Solution) -> list[str]:
    """Check a solution against every constraint in plain numbers, without the solver."""
    return [
        f"{constraint.NAME}: {sentence}"
        for constraint in CONSTRAINTS
        for sentence in constraint.violations(problem, solution)
    ]


def most_machines(problem: Problem) -> tuple[int, ...]:
    """Per candidate, a number of machines that no optimal solution exceeds.

    At a fixed demand that is what serves everything alone; with the demand free, what the limits
    allow. Cuts make more necessary, so a problem with cuts states its own.

    Raises
    ------
    InputError
        Where throughput is the objective and a machine type may be bought without end.
    """
    if problem.most is not None:
        return problem.most
    if not problem.scale_demand:
        _refuse_endless(problem)
        return tuple(_enough_alone(problem, j) for j in range(len(problem.candidates)))
    most = [_allowed(problem, j) for j in range(len(problem.candidates))]
    for candidate, count in zip(problem.candidates, most, strict=True):
        if not math.isfinite(count):
            raise InputError(
                f"limits: nothing keeps {candidate.machine.name} from being bought without end; "
                "limit usd_per_hour, power_w, machines or rack_units, or its availability"
            )
    return tuple(math.floor(count * (1 + _CLOSE) + _CLOSE) for count in most)


def _refuse_endless(problem: Problem) -> None:
    """Refuse a demand that not even a billion machines of any kind serve: its unit is wrong."""
    least = min(_enough_alone(problem, j) for j in range(len(problem.candidates)))
    if least > _MOST_MACHINES:
        raise InputError(
            f"the demand of {problem.demand.total_rate_per_s:g} requests/s needs more than "
            f"{_MOST_MACHINES:g} machines; check its unit"
        )


def _enough_alone(problem: Problem, j: int) -> int:
    """Machines with which one pool serves all that it may, alone."""
    candidate, demand = problem.candidates[j], problem.demand
    share = candidate.serves.astype(float)
    rate = demand.rate_per_s * share
    prompts = float(rate @ candidate.prompt_s) if candidate.handles_prompts else 0.0
    instances = prompts / candidate.tiers[0].headroom
    if candidate.handles_tokens:
        load = float(rate @ demand.iterations)
        context = float(rate @ demand.kv_token_iterations)
        taken = candidate.slopes_s * load + candidate.context_s * context + prompts
        a = candidate.intercepts_s
        held = a * context / candidate.kv_room_tokens + a * load / candidate.batch_limit
        left = 1 - a / candidate.target_s
        able = left > _NOTHING
        timed = (taken[able] / left[able]).max(initial=0.0)
        instances = max(instances, float(timed), float((taken + held).max()))
    traffic = float(rate @ demand.prompt_tokens) * candidate.deployment.model.kv_bytes_per_token
    network = traffic / candidate.machine.network_bytes_per_s
    machines = math.ceil(max(instances / candidate.instances, network)) + 1
    return max(machines, candidate.tiers[0].low)


def _allowed(problem: Problem, j: int) -> float:
    """Machines of one candidate that the limits allow by themselves."""
    machine, limits = problem.candidates[j].machine, problem.limits
    existing = dict(problem.existing).get(machine.hardware, 0)
    price = machine.price_usd_per_hour
    return min(
        limits.machines or math.inf,
        (limits.power_w or math.inf) / machine.provisioned_power_w,
        (limits.rack_units or math.inf) / machine.rack_units,
        (limits.usd_per_hour or math.inf) / price + existing if price > 0 else math.inf,
        limits.available.get(machine.hardware, math.inf),
    )
