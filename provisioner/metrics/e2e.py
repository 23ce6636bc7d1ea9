"""End-to-end latency: from arrival to the last output token."""

from __future__ import annotations

from provisioner.domain.workload import LengthHistogram
from provisioner.performance.deployment import Deployment
from provisioner.performance.piecewise import FloatArray

NAME = "e2e"


def alone_s(reference: Deployment, lengths: LengthHistogram) -> FloatArray:
    """E2E [s] of a request alone, per cell of the histogram."""
    return reference.alone_e2e_s(lengths.prompt_tokens, lengths.output_tokens, lengths.prompt_sq)
