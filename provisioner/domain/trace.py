"""A trace: requests in order of arrival, with both lengths."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Trace:
    """Requests in order of arrival: seconds since the first one, and both lengths in tokens.

    ``left_out`` counts the requests that failed when the trace was taken.
    """

    arrival_s: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def span_s(self) -> float:
        """Time from the first to the last arrival [s]."""
        return float(self.arrival_s[-1] - self.arrival_s[0])

    @property
    def period_s(self) -> float:
        """Time after which the trace begins anew where it is seen as a circle [s].

        Its span and one mean gap more; a second where it has no span.
        """
        return self.span_s * len(self) / (len(self) - 1) if self.span_s > 0 else 1.0

    def compressed(self, speedup: float) -> Trace:
        """The same requests, so many times as fast."""
        return replace(self, arrival_s=self.arrival_s / speedup)

    def part(self, start: int, count: int) -> Trace:
        """So many requests from one on, with times since the first of them."""
        chosen = slice(start, start + count)
        return Trace(
            self.arrival_s[chosen] - self.arrival_s[start],
            self.prompt_tokens[chosen],
            self.output_tokens[chosen],
        )
