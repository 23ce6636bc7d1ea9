"""Latency metrics that an SLO may limit, one file each.

A metric is a module with ``NAME`` and ``alone_s(reference, lengths)``: the latency of a request
alone on the reference deployment, which a slowdown is relative to.
"""

from __future__ import annotations

from types import ModuleType

from provisioner.metrics import e2e, tbt, ttft

METRICS: tuple[ModuleType, ...] = (ttft, tbt, e2e)
BY_NAME: dict[str, ModuleType] = {metric.NAME: metric for metric in METRICS}
