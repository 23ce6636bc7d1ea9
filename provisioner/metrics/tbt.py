"""Time between tokens: ``(E2E - TTFT) / (output_tokens - 1)``; undefined for one-token outputs."""

from __future__ import annotations

from provisioner.domain.workload import LengthHistogram
from provisioner.performance.deployment import Deployment
from provisioner.performance.piecewise import FloatArray

NAME = "tbt"


def alone_s(reference: Deployment, lengths: LengthHistogram) -> FloatArray:
    """TBT [s] of a request alone, per cell of the histogram."""
    return reference.alone_tbt_s(lengths.prompt_tokens, lengths.output_tokens)
