"""Latencies and the SLO as the compatible mode measures them; it counts every request.

Differs from `provisioner.metrics`: TBT divides by all output tokens, a request alone on the
reference machine makes its tokens at the time that the table gives for x = prompt tokens, and a
limit is kept only by what is below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from provisioner.domain.slo import MetricName, Slo
from provisioner.domain.workload import FloatArray
from provisioner.simulation.published import PublishedRecords
from provisioner.simulation.published_machine import Lookup, PublishedMachine, TimeTable


@dataclass(frozen=True)
class PublishedLatency:
    """TTFT, TBT and E2E, a value per request: seconds, or slowdowns."""

    ttft: FloatArray
    tbt: FloatArray
    e2e: FloatArray

    def percentile(self, metric: MetricName, percentile: float) -> float:
        """Percentile of a metric over the requests that were served, linear between ranks."""
        values: FloatArray = getattr(self, metric)
        return float(np.nanpercentile(values, percentile))


def latency_s(records: PublishedRecords) -> PublishedLatency:
    """Latencies [s] of all requests; NaN where one was not served."""
    ttft_s = records.first_token_s - records.arrival_s
    e2e_s = records.finish_s - records.arrival_s
    return PublishedLatency(ttft_s, (e2e_s - ttft_s) / records.output_tokens, e2e_s)


def alone_s(
    reference: PublishedMachine, prompt_tokens: ArrayLike, output_tokens: ArrayLike
) -> PublishedLatency:
    """Latencies [s] of requests alone on the reference machine, by the published rule."""
    ttft_s = _read(reference.prompt_time_s, prompt_tokens)
    tbt_s = _read(reference.token_time_s, prompt_tokens)
    gaps = np.asarray(output_tokens, dtype=float) - 1.0
    return PublishedLatency(ttft_s, tbt_s, ttft_s + tbt_s * gaps)


def slowdown(measured: PublishedLatency, alone: PublishedLatency) -> PublishedLatency:
    """How many times longer than alone."""
    return PublishedLatency(
        measured.ttft / alone.ttft, measured.tbt / alone.tbt, measured.e2e / alone.e2e
    )


def keeps(slo: Slo, slowdowns: PublishedLatency) -> bool:
    """Whether every percentile is below its limit, all of which are slowdowns."""
    return all(
        slowdowns.percentile(limit.metric, limit.percentile) < limit.limit for limit in slo.limits
    )


def _read(table: TimeTable, at: ArrayLike) -> FloatArray:
    lookup = Lookup(table)
    return np.array([lookup(x) for x in np.asarray(at).tolist()])
