"""The published Splitwise simulator's traces: arrivals in seconds, prompt and token sizes."""

from __future__ import annotations

from provisioner.inputs.traces.trace_format import TraceFormat

FORMAT = TraceFormat(
    name="splitwise-sim",
    columns=("arrival_timestamp", "prompt_size", "token_size"),
    arrival="a time of at least 0 seconds",
)
