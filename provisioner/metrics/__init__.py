"""Latency metrics that an SLO may limit, one file each.

A metric is a module with ``NAME``, ``alone_s(reference, lengths)``: the latency of a request
alone on the reference deployment, which a slowdown is relative to, and ``measure(times)``: the
latencies of requests that were served.
"""

from __future__ import annotations

from types import ModuleType

from provisioner.metrics import e2e, tbt, ttft

METRICS: tuple[ModuleType, ...] = (ttft, tbt, e2e)
BY_NAME: dict[str, ModuleType] = {metric.NAME: metric for metric in METRICS}
