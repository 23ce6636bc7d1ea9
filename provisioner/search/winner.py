"""The outcome of a search: the cluster that won, and how certain that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from provisioner.planning.solve import Answer
from provisioner.search.space import Space
from provisioner.search.trials import Counts, Trials

Proof = Literal["exhaustive", "monotone", "none"]


@dataclass(frozen=True)
class Winner:
    """The best cluster that passes.

    Attributes
    ----------
    space : Space
        The design's kinds of machines, which ``counts`` are of.
    trials : Trials
        The judge at the demand that it serves, ``theta`` times the scenario's.
    value, bound : float, float or None
        Of the objective; nothing that passes beats the bound.
    answer : Answer or None
        The last solve of the bounding program.
    points : tuple of (float, bool)
        For throughput: every rate [requests/s] at which the winner was tried, and whether it
        passed.
    """

    space: Space
    counts: Counts
    trials: Trials
    theta: float
    value: float
    bound: float | None
    proof: Proof
    answer: Answer | None = None
    notes: tuple[str, ...] = ()
    points: tuple[tuple[float, bool], ...] = ()
