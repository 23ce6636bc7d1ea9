"""A machine fails under load: what restarts, and what the SLO loses.

The best clusters of each design for conversations at equal power, by measured token times, at 90 %
of the rate that they serve within the SLO. Halfway through every run one machine is gone for good.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.domain.base import Role
from provisioner.domain.cluster import Simulated
from provisioner.domain.failure import Failure
from provisioner.domain.plan import Plan
from provisioner.domain.reproduction import LostMachine, Reproduction
from provisioner.reproduction.published import CONVERSATION, ISO_POWER, counts_text
from provisioner.reproduction.questions import judged, taken

LOAD = 0.9
FAILS_AT_S = 60.0


def plans(found: Reproduction) -> Iterator[tuple[str, Plan]]:
    """The best cluster of each design."""
    for row in found.rows_of(ISO_POWER, CONVERSATION):
        if row.best.plan is not None:
            yield row.published.design, row.best.plan


def lost_machines(design: str, plan: Plan) -> list[LostMachine]:
    """Let one machine of each role fail, in turn."""
    pools = {(pool.role.value, pool.machine): pool.machines for pool in plan.pools}
    rate = LOAD * plan.rate_per_s
    whole = judged(CONVERSATION, pools, rate)
    return [
        _lost(design, plan, Role(role), whole, judged(CONVERSATION, pools, rate, failures=failures))
        for (role, machine) in pools
        for failures in [(Failure(Role(role), machine, FAILS_AT_S),)]
    ]


def _lost(design: str, plan: Plan, role: Role, whole: Simulated, failed: Simulated) -> LostMachine:
    most = max(failed.verdict.slo.metrics, key=lambda value: value.value / value.limit)
    return LostMachine(
        design=design,
        machines=counts_text(pool.machines for pool in plan.pools),
        rate_per_s=failed.rate_per_s,
        fails=role.value,
        judged=failed.verdict.judged,
        restarted=failed.verdict.restarted,
        taken_without=max(taken(whole).values()),
        taken=most.value / most.limit,
        limit=f"{most.metric} p{most.percentile:g}",
        e2e_p99_without_s=whole.verdict.latency["e2e_s"].p99,
        e2e_p99_s=failed.verdict.latency["e2e_s"].p99,
    )
