"""End-to-end latency: from arrival to the last output token."""

from __future__ import annotations

from provisioner.domain.request import Lengths, Times
from provisioner.performance.deployment import Deployment
from provisioner.performance.piecewise import FloatArray

NAME = "e2e"


def alone_s(reference: Deployment, lengths: Lengths) -> FloatArray:
    """E2E [s] of a request alone, per cell or request."""
    return reference.alone_e2e_s(lengths.prompt_tokens, lengths.output_tokens, lengths.prompt_sq)


def measure(times: Times) -> FloatArray:
    """E2E [s] of requests that were served."""
    return times.finish_s - times.arrival_s
