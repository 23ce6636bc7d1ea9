"""Time between tokens: ``(E2E - TTFT) / (output_tokens - 1)``; undefined for one-token outputs."""

from __future__ import annotations

import numpy as np

from provisioner.domain.request import Lengths, Times
from provisioner.performance.deployment import Deployment
from provisioner.performance.piecewise import FloatArray

NAME = "tbt"


def alone_s(reference: Deployment, lengths: Lengths) -> FloatArray:
    """TBT [s] of a request alone, per cell or request."""
    return reference.alone_tbt_s(lengths.prompt_tokens, lengths.output_tokens)


def measure(times: Times) -> FloatArray:
    """TBT [s] of requests that were served; NaN for outputs of one token."""
    gaps = times.output_tokens - 1.0
    with np.errstate(invalid="ignore"):  # infinity less infinity: it never started
        generating = times.finish_s - times.first_token_s
    generating = np.where(np.isnan(generating), np.inf, generating)
    undefined = np.full(len(gaps), np.nan)
    return np.asarray(np.divide(generating, gaps, out=undefined, where=gaps > 0))
