"""One case from start to answer: the best plan, judged and bounded, or why there is none."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from provisioner.capacity.estimate import estimate
from provisioner.capacity.usage import PoolLoad
from provisioner.domain.case import Case
from provisioner.domain.plan import Plan
from provisioner.domain.result import PlanResult, Reason, SloVerdict
from provisioner.planning import solver
from provisioner.planning.solve import violations
from provisioner.search.assemble import bindings_of, plan_of, pool_loads
from provisioner.search.find import Found, Progress, Search, bound, find, prepare
from provisioner.search.reasons import limit_reasons, memory_reasons, slo_reasons
from provisioner.search.unit_costs import unit_costs

EXIT_OK, EXIT_LIMITS, EXIT_SLO, EXIT_STOPPED = 0, 3, 4, 5
ESTIMATED = ("slo", "utilization", "mean_power_w", "requests_per_kwh", "holdout_pass_fraction")
"""Results that no simulation has measured: estimated, or null where there is no estimate."""
_LEAST_BOUND_S = 2.0
"""Time for the bound of each design where the search has used up its own."""
_NOTHING = 1e-9
_SCHEDULERS = {"split": "split", "mixed": "colocated", "hybrid": "mixed-pool"}


def run(case: Case, progress: Progress = lambda _: None) -> PlanResult:
    """Answer a case.

    Raises
    ------
    InputError
        Where the model fits no machine, or throughput is asked without a limit that bounds it.
    """
    started = time.monotonic()
    search = prepare(case)
    found = find(search, progress)
    if found is None:
        return _infeasible(search, started, progress)
    progress("bound")
    return _answer(search, found, started)


def _answer(search: Search, found: Found, started: float) -> PlanResult:
    case, theta = search.case, found.solution.theta
    plan = plan_of(found)
    left_s = case.scenario.time_limit_s - (time.monotonic() - started)
    value = search.objective.value(found.problem, found.solution)
    lower = bound(search, max(left_s, _LEAST_BOUND_S))
    if lower is not None and abs(value - lower) <= _NOTHING * max(1.0, abs(value)):
        lower = value  # the solver's rounding is no gap
    return replace(
        _started(case),
        plan=plan,
        slo=_verdict(search, found),
        bound=lower,
        gap=None if lower is None else abs(value - lower) / max(abs(value), 1e-12),
        binding=bindings_of(found),
        unit_costs=unit_costs(search.guide, found.budget, theta),
        estimated=ESTIMATED,
        warnings=tuple(_warnings(search, found, plan)),
        model_lp="" if found.answer.model is None else solver.written(found.answer.model),
        wall_s=time.monotonic() - started,
        scheduler=_scheduler(case, plan.design),
        workloads=tuple((w.name, w.rate_per_s * theta) for w in case.workloads),
    )


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


def _scheduler(case: Case, design: str) -> str:
    asked = case.scenario.scheduler
    return _SCHEDULERS[design] if asked == "auto" else asked


def _verdict(search: Search, found: Found) -> SloVerdict:
    slos = {workload.slo.name: workload.slo for workload in search.case.workloads}
    references = {slo.reference for slo in slos.values() if slo.is_relative}
    return SloVerdict(
        name=", ".join(slos),
        reference=", ".join(sorted(r for r in references if r)) or None,
        source="estimated",
        metrics=estimate(search.guide, pool_loads(found)),
    )


def _warnings(search: Search, found: Found, plan: Plan) -> list[str]:
    """What was assumed, extrapolated or left out, for the machines that the plan uses."""
    used = {(pool.machine, pool.tensor_parallel) for pool in plan.pools}
    notes = list(search.notes)
    notes.append("latencies are an analytic estimate; no simulation has measured this plan")
    for deployment in search.guide.deployments:
        if (deployment.machine.name, deployment.tensor_parallel) in used:
            notes += deployment.assumptions
    for load in pool_loads(found):
        notes += _extrapolations(search, load)
    broken = violations(found.problem, found.solution)
    notes += [f"numerical trouble in the solver: {sentence}" for sentence in broken]
    if not found.complete:
        notes.append("the search was stopped early; a better plan may exist")
    if not math.isfinite(search.objective.value(found.problem, found.solution)):
        notes.append(f"{search.objective.NAME} has no limit: owned machines serve for nothing")
    return list(dict.fromkeys(notes))


def _extrapolations(search: Search, load: PoolLoad) -> list[str]:
    """Where a pool works outside what was measured."""
    deployment, notes = load.candidate.deployment, []
    longest = max(float(w.histogram.prompt_tokens.max()) for w in search.case.workloads)
    if load.candidate.handles_prompts and bool(deployment.prompt.extrapolated(longest, longest**2)):
        notes.append(
            f"{deployment.name}: the time of the longest prompts ({longest:.0f} tokens) is "
            "extrapolated"
        )
    if load.candidate.handles_tokens:
        batch = load.batch(search.guide.demand)
        everyone = np.ones(len(search.guide.targets), dtype=bool)
        context = search.guide.mix(load.candidate.role, deployment, everyone).kv_tokens
        if bool(deployment.token.extrapolated(max(batch, 1.0), batch * context)):
            notes.append(
                f"{deployment.name}: token time at batch {batch:.0f} with contexts of "
                f"{context:.0f} tokens is extrapolated"
            )
    return notes


def _infeasible(search: Search, started: float, progress: Progress) -> PlanResult:
    """No plan: say which limit to move and to what value."""
    progress("looking for the reasons")
    case = search.case
    reasons: list[Reason] = slo_reasons(search) or memory_reasons(search)
    exit_code = EXIT_SLO
    if not reasons:
        reasons, exit_code = limit_reasons(search), EXIT_LIMITS
    return replace(
        _started(case),
        status="infeasible",
        exit_code=exit_code,
        reasons=tuple(reasons),
        estimated=("reasons",),
        warnings=search.notes,
        wall_s=time.monotonic() - started,
    )
