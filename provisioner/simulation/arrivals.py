"""Arrivals: which requests of which lengths come when, for a seed and a level of demand.

*Poisson*: exponential gaps; lengths are drawn with their correlation, from the trace where there
is one and from the joint histogram otherwise. *Replay*: a trace's own times, seen as a circle: to
another rate it is brought by superposing circularly shifted copies, the last of them thinned.

Demand is varied with common random numbers: at twice the demand the same Poisson requests come at
half the distance, and a replay's requests all come again, among others.

Not modelled: clients that wait for one answer before they ask again, and rates that follow the
hour of the day other than by a trace's own times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from provisioner.domain.trace import Trace
from provisioner.domain.workload import FloatArray, IntArray, LengthHistogram, Workload
from provisioner.errors import InputError
from provisioner.simulation.cluster import Requests

Arrivals = Literal["poisson", "replay"]

MOST_REQUESTS = 20_000_000
"""Most requests of a run; ten million take some 4 GB."""
_SPREAD = 6.0
"""Standard deviations of the number of arrivals that are drawn beyond its mean."""
_BLOCK = 50_000
"""Requests whose lengths are drawn at a time: what a processor keeps in its cache."""
_GAPS, _LENGTHS, _SHIFTS, _THINNING = range(4)


@dataclass(frozen=True)
class Offered:
    """Requests offered to a cluster, in order of arrival, and the workload that each is of."""

    requests: Requests
    workload: IntArray

    def __len__(self) -> int:
        return len(self.requests)


def offer(
    workloads: tuple[Workload, ...],
    arrivals: Arrivals,
    seed: int,
    duration_s: float,
    factor: float = 1.0,
) -> Offered:
    """Draw the requests of a run.

    Parameters
    ----------
    workloads : tuple of Workload
        For ``replay`` each needs a trace.
    seed : int
        Chooses gaps and lengths, or shifts and what is thinned out; at least 0.
    duration_s : float
        Requests arrive from 0 until then [s].
    factor : float
        Multiplies every rate.

    Returns
    -------
    Offered
        Byte for byte the same for the same arguments.

    Raises
    ------
    InputError
        Where they are more than can be simulated.
    """
    rate = factor * sum(workload.rate_per_s for workload in workloads)
    if rate * duration_s > MOST_REQUESTS:
        raise InputError(
            f"{rate:,.6g} requests/s for {duration_s:g} s are more than the {MOST_REQUESTS:,} "
            "requests that are simulated; check its unit, or shorten simulation.duration_s"
        )
    draw = _poisson if arrivals == "poisson" else _replay
    parts = [
        draw(workload, [seed, index], duration_s, factor)
        for index, workload in enumerate(workloads)
    ]
    return _merged(parts)


def replay_once(*workloads: Workload) -> Offered:
    """Offer the workloads' traces as they are, from their first requests to their last."""
    return _merged([workload.trace for workload in workloads if workload.trace is not None])


def _merged(parts: list[Trace]) -> Offered:
    if len(parts) == 1:
        alone = parts[0]
        same = np.zeros(len(alone.arrival_s), dtype=np.int64)
        return Offered(
            Requests(alone.arrival_s, alone.prompt_tokens, alone.output_tokens, same), same
        )
    arrival_s = np.concatenate([part.arrival_s for part in parts])
    workload = np.repeat(np.arange(len(parts)), [len(part.arrival_s) for part in parts])
    order = np.argsort(arrival_s, kind="stable")
    prompts = np.concatenate([part.prompt_tokens for part in parts])
    outputs = np.concatenate([part.output_tokens for part in parts])
    requests = Requests(
        arrival_s[order], prompts[order], outputs[order], np.zeros(len(order), dtype=np.int64)
    )
    return Offered(requests, workload[order])


def _generator(key: list[int], purpose: int) -> np.random.Generator:
    return np.random.default_rng([*key, purpose])


def _poisson(workload: Workload, key: list[int], duration_s: float, factor: float) -> Trace:
    rate = workload.rate_per_s * factor
    mean = rate * duration_s
    most = math.ceil(mean + _SPREAD * math.sqrt(mean) + _SPREAD**2)
    arrival_s = _generator(key, _GAPS).exponential(size=most)
    np.cumsum(arrival_s, out=arrival_s)
    arrival_s /= rate
    arrival_s = arrival_s[: np.searchsorted(arrival_s, duration_s)]
    draws = _generator(key, _LENGTHS)
    if workload.trace is not None:
        whole = workload.trace
        chosen = (draws.random(len(arrival_s)) * len(whole.arrival_s)).astype(np.int64)
        return Trace(arrival_s, whole.prompt_tokens[chosen], whole.output_tokens[chosen])
    prompts, outputs = np.empty((2, len(arrival_s)), dtype=np.int64)
    for start in range(0, len(arrival_s), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(arrival_s)))
        uniform = draws.random((block.stop - start, 4))
        prompts[block], outputs[block] = draw_lengths(workload.histogram, uniform)
    return Trace(arrival_s, prompts, outputs)


def draw_lengths(histogram: LengthHistogram, uniform: FloatArray) -> tuple[IntArray, IntArray]:
    """Lengths from a joint histogram, with the means, variances and correlation of each cell.

    Within a cell lengths are a standard deviation above or below its mean, rounded at random.

    Parameters
    ----------
    uniform : float array, requests x 4
        Independent random numbers from 0 to below 1.
    """
    cell = np.searchsorted(np.cumsum(histogram.share), uniform[:, 0], side="right")
    cell = np.minimum(cell, len(histogram.share) - 1)
    n = histogram.requests
    prompt, output = histogram.prompt_tokens, histogram.output_tokens
    prompt_sd = np.sqrt(np.maximum(histogram.prompt_sq_sum / n - prompt**2, 0.0))
    output_sd = np.sqrt(np.maximum(histogram.output_sq_sum / n - output**2, 0.0))
    covariance = histogram.product_sum / n - prompt * output
    spread = prompt_sd * output_sd
    correlation = np.divide(covariance, spread, out=np.zeros(len(n)), where=spread > 0)
    # One number gives both signs: the prompt's by its half, equality by its place within it.
    half, within = np.divmod(2 * uniform[:, 1], 1.0)
    sign = 2 * half - 1
    alike = np.where(within < (1 + np.clip(correlation, -1, 1)[cell]) / 2, sign, -sign)
    prompts = np.floor(prompt[cell] + sign * prompt_sd[cell] + uniform[:, 2])
    outputs = np.floor(output[cell] + alike * output_sd[cell] + uniform[:, 3])
    return np.maximum(prompts, 1).astype(np.int64), np.maximum(outputs, 1).astype(np.int64)


def _replay(workload: Workload, key: list[int], duration_s: float, factor: float) -> Trace:
    """Superpose shifted copies of the circular trace; the last is thinned to the rate."""
    trace = workload.trace
    assert trace is not None
    period_s = trace.period_s
    copies = workload.rate_per_s * factor * period_s / len(trace.arrival_s)
    number = math.ceil(copies)
    shifts = _generator(key, _SHIFTS).random(number) * period_s
    kept = _generator(key, _THINNING).random((number, len(trace.arrival_s)))
    parts = [
        _window(trace, shift, duration_s, uniform < copies - index)
        for index, (shift, uniform) in enumerate(zip(shifts, kept, strict=True))
    ]
    return _superposed(parts)


def _window(trace: Trace, shift_s: float, duration_s: float, kept: np.ndarray) -> Trace:
    """What a circular trace offers from ``shift_s`` on; it begins anew as often as needed."""
    period_s = trace.period_s
    chosen = np.flatnonzero(kept)
    first_s = np.mod(trace.arrival_s[chosen] - shift_s, period_s)
    rounds = math.ceil(duration_s / period_s)
    arrival_s = (first_s[np.newaxis, :] + period_s * np.arange(rounds)[:, np.newaxis]).ravel()
    which = np.tile(chosen, rounds)
    inside = arrival_s < duration_s
    which = which[inside]
    return Trace(arrival_s[inside], trace.prompt_tokens[which], trace.output_tokens[which])


def _superposed(parts: list[Trace]) -> Trace:
    arrival_s = np.concatenate([part.arrival_s for part in parts])
    order = np.argsort(arrival_s, kind="stable")
    return Trace(
        arrival_s[order],
        np.concatenate([part.prompt_tokens for part in parts])[order],
        np.concatenate([part.output_tokens for part in parts])[order],
    )
