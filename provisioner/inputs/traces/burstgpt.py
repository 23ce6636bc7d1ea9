"""BurstGPT traces: ``Timestamp`` in seconds, ``Request tokens``, ``Response tokens``.

A request with no response tokens failed when the trace was taken; such rows are left out.
"""

from __future__ import annotations

from provisioner.inputs.traces.trace_format import TraceFormat

FORMAT = TraceFormat(
    name="burstgpt",
    columns=("Timestamp", "Request tokens", "Response tokens"),
    arrival="a time of at least 0 seconds",
    failed_without_output=True,
)
