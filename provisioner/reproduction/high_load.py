"""Figures 16 and 17 of the paper: latency against load, how busy clusters are, and who helps out.

The share of all machines' time with few active tokens (those of the prompts in the batch, and one
per request that generates), and how often machines of one pool are borrowed for the other's work.
Conversations on the clusters of the paper's equal-power question; pools help each other out
(`mixed-pool`) in both physics, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.domain.designs import NAMED_DESIGNS
from provisioner.domain.reproduction import COMPATIBLE, MEASURED, Loaded
from provisioner.reproduction.published import (
    CONVERSATION,
    ISO_POWER,
    counts_of,
    is_baseline,
    pools_of,
    published_cluster,
)
from provisioner.reproduction.questions import judged, judged_compatibly, taken
from provisioner.simulation.rules import Scheduler

RATES_PER_S = (50.0, 70.0, 90.0, 110.0, 130.0)
PAPER_FEW, PAPER_SHARE = 15, 0.7
"""The paper: at 70 requests/s Baseline-H100 has at most so many active tokens so often."""


def equal_power_counts(design: str) -> tuple[int, ...]:
    """Machines of the paper's cluster for conversations at equal power."""
    return counts_of(published_cluster(ISO_POWER, CONVERSATION, design))


def loads() -> Iterator[tuple[str, str, float]]:
    """Design, rule and rate of every run."""
    for design in NAMED_DESIGNS:
        for rate in RATES_PER_S:
            yield design, COMPATIBLE, rate
            yield design, MEASURED, rate


def loaded(design: str, rule: str, rate_per_s: float) -> Loaded:
    """Judge a cluster at a rate."""
    pools = pools_of(design, equal_power_counts(design))
    if rule == COMPATIBLE:
        result = judged_compatibly(CONVERSATION, pools, rate_per_s)
    else:
        result = judged(CONVERSATION, pools, rate_per_s, scheduler_of(design))
    return Loaded(
        design=design,
        rule=rule,
        rate_per_s=rate_per_s,
        borrowed_prompt=result.verdict.borrowed["prompt"],
        borrowed_token=result.verdict.borrowed["token"],
        **taken(result),
        active_share=result.verdict.active_share,
    )


def scheduler_of(design: str) -> Scheduler:
    """The paper's scheduler of a design."""
    return "colocated" if is_baseline(design) else "mixed-pool"
