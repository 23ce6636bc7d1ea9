"""Request classes: what must be served, in the sums that the integer program needs.

A class is a bucket of prompt and output length of one workload. Its moments are sums over the
histogram's own cells, so that totals over classes equal those of the workload exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from provisioner.domain.workload import FloatArray, IntArray, LengthHistogram, Workload
from provisioner.performance.deployment import Deployment

PROMPT_BUCKETS = np.array([1, 256, 512, 1024, 2048, 4096, 8192])
"""Lower ends of the classes' prompt lengths [tokens]; each is the lower end of a cell."""
OUTPUT_BUCKETS = np.array([1, 16, 64, 256, 1024])
"""Lower ends of the classes' output lengths [tokens]."""


@dataclass(frozen=True)
class Demand:
    """All classes of all workloads; arrays have one entry per class.

    Attributes
    ----------
    workloads : tuple of Workload
    names : tuple of str
        For example ``p1024-2047_o64-255``.
    workload : int array
        Index of the class's workload.
    cells : tuple of int arrays
        Indices of the class's cells in its workload's histogram.
    rate_per_s : float array
        Requests per second.
    """

    workloads: tuple[Workload, ...]
    names: tuple[str, ...]
    workload: IntArray
    cells: tuple[IntArray, ...]
    rate_per_s: FloatArray

    @property
    def total_rate_per_s(self) -> float:
        """Requests per second of all workloads."""
        return float(sum(workload.rate_per_s for workload in self.workloads))

    @cached_property
    def prompt_tokens(self) -> FloatArray:
        """E[p] per class [tokens]."""
        return self._mean(lambda lengths: lengths.prompt_tokens)

    @cached_property
    def output_tokens(self) -> FloatArray:
        """E[o] per class [tokens]."""
        return self._mean(lambda lengths: lengths.output_tokens)

    @cached_property
    def iterations(self) -> FloatArray:
        """E[o - 1] per class."""
        return self.output_tokens - 1

    @cached_property
    def kv_token_iterations(self) -> FloatArray:
        """E[(o - 1)(p + o/2)] per class."""
        return self._mean(lambda lengths: lengths.kv_token_iterations)

    def prompt_s(self, deployment: Deployment) -> FloatArray:
        """E[t_p] per class on a deployment [s]: over the cells, never t_p of a mean."""
        return self._mean(lambda x: deployment.prompt_s(x.prompt_tokens, x.prompt_sq))

    def prompt_sq_s(self, deployment: Deployment) -> FloatArray:
        """E[t_p^2] per class on a deployment [s^2]."""
        return self._mean(lambda x: deployment.prompt_s(x.prompt_tokens, x.prompt_sq) ** 2)

    def of_workloads(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which classes belong to the chosen workloads."""
        return chosen[self.workload]

    def _mean(self, values: Callable[[LengthHistogram], FloatArray]) -> FloatArray:
        """Mean over each class's cells of a function of the histogram."""
        means = []
        per_workload = [values(w.histogram) for w in self.workloads]
        for which, cells in zip(self.workload, self.cells, strict=True):
            weights = self.workloads[which].histogram.requests[cells]
            means.append(float(per_workload[which][cells] @ weights / weights.sum()))
        return np.array(means)


def classify(workloads: tuple[Workload, ...]) -> Demand:
    """Gather the histogram cells of every workload into classes."""
    names: list[str] = []
    which: list[int] = []
    cells: list[IntArray] = []
    rates: list[float] = []
    for index, workload in enumerate(workloads):
        lengths = workload.histogram
        bucket = _bucket(lengths.prompt_from, lengths.output_from)
        for number in np.unique(bucket):
            members = np.flatnonzero(bucket == number)
            names.append(_name(int(number)))
            which.append(index)
            cells.append(members)
            rates.append(workload.rate_per_s * float(lengths.share[members].sum()))
    return Demand(workloads, tuple(names), np.array(which), tuple(cells), np.array(rates))


def bucket_names(prompt_tokens: IntArray, output_tokens: IntArray) -> list[str]:
    """Name of the class of each request, within its workload."""
    numbers, which = np.unique(_bucket(prompt_tokens, output_tokens), return_inverse=True)
    names = [_name(int(number)) for number in numbers]
    return [names[at] for at in which.tolist()]


def _bucket(prompt_from: IntArray, output_from: IntArray) -> IntArray:
    row = np.searchsorted(PROMPT_BUCKETS, prompt_from, side="right") - 1
    column = np.searchsorted(OUTPUT_BUCKETS, output_from, side="right") - 1
    return row * len(OUTPUT_BUCKETS) + column


def _name(number: int) -> str:
    row, column = divmod(number, len(OUTPUT_BUCKETS))
    return f"p{_range(PROMPT_BUCKETS, row)}_o{_range(OUTPUT_BUCKETS, column)}"


def _range(edges: IntArray, at: int) -> str:
    return f"{edges[at]}-{edges[at + 1] - 1}" if at + 1 < len(edges) else f"{edges[at]}+"


@dataclass(frozen=True)
class PromptLengths:
    """The prompt lengths of a workload without their outputs; one entry per prompt cell."""

    share: FloatArray
    tokens: FloatArray
    squared: FloatArray


def prompt_lengths(lengths: LengthHistogram) -> PromptLengths:
    """Sum a joint histogram over the output lengths."""
    edges, which = np.unique(lengths.prompt_from, return_inverse=True)

    def total(values: IntArray) -> FloatArray:
        return np.bincount(which, weights=values, minlength=len(edges)).astype(np.float64)

    requests = total(lengths.requests)
    return PromptLengths(
        share=requests / requests.sum(),
        tokens=total(lengths.prompt_sum) / requests,
        squared=total(lengths.prompt_sq_sum) / requests,
    )
