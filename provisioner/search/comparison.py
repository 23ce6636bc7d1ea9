"""Designs side by side: each planned by itself, and the best of all.

The best of all is a search of its own over the scenario's designs; should it end early with less
than a named design has, that design's plan is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import get_args

from provisioner.domain.case import Case
from provisioner.domain.comparison import Compared, Comparison
from provisioner.domain.designs import NAMED_DESIGNS, Design, roles_of, types_of
from provisioner.domain.result import PlanResult
from provisioner.errors import InputError, StoppedError, unknown_name
from provisioner.planning.objectives import BY_NAME
from provisioner.search.find import Progress
from provisioner.search.headroom import highest_rate
from provisioner.search.run import run
from provisioner.search.setting import schedulers_of

OPTIMUM = "optimum"
"""Name of the best of all."""
BASELINE = "baseline-h100"
"""What others are compared with, unless told."""
_HIGHEST_SHARE = 0.5
"""Time for the highest rate of a plan, in multiples of the scenario's time limit."""


def compare(
    case: Case,
    designs: tuple[str, ...] = (),
    baseline: str | None = None,
    progress: Progress = lambda _: None,
) -> Comparison:
    """Plan designs side by side.

    Parameters
    ----------
    case : Case
        Its own designs make the best of all.
    designs : tuple of str, optional
        Those to compare; by default the named ones whose machine types are candidates.
    baseline : str, optional
        A row that the others are compared with; by default `BASELINE`, else the first.

    Raises
    ------
    InputError
        Where the baseline is none of the rows, or a design needs a machine type that is missing.
    StoppedError
        Where the time limit comes before any plan of the best of all.
    """
    candidates = {machine.name for machine in case.machines}
    fitting = tuple(d for d in NAMED_DESIGNS if set(types_of(d)) <= candidates)
    check_names(designs)
    chosen = tuple(dict.fromkeys(designs or fitting))
    for design in chosen:
        _check_types(design, candidates)
    names = [*chosen, OPTIMUM]
    baseline = baseline or (BASELINE if BASELINE in names else names[0])
    if baseline not in names:
        raise unknown_name("row", baseline, names, "baseline")
    rows = [_planned(case, design, (design,), progress) for design in chosen]
    best = _planned(case, OPTIMUM, case.scenario.designs, progress, must=True)
    rows.append(_best_of(case, best, rows))
    warnings = tuple(
        f"{design} is left out: {', '.join(sorted(set(types_of(design)) - candidates))} is no "
        "candidate"
        for design in NAMED_DESIGNS
        if not designs and design not in fitting
    )
    return Comparison(baseline, tuple(rows), warnings)


def check_names(designs: Iterable[str]) -> None:
    """Refuse designs that do not exist.

    Raises
    ------
    InputError
        With the nearest one that does.
    """
    allowed = get_args(Design)
    for design in designs:
        if design not in allowed:
            raise unknown_name("design", design, allowed, "designs")


def _check_types(design: str, candidates: set[str]) -> None:
    missing = sorted(set(types_of(design)) - candidates)
    if missing:
        raise InputError(
            f"designs: {design} needs {', '.join(missing)}, which hardware does not name"
        )


def _planned(
    case: Case, name: str, designs: tuple[str, ...], progress: Progress, *, must: bool = False
) -> Compared:
    own = _only(case, designs)
    try:
        result = run(own, lambda text: progress(f"{name}: {text}"))
    except StoppedError:
        if must:
            raise
        result = _stopped(own)
    progress(f"{name}: the highest rate")
    return Compared(name, result, _highest_rate(own, result, progress))


def _only(case: Case, designs: tuple[str, ...]) -> Case:
    """The case for some of the designs; a scheduler that fits none of them gives way to `auto`."""
    scenario = case.scenario.model_copy(update={"designs": designs})
    if not any(scenario.scheduler in ("auto", *schedulers_of(d)) for d in designs):
        scenario = scenario.model_copy(update={"scheduler": "auto"})
    return replace(case, scenario=scenario)


def _stopped(case: Case) -> PlanResult:
    """No plan in time."""
    return PlanResult(
        status="infeasible",
        exit_code=StoppedError.exit_code,
        model=case.model.name,
        objective=case.scenario.objective,
        prices=case.price_list.name,
        scheduler=None,
        router=case.scenario.router,
        workloads=tuple((w.name, w.rate_per_s) for w in case.workloads),
        warnings=("the time limit was reached before any plan was found",),
    )


def _best_of(case: Case, best: Compared, rows: list[Compared]) -> Compared:
    """The best of all, or a row with a better plan of a design that it comprises."""
    allowed = [set(roles_of(design)) for design in case.scenario.designs]
    rivals = [best, *(row for row in rows if set(roles_of(row.name)) in allowed)]
    planned = [row for row in rivals if row.result.plan is not None]
    if not planned:
        return best
    highest = BY_NAME[case.scenario.objective].MAXIMIZE
    winner = (max if highest else min)(planned, key=lambda row: value_of(row.result))
    return replace(winner, name=OPTIMUM)


def value_of(result: PlanResult) -> float:
    """Value of the objective."""
    plan = result.plan
    assert plan is not None
    spent = {
        "throughput_per_usd": plan.usd_per_hour,
        "throughput_per_watt": plan.provisioned_power_w,
    }
    if result.objective in spent:
        return (
            plan.rate_per_s / spent[result.objective] if spent[result.objective] else float("inf")
        )
    return {
        "cost": plan.usd_per_hour,
        "power": plan.provisioned_power_w,
        "machines": float(plan.machines),
        "throughput": plan.rate_per_s,
    }[result.objective]


def _highest_rate(case: Case, result: PlanResult, progress: Progress) -> float | None:
    """The most that the plan's working machines serve within the SLO [requests/s]."""
    plan = result.plan
    if plan is None:
        return None
    if BY_NAME[case.scenario.objective].MAXIMIZE:
        return plan.rate_per_s
    working = [(p.role, p.machine, p.tensor_parallel, p.machines - p.spares) for p in plan.pools]
    limit_s = _HIGHEST_SHARE * case.scenario.time_limit_s
    return highest_rate(case, working, 1.0, limit_s, progress)
