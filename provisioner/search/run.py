"""One case from start to answer: the best plan, judged and bounded, or why there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from provisioner.capacity.targets import references_of
from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.domain.result import PlanResult, Reason
from provisioner.planning import solver
from provisioner.search import best as at_demand
from provisioner.search import climb, ratio
from provisioner.search.assemble import bindings_of, plan_of
from provisioner.search.best import Best
from provisioner.search.find import Progress, Search, prepare
from provisioner.search.holdout import hold_out
from provisioner.search.limit_reasons import limit_reasons
from provisioner.search.notes import notes_of
from provisioner.search.reasons import memory_reasons, slo_reasons
from provisioner.search.setting import Setting, designs_of
from provisioner.search.trials import Allowance, OutOfTimeError
from provisioner.search.unit_costs import unit_costs
from provisioner.search.winner import Winner
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.compilation import COMPILING, compiled, warm_up
from provisioner.simulation.rules import Rules

EXIT_OK, EXIT_LIMITS, EXIT_SLO, EXIT_STOPPED = 0, 3, 4, 5
_REASONS_TIME = 0.5
"""Time for the reasons, in multiples of the scenario's time limit."""
_SEARCH_SHARE = 0.92
"""Share of the time limit for the search; the rest is for the seeds held out."""


def run(case: Case, progress: Progress = lambda _: None) -> PlanResult:
    """Answer a case.

    Raises
    ------
    InputError
        Where the model fits no machine, throughput is asked without a limit that bounds it, or
        scheduler and designs do not go together.
    StoppedError
        Where the time limit comes before any plan.
    KeyboardInterrupt
        At Ctrl-C before any plan.
    """
    started = time.monotonic()
    search = prepare(case)
    designs, notes = designs_of(search)
    search = replace(search, notes=(*search.notes, *notes))
    _compile(search, progress)
    limit_s = case.scenario.time_limit_s
    ready = time.monotonic()
    allowance = Allowance(ready + _SEARCH_SHARE * limit_s)
    setting = Setting(search, references_of(case), allowance, progress)
    winner, best = _finder(search)(setting, designs)
    if winner is None:
        return _infeasible(best, started)
    return _answer(setting, winner, started, ready + limit_s)


def _finder(search: Search) -> Callable[[Setting, list[str]], tuple[Winner | None, Best]]:
    if hasattr(search.objective, "PER"):
        return ratio.find
    return climb.find if search.objective.MAXIMIZE else at_demand.find


def _compile(search: Search, progress: Progress) -> None:
    """Have the simulator compiled before the clock of the search starts."""
    if not compiled():
        progress(COMPILING)
    deployment = search.guide.deployments[0]
    pools = tuple(SimulatedPool(role, deployment, 1) for role in (Role.PROMPT, Role.TOKEN))
    warm_up(pools, Rules("split"))


def _answer(setting: Setting, winner: Winner, started: float, until: float) -> PlanResult:
    search = setting.search
    setting.progress("seeds held out")
    verdict = winner.trials.verdict(winner.counts)
    held_out = hold_out(setting, winner, until)
    shares = setting.gateway(winner.space.places).shares(winner.counts)
    plan = plan_of(winner, verdict, search.guide.demand, shares)
    value, bound = winner.value, winner.bound
    pools = winner.trials.pools(winner.counts)
    notes = [
        *search.notes,
        *notes_of(search.case, pools, winner.trials.trial, verdict),
        *winner.notes,
        *held_out.notes,
    ]
    if not math.isfinite(value):
        notes.append(f"{search.objective.NAME} has no limit: owned machines serve for nothing")
    return replace(
        _started(search.case),
        plan=plan,
        slo=verdict.slo,
        proof=winner.proof,
        bound=bound,
        gap=_gap(value, bound),
        seeds=winner.trials.trial.seeds,
        holdout_pass_fraction=held_out.pass_fraction,
        simulations=setting.allowance.simulations,
        binding=bindings_of(winner, verdict),
        unit_costs=unit_costs(search.guide, setting.budget, winner.theta),
        estimated=_estimated(search.case),
        warnings=tuple(dict.fromkeys(notes)),
        model_lp=_model_lp(winner),
        points=winner.points,
        wall_s=time.monotonic() - started,
        scheduler=winner.trials.rules(winner.counts, pools).scheduler,
        workloads=tuple((w.name, w.rate_per_s * winner.theta) for w in search.case.workloads),
    )


def _model_lp(winner: Winner) -> str:
    """The last bounding program with its cuts, as text."""
    model = None if winner.answer is None else winner.answer.model
    return "" if model is None else solver.written(model)


def _estimated(case: Case) -> tuple[str, ...]:
    """Results that no simulation has measured."""
    routed = case.scenario.router == "plan-shares"
    return ("unit_costs",) if routed else ("routing", "unit_costs")


def _gap(value: float, bound: float | None) -> float | None:
    return None if bound is None else abs(value - bound) / max(abs(value), 1e-12)


def _started(case: Case) -> PlanResult:
    """A result that knows what was asked and nothing of the answer."""
    return PlanResult(
        status="ok",
        exit_code=EXIT_OK,
        model=case.model.name,
        objective=case.scenario.objective,
        prices=case.price_list.name,
        scheduler=None,
        router=case.scenario.router,
        workloads=tuple((w.name, w.rate_per_s) for w in case.workloads),
    )


def _infeasible(best: Best, started: float) -> PlanResult:
    """No plan: say which limit to move and to what value."""
    setting = best.setting
    setting.progress("looking for the reasons")
    limit_s = setting.search.case.scenario.time_limit_s
    more_s = max(_REASONS_TIME * limit_s, setting.allowance.left_s)
    setting.allowance.deadline = time.monotonic() + more_s
    reasons: list[Reason] = []
    exit_code, notes = EXIT_SLO, list(setting.search.notes)
    try:
        reasons = slo_reasons(best)
        if reasons:
            reasons = memory_reasons(setting.search) or reasons
        else:
            reasons, exit_code = limit_reasons(best), EXIT_LIMITS
    except OutOfTimeError:
        notes.append("time was up before the reasons were found")
    return replace(
        _started(setting.search.case),
        status="infeasible",
        exit_code=exit_code,
        reasons=tuple(reasons),
        simulations=setting.allowance.simulations,
        warnings=tuple(notes),
        wall_s=time.monotonic() - started,
    )
