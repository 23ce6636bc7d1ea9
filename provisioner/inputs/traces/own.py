"""Our own format: ``arrival_s, prompt_tokens, output_tokens``."""

from __future__ import annotations

from provisioner.inputs.traces.trace_format import TraceFormat

FORMAT = TraceFormat(
    name="own",
    columns=("arrival_s", "prompt_tokens", "output_tokens"),
    arrival="a time of at least 0 seconds",
)
