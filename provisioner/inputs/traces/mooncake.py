"""Mooncake traces: JSON lines with ``timestamp`` in milliseconds, input and output length.

The prefix blocks in ``hash_ids`` are ignored: prefix reuse is not modelled.
"""

from __future__ import annotations

from provisioner.inputs.traces.trace_format import TraceFormat
from provisioner.units import MS_PER_S

FORMAT = TraceFormat(
    name="mooncake",
    columns=("timestamp", "input_length", "output_length"),
    arrival="a time of at least 0 milliseconds",
    ticks_per_s=MS_PER_S,
)
