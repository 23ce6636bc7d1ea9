"""What a reader of a verdict has to know: assumptions, extrapolations, little traffic."""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.domain.base import Role
from provisioner.domain.case import Case
from provisioner.domain.verdict import Verdict
from provisioner.simulation.cluster import SimulatedPool
from provisioner.simulation.trial import Trial

_FEW_REQUESTS = 100
"""Below this many judged requests a 99th percentile is the slowest of them."""


def notes_of(
    case: Case, pools: tuple[SimulatedPool, ...], trial: Trial, verdict: Verdict
) -> Iterator[str]:
    """Yield what was assumed or extrapolated, and where little was measured."""
    yield from case.notes
    for pool in pools:
        yield from pool.deployment.assumptions
    yield from _extrapolations(pools, trial, verdict)
    yield from few_notes(verdict)
    if verdict.unfinished:
        longest = max(
            int((t.offered.requests.prompt_tokens + t.offered.requests.output_tokens).max())
            for t in trial.traffic
        )
        room = max(int(p.deployment.kv_room_tokens) for p in pools if p.role is not Role.PROMPT)
        yield (
            f"{verdict.unfinished:,} of {verdict.judged:,} judged requests never finish for want "
            f"of KV-cache room: the longest is {longest:,} tokens, the most room that an instance "
            f"has for tokens is {room:,}"
        )


def few_notes(verdict: Verdict) -> Iterator[str]:
    """Note where nothing, or too little, was judged."""
    if not verdict.judged:
        yield "no request arrived in the judged time: nothing was measured, so nothing is missed"
    elif verdict.judged < _FEW_REQUESTS:
        yield f"percentiles of only {verdict.judged} judged requests say little"


def _extrapolations(
    pools: tuple[SimulatedPool, ...], trial: Trial, verdict: Verdict
) -> Iterator[str]:
    """Where a pool worked outside what was measured."""
    longest = max(int(t.offered.requests.prompt_tokens.max(initial=0)) for t in trial.traffic)
    for pool, measure in zip(pools, verdict.pools, strict=True):
        deployment = pool.deployment
        if pool.role is not Role.TOKEN and bool(
            deployment.prompt.extrapolated(longest, longest**2)
        ):
            yield (
                f"{deployment.name}: the time of the longest prompts ({longest} tokens) is "
                "extrapolated"
            )
        batch = max(measure.mean_batch, 1.0)
        kv_tokens = measure.kv_occupancy * deployment.kv_room_tokens
        if pool.role is not Role.PROMPT and bool(deployment.token.extrapolated(batch, kv_tokens)):
            yield (
                f"{deployment.name}: token time at the mean batch of {batch:.0f} with "
                f"{kv_tokens:,.0f} KV-cache tokens is extrapolated"
            )
