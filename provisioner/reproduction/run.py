"""The whole reproduction: every published cluster judged twice, and the best of its design.

Clusters are independent of each other, so they are spread over processes. The answers do not depend
on how many there are.
"""

from __future__ import annotations

from dataclasses import replace

from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.domain.designs import NAMED_DESIGNS
from provisioner.domain.reproduction import (
    Bill,
    CompatibleBest,
    Published,
    Reproduced,
    Reproduction,
)
from provisioner.domain.result import PlanResult
from provisioner.inputs import hardware
from provisioner.planning.objectives import BY_NAME
from provisioner.reproduction.batch_jobs import batch_job
from provisioner.reproduction.budgets import fits_budget, has_budget
from provisioner.reproduction.compatible import (
    CompatibleJudge,
    best_within_budget,
    least_at_fixed_rate,
)
from provisioner.reproduction.heat_map import heat_point, heat_rows
from provisioner.reproduction.high_load import loaded, loads
from provisioner.reproduction.lost_machines import lost_machines, plans
from provisioner.reproduction.parts import Part, Progress, done
from provisioner.reproduction.published import (
    FIXED_RATE_PER_S,
    PRICES,
    counts_of,
    pools_of,
    published_clusters,
)
from provisioner.reproduction.questions import asked
from provisioner.reproduction.robustness import changed, changes
from provisioner.search.comparison import value_of
from provisioner.search.headroom import highest_rate
from provisioner.search.run import run


def reproduce(jobs: int = 1, progress: Progress = lambda *_: None) -> Reproduction:
    """Judge and plan everything.

    Parameters
    ----------
    jobs : int
        Processes; at least 1.
    """
    clusters = published_clusters()
    questions = list(dict.fromkeys((c.question, c.workload) for c in clusters))
    parts = _parts(clusters, questions)
    first = sum(map(len, parts.values()))
    total = first + len(NAMED_DESIGNS)
    found = done(parts, jobs, lambda count, name: progress(count, total, name))
    whole = Reproduction(
        rows=tuple(found["rows"]),
        optima=dict(zip(questions, found["optima"], strict=True)),
        changed=tuple(found["changed"]),
        heat=tuple(found["heat"]),
        loaded=tuple(found["loaded"]),
        batch=tuple(found["batch"]),
    )
    losses = [Part(f"{d}, a machine fails", lost_machines, (d, plan)) for d, plan in plans(whole)]
    lost = done({"lost": losses}, jobs, lambda count, name: progress(first + count, total, name))
    rows = tuple(row for several in lost["lost"] for row in several)
    return replace(_with_best_rows(whole), lost=rows)


def _parts(
    clusters: tuple[Published, ...], questions: list[tuple[str, str]]
) -> dict[str, list[Part]]:
    """All but the failures, which are of the plans; the longest first."""
    return {
        "optima": [Part(f"{' '.join(q)}, all machines", best_of_all, q) for q in questions],
        "rows": [Part(f"{c.question} {c.workload} {c.design}", reproduced, (c,)) for c in clusters],
        "changed": [
            Part(f"{change.cluster.design} with {change.model}", changed, (change,))
            for change in changes()
        ],
        "batch": [Part(f"{design}, batch jobs", batch_job, (design,)) for design in NAMED_DESIGNS],
        "loaded": [Part(f"{load[0]} at {load[2]:g}/s", loaded, load) for load in loads()],
        "heat": [Part(f"heat map, {p} + {t}", heat_point, (p, t)) for p, t in heat_rows()],
    }


def reproduced(published: Published) -> Reproduced:
    """Judge one cluster by both rules, and plan its design for its question."""
    counts = counts_of(published)
    judge = CompatibleJudge(published.workload, published.design)
    guess = published.simulator_rate_per_s or published.paper_rate_per_s or FIXED_RATE_PER_S
    compatible = judge.highest(counts, guess)
    case = asked(published.question, published.workload, published.design)
    planned = run(case)
    at_rate = has_budget(published.question)
    if at_rate:
        found, rate = best_within_budget(judge, published, compatible)
    else:
        found, rate = least_at_fixed_rate(judge, published), FIXED_RATE_PER_S
    bill = bill_of(pools_of(published.design, found))
    return Reproduced(
        published=published,
        bill=bill_of(pools_of(published.design, counts)),
        fits=not at_rate or fits_budget(published),
        compatible_rate_per_s=compatible,
        measured_rate_per_s=_measured(case, published, planned),
        compatible_best=CompatibleBest(found, rate, bill, judge.tried),
        best=planned,
    )


def _measured(case: Case, published: Published, planned: PlanResult) -> float | None:
    """Highest rate of a published cluster; that of the plan where it is the same cluster."""
    pools = pools_of(published.design, counts_of(published))
    plan, guess = planned.plan, 1.0
    if plan is not None and BY_NAME[planned.objective].MAXIMIZE:
        if {(p.role.value, p.machine): p.machines for p in plan.pools} == pools:
            return plan.rate_per_s
        guess = plan.rate_per_s / FIXED_RATE_PER_S
    sizes = {machine.name: machine.accelerators for machine in case.machines}
    cluster = [(Role(role), name, sizes[name], n) for (role, name), n in pools.items()]
    return highest_rate(case, cluster, guess)


def best_of_all(question: str, workload: str) -> PlanResult:
    """Plan a question over all designs and machine types."""
    return run(asked(question, workload, None))


def _with_best_rows(found: Reproduction) -> Reproduction:
    """Where a search over everything ended with less than a design's, that design's plan stands."""
    optima = {}
    for (question, workload), result in found.optima.items():
        own = [row.best for row in found.rows_of(question, workload)]
        planned = [r for r in (result, *own) if r.plan is not None]
        most = max if BY_NAME[result.objective].MAXIMIZE else min
        optima[question, workload] = most(planned, key=value_of) if planned else result
    return replace(found, optima=optima)


def bill_of(pools: dict[tuple[str, str], int]) -> Bill:
    """What a cluster takes at the paper's prices and power budgets."""
    names = list(dict.fromkeys(name for _, name in pools))
    prices = hardware.read_price_list(PRICES)
    stored = tuple(hardware.read_machine(name) for name in names)
    priced = hardware.price_machines(hardware.with_budgets(stored, prices, names), prices)
    machines = {machine.name: machine for machine in priced}
    return Bill(
        machines=sum(pools.values()),
        usd_per_hour=sum(machines[m].price_usd_per_hour * n for (_, m), n in pools.items()),
        provisioned_power_w=sum(machines[m].provisioned_power_w * n for (_, m), n in pools.items()),
        rack_units=sum(machines[m].rack_units * n for (_, m), n in pools.items()),
    )
