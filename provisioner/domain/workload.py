"""Workloads: how many requests of which prompt and output lengths.

Lengths are a *joint* histogram on fixed cells, so the correlation of prompt and output is kept,
and every cell carries the sums of p, p^2, o, p*o and o^2 of its requests: totals over cells equal
the totals of the trace exactly.

Not modelled: prefix reuse between requests, and length distributions that drift over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from provisioner.domain.slo import Slo
from provisioner.domain.trace import Trace

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def _edges(cells_per_octave: int, octaves: int) -> IntArray:
    raw = 2.0 ** (np.arange(cells_per_octave * octaves + 1) / cells_per_octave)
    return np.unique(np.round(raw)).astype(np.int64)


PROMPT_EDGES = _edges(8, 24)
"""Lower ends of the prompt cells [tokens]: eight to an octave."""
OUTPUT_EDGES = _edges(4, 24)
"""Lower ends of the output cells [tokens]: four to an octave."""
MAX_LENGTH = int(PROMPT_EDGES[-1])
"""Longest prompt or output that is accepted [tokens]."""


@dataclass(frozen=True)
class LengthHistogram:
    """Joint histogram of prompt and output length; arrays have one entry per non-empty cell.

    Attributes
    ----------
    prompt_from, output_from : int arrays
        Lower ends of the cell, from `PROMPT_EDGES` and `OUTPUT_EDGES` [tokens].
    requests : int array
        Requests in the cell, at least 1.
    prompt_sum, prompt_sq_sum, output_sum, product_sum, output_sq_sum : int arrays
        Sums over the requests of the cell of p, p^2, o, p*o and o^2.
    """

    prompt_from: IntArray
    output_from: IntArray
    requests: IntArray
    prompt_sum: IntArray
    prompt_sq_sum: IntArray
    output_sum: IntArray
    product_sum: IntArray
    output_sq_sum: IntArray

    @property
    def total_requests(self) -> int:
        """Requests over all cells."""
        return int(self.requests.sum())

    @cached_property
    def share(self) -> FloatArray:
        """Share of all requests per cell; sums to 1."""
        return self.requests / self.total_requests

    @cached_property
    def prompt_tokens(self) -> FloatArray:
        """Mean prompt length per cell [tokens]."""
        return self.prompt_sum / self.requests

    @cached_property
    def prompt_sq(self) -> FloatArray:
        """Mean squared prompt length per cell [tokens^2]."""
        return self.prompt_sq_sum / self.requests

    @cached_property
    def output_tokens(self) -> FloatArray:
        """Mean output length per cell, the first token included [tokens]."""
        return self.output_sum / self.requests

    @cached_property
    def iterations(self) -> FloatArray:
        """Mean number of token iterations per cell, E[o - 1]."""
        return self.output_tokens - 1

    @cached_property
    def kv_token_iterations(self) -> FloatArray:
        """Mean KV-tokens summed over iterations per cell, E[(o - 1)(p + o/2)]."""
        product, square = self.product_sum / self.requests, self.output_sq_sum / self.requests
        return product + square / 2 - self.prompt_tokens - self.output_tokens / 2

    @property
    def mean_prompt_tokens(self) -> float:
        """Mean prompt length over all requests [tokens]."""
        return float(self.prompt_sum.sum() / self.total_requests)

    @property
    def mean_output_tokens(self) -> float:
        """Mean output length over all requests [tokens]."""
        return float(self.output_sum.sum() / self.total_requests)


def histogram_of(prompt_tokens: IntArray, output_tokens: IntArray) -> LengthHistogram:
    """Count lengths into the fixed cells.

    Parameters
    ----------
    prompt_tokens, output_tokens : int arrays of equal length
        Lengths of the requests, each from 1 to `MAX_LENGTH` [tokens].

    Returns
    -------
    LengthHistogram
        Cells in order of prompt length, then output length.
    """
    prompt = np.asarray(prompt_tokens, dtype=np.int64)
    output = np.asarray(output_tokens, dtype=np.int64)
    row = np.searchsorted(PROMPT_EDGES, prompt, side="right") - 1
    column = np.searchsorted(OUTPUT_EDGES, output, side="right") - 1
    cells, which = np.unique(row * len(OUTPUT_EDGES) + column, return_inverse=True)

    def total(values: IntArray) -> IntArray:
        sums = np.zeros(len(cells), dtype=np.int64)
        np.add.at(sums, which, values)
        return sums

    return LengthHistogram(
        prompt_from=PROMPT_EDGES[cells // len(OUTPUT_EDGES)],
        output_from=OUTPUT_EDGES[cells % len(OUTPUT_EDGES)],
        requests=total(np.ones_like(prompt)),
        prompt_sum=total(prompt),
        prompt_sq_sum=total(prompt**2),
        output_sum=total(output),
        product_sum=total(prompt * output),
        output_sq_sum=total(output**2),
    )


def merge(parts: list[LengthHistogram]) -> LengthHistogram:
    """Add histograms cell by cell; the order of the parts does not matter."""
    sums: dict[tuple[int, int], IntArray] = {}
    for part in parts:
        fields = np.column_stack([getattr(part, name) for name in _SUMMED])
        for p, o, values in zip(part.prompt_from, part.output_from, fields, strict=True):
            key = (int(p), int(o))
            sums[key] = sums[key] + values if key in sums else values
    keys = sorted(sums)
    table = np.array([sums[key] for key in keys], dtype=np.int64)
    corners = np.array(keys, dtype=np.int64)
    columns = {name: table[:, i] for i, name in enumerate(_SUMMED)}
    return LengthHistogram(prompt_from=corners[:, 0], output_from=corners[:, 1], **columns)


_SUMMED = (
    "requests",
    "prompt_sum",
    "prompt_sq_sum",
    "output_sum",
    "product_sum",
    "output_sq_sum",
)
HISTOGRAM_COLUMNS = ("prompt_from", "output_from", *_SUMMED)
"""Columns of a histogram file, in order."""


@dataclass(frozen=True)
class LengthRecord:
    """A workload as stored: its histogram and what is known of where it came from.

    ``span_s`` and ``peak_60s_per_s`` are null where arrival times are unknown.
    """

    name: str
    histogram: LengthHistogram
    source: str
    span_s: float | None = None
    peak_60s_per_s: float | None = None

    @property
    def mean_rate_per_s(self) -> float | None:
        """Requests over the span of the trace [requests/s]; None where that is unknown."""
        return self.histogram.total_requests / self.span_s if self.span_s else None


@dataclass(frozen=True)
class Workload:
    """One stream of requests that the cluster must serve, resolved: rate, lengths and SLO.

    ``rate_per_s`` includes the scenario's growth. ``trace`` holds the requests themselves where
    they are known: of the window planned for, at the speed planned for.
    """

    name: str
    rate_per_s: float
    histogram: LengthHistogram
    slo: Slo
    source: str
    trace: Trace | None = None
