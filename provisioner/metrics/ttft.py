"""Time to first token: from arrival to the first output token, queueing included."""

from __future__ import annotations

from provisioner.domain.workload import LengthHistogram
from provisioner.performance.deployment import Deployment
from provisioner.performance.piecewise import FloatArray

NAME = "ttft"


def alone_s(reference: Deployment, lengths: LengthHistogram) -> FloatArray:
    """TTFT [s] of a request alone, per cell of the histogram."""
    return reference.alone_ttft_s(lengths.prompt_tokens, lengths.prompt_sq)
