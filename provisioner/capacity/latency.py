"""Analytic latency estimate, and the largest load at which it meets an SLO.

The estimate stands in until a simulation has measured a plan, and guides the search for one.

- TTFT of a prompt pool: prompt time plus the wait of `queueing`.
- TBT of a token pool: the iteration time at its mean batch, half an iteration until the first
  one and the transfer spread over the output, normally distributed with the deviation that a
  Poisson number of requests in the batch causes.
- TBT of a mixed pool: the same, plus the prompt iterations that fall between its tokens.
- E2E: the TTFT at the same percentile plus the token iterations.

Not modelled: time-outs, borrowed machines, transfers that share a link, KV-cache pressure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from provisioner.capacity import queueing
from provisioner.capacity.demand import PromptLengths
from provisioner.capacity.targets import E2eLimit, Limit
from provisioner.domain.workload import FloatArray, IntArray, LengthHistogram
from provisioner.performance.deployment import MIXED_FACTOR, Deployment
from provisioner.performance.token import MAX_BATCH
from provisioner.performance.transfer import transfer_s

_BISECTIONS = 20


@dataclass(frozen=True)
class Service:
    """Time that a prompt pool spends on its requests.

    ``prompt_s`` is per prompt cell of one workload; the moments [s, s^2] are over all requests
    of the pool; ``delay_s`` comes before the prompt starts whatever the load.
    """

    prompt_s: FloatArray
    mean_s: float
    mean_sq_s: float
    delay_s: float = 0.0


def ttft_share(service: Service, prompt: PromptLengths, wait: queueing.Wait, limit: Limit) -> float:
    """Share of requests whose TTFT is within a limit."""
    slack = limit.value * limit.scale_s - service.prompt_s - service.delay_s
    return float(prompt.share @ wait.at_most(slack))


def headroom(
    servers: IntArray, service: Service, prompt: PromptLengths, limits: Iterable[Limit]
) -> tuple[FloatArray, list[str]]:
    """Largest utilisation at which every limit holds, and the limit that holds it there.

    Parameters
    ----------
    servers : int array
        Instances in the pool, one entry per pool size asked about.

    Returns
    -------
    headroom : float array
        Utilisation per pool size; 0 where not even an idle pool meets the limits.
    labels : list of str
        The tightest limit per pool size; empty text where none is.
    """
    best = np.full(len(servers), len(queueing.LOADS))
    labels = [""] * len(servers)
    for limit in limits:
        passing = _passing_loads(servers, service, prompt, limit)
        for i in np.flatnonzero(passing < best):
            labels[i] = limit.label
        best = np.minimum(best, passing)
    return np.where(best > 0, queueing.LOADS[np.maximum(best, 1) - 1], 0.0), labels


def _passing_loads(
    servers: IntArray, service: Service, prompt: PromptLengths, limit: Limit
) -> IntArray:
    """How many of the loads, from the lowest up, meet a limit; bisected for all sizes at once."""
    slack = limit.value * limit.scale_s - service.prompt_s - service.delay_s
    capped = np.minimum(servers, queueing.MAX_SERVERS)
    table = np.array([queueing.erlang_c_at_loads(int(m)) for m in capped])
    unit_s = service.mean_sq_s / (2 * service.mean_s) / capped
    low = np.zeros(len(servers), dtype=np.int64)
    high = np.full(len(servers), len(queueing.LOADS))
    while np.any(low < high):
        middle = (low + high + 1) // 2
        probability = np.take_along_axis(table, middle[:, None] - 1, axis=1)
        mean_s = (unit_s / (1 - queueing.LOADS[middle - 1]))[:, None]
        later = probability * np.exp(-np.maximum(slack, 0.0) / mean_s)
        share = np.where(slack < 0, 0.0, 1 - later) @ prompt.share
        passes = share >= limit.quantile
        low, high = np.where(passes, middle, low), np.where(passes, high, middle - 1)
    return low


@dataclass(frozen=True)
class Mix:
    """Means over the requests of a pool.

    ``iterations`` is E[o - 1], ``kv_tokens`` the mean KV-cache of a request while it generates;
    ``prompt_s`` and ``prompt_sq_s`` are moments of the prompt time that interrupts a mixed pool
    once per request (0 in a token pool).
    """

    iterations: float
    kv_tokens: float
    prompt_s: float = 0.0
    prompt_sq_s: float = 0.0


@dataclass(frozen=True)
class TokenState:
    """A token or mixed pool at a mean batch.

    ``iteration_s`` is the time of a token iteration, ``gap_s`` the mean time between tokens and
    ``gap_variance_s2`` the variance of one gap by prompts in between; ``batch_deviation_s`` the
    deviation of the iteration time by the batch.
    """

    batch: float
    iteration_s: float
    gap_s: float
    gap_variance_s2: float
    batch_deviation_s: float


def token_state(deployment: Deployment, mix: Mix, batch: float) -> TokenState:
    """State of an instance whose mean batch is ``batch``.

    With f = 1.1 E[t_p] B / (E[o-1] gap) the share of time taken by prompts, the gap is
    ``t_t(B, K) / (1 - f) = t_t(B, K) + 1.1 E[t_p] B / E[o-1]``.
    """
    deviated = batch + np.sqrt(batch)
    iteration, above = deployment.token_s(
        [batch, deviated], [mix.kv_tokens * batch, mix.kv_tokens * deviated]
    )
    prompts_per_gap = batch / mix.iterations if mix.iterations > 0 else 0.0
    return TokenState(
        batch=batch,
        iteration_s=float(iteration),
        gap_s=float(iteration) + MIXED_FACTOR * mix.prompt_s * prompts_per_gap,
        gap_variance_s2=MIXED_FACTOR**2 * mix.prompt_sq_s * prompts_per_gap,
        batch_deviation_s=float(above - iteration),
    )


def added_s(deployment: Deployment, lengths: LengthHistogram) -> FloatArray:
    """Transfer time [s] per cell into a token machine, by its own network and prompt speed."""
    return transfer_s(
        lengths.prompt_tokens * deployment.model.kv_bytes_per_token,
        deployment.prompt_s(lengths.prompt_tokens, lengths.prompt_sq),
        deployment.transfer_bytes_per_s,
        deployment.machine.transfer_floor_s,
    )


def generation(
    state: TokenState, lengths: LengthHistogram, transfer: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation [s] per cell of the time from the first to the last token.

    ``transfer`` per cell is given for token pools, where the first iteration is joined half-way.
    """
    gaps = lengths.iterations
    start = 0.0 if transfer is None else state.iteration_s / 2 + transfer
    mean = gaps * state.gap_s + np.where(gaps > 0, start, 0.0)
    variance = (gaps * state.batch_deviation_s) ** 2 + gaps * state.gap_variance_s2
    return mean, np.sqrt(variance)


def tbt_share(
    value: float, limit: Limit, lengths: LengthHistogram, mean: FloatArray, deviation: FloatArray
) -> float:
    """Share of requests with more than one token whose TBT is at most ``value`` scales."""
    several = lengths.iterations > 0
    if not several.any():
        return 1.0
    gaps = lengths.iterations[several]
    allowed = value * limit.scale_s[several] * gaps
    return _share(allowed, mean[several], deviation[several], lengths.share[several])


def e2e_share(
    value: float,
    limit: E2eLimit,
    ttft_value: float,
    lengths: LengthHistogram,
    mean: FloatArray,
    deviation: FloatArray,
) -> float:
    """Share of requests whose E2E is at most ``value`` scales, TTFT being at its own percentile."""
    allowed = value * limit.scale_s - ttft_value * limit.budget_scale_s
    return _share(allowed, mean, deviation, lengths.share)


def _share(
    allowed: FloatArray, mean: FloatArray, deviation: FloatArray, share: FloatArray
) -> float:
    """Weighted share of cells whose normally distributed time is within what is allowed."""
    distance = allowed - mean
    certain = np.where(distance >= 0, 1.0, 0.0)
    spread = deviation > 0
    within = np.where(
        spread, ndtr(np.divide(distance, deviation, out=distance.copy(), where=spread)), certain
    )
    return float(share @ within / share.sum())


@dataclass(frozen=True)
class TokenLimits:
    """What one workload asks of a token or mixed pool; ``budget`` is the TTFT budget's index."""

    lengths: LengthHistogram
    tbt: tuple[Limit, ...]
    e2e: tuple[E2eLimit, ...]
    budget: int
    transfer: FloatArray | None

    def broken(self, state: TokenState) -> str:
        """Label of the first limit that a state breaks; empty when it keeps them all."""
        mean, deviation = generation(state, self.lengths, self.transfer)
        for limit in self.tbt:
            if tbt_share(limit.value, limit, self.lengths, mean, deviation) < limit.quantile:
                return limit.label
        for e2e in self.e2e:
            allowed = e2e.budget(self.budget)
            share = e2e_share(e2e.value, e2e, allowed, self.lengths, mean, deviation)
            if share < e2e.quantile:
                return e2e.label
        return ""


def largest_batch(deployment: Deployment, mix: Mix, limits: list[TokenLimits]) -> tuple[float, str]:
    """Largest mean batch of an instance that keeps every limit, and the limit that stops it.

    Returns
    -------
    batch : float
        Between 1 and what KV room and `MAX_BATCH` allow; 0 where even a batch of 1 breaks a limit.
    label : str
    """
    room = deployment.kv_room_tokens / mix.kv_tokens if mix.kv_tokens > 0 else np.inf
    most, label = min((float(MAX_BATCH), "batch of 512"), (max(room, 1.0), "KV-cache room"))
    if mix.iterations == 0:
        most, label = 1.0, ""  # outputs of one token leave nothing to generate together

    def broken(batch: float) -> str:
        state = token_state(deployment, mix, batch)
        return next(filter(None, (limit.broken(state) for limit in limits)), "")

    if not broken(most):
        return most, label
    first = broken(1.0)
    if first:
        return 0.0, first
    low, high = 1.0, most
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        stop = broken(middle)
        low, high = (low, middle) if stop else (middle, high)
        label = stop or label
    return low, broken(high) or label
