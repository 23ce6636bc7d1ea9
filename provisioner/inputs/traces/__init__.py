"""Trace formats, one file each; a file is recognised by its columns."""

from __future__ import annotations

from provisioner.inputs.traces import azure, burstgpt, mooncake, own, splitwise_sim
from provisioner.inputs.traces.trace_format import TraceFormat

FORMATS: tuple[TraceFormat, ...] = (
    own.FORMAT,
    azure.FORMAT,
    splitwise_sim.FORMAT,
    burstgpt.FORMAT,
    mooncake.FORMAT,
)
