"""A verdict: what a simulation measured of a cluster under its traffic."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner.domain.result import SloVerdict

ACTIVE_LEVELS = (0, 1, 2, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2048)
"""Numbers of active tokens up to which the cluster's time is summed."""


@dataclass(frozen=True)
class PoolMeasure:
    """One pool over the measured window, the mean over all seeds.

    Attributes
    ----------
    utilization : float
        Share of time that its instances work, from 0 to 1.
    mean_batch : float
        Requests that generate at a time, over the time that its instances work.
    kv_occupancy : float
        Share of the KV room in use, over the time that its instances work.
    mean_power_w : float
        Mean power of its working machines together, idle time included [W].
    """

    utilization: float
    mean_batch: float
    kv_occupancy: float
    mean_power_w: float


@dataclass(frozen=True)
class LatencySummary:
    """Mean and percentiles of one latency over the judged requests of all seeds [s]."""

    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True)
class Verdict:
    """What was measured.

    Attributes
    ----------
    slo : SloVerdict
        Every limit with the percentile over all seeds, and its 95 % interval across seeds.
    pools : tuple of PoolMeasure
        In the order of the pools that were judged.
    latency : dict
        ``ttft_s``, ``tbt_s``, ``e2e_s``, ``queue_s``, ``transfer_s`` and, between single tokens
        and for all requests, ``gap_s``.
    requests, judged : int
        Requests that were simulated, and those of them whose latencies count.
    unfinished : int
        Judged requests that no machine had the room to serve.
    restarted : int
        Judged requests that started over because a machine failed.
    warmup_s, duration_s : float
        Judged are requests that arrive from ``warmup_s`` to before ``duration_s``; all are served
        to their end.
    seeds : tuple of int
    wall_s : float
        Time that the engine took, after compilation [s].
    active_share : tuple of float
        Share of all machines' time with at most `ACTIVE_LEVELS` active tokens: those of the prompts
        in the batch, and one per request that generates.
    borrowed : dict
        How often a prompt and a token machine was borrowed for the other work (`mixed-pool`).
    """

    slo: SloVerdict
    pools: tuple[PoolMeasure, ...]
    latency: dict[str, LatencySummary]
    requests: int
    judged: int
    unfinished: int
    restarted: int
    warmup_s: float
    duration_s: float
    seeds: tuple[int, ...]
    wall_s: float
    active_share: tuple[float, ...]
    borrowed: dict[str, int]
