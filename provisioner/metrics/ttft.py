"""Time to first token: from arrival to the first output token, queueing included."""

from __future__ import annotations

from provisioner.domain.request import Lengths, Times
from provisioner.performance.deployment import Deployment
from provisioner.performance.piecewise import FloatArray

NAME = "ttft"


def alone_s(reference: Deployment, lengths: Lengths) -> FloatArray:
    """TTFT [s] of a request alone, per cell or request."""
    return reference.alone_ttft_s(lengths.prompt_tokens, lengths.prompt_sq)


def measure(times: Times) -> FloatArray:
    """TTFT [s] of requests that were served."""
    return times.first_token_s - times.arrival_s
