"""How well fitted curves predict runs they have not seen, per profile and phase.

Measured here:

- *held out*: a fifth of the single runs is set aside, the curve is fitted to the medians of the
  others and predicts each of them. Runs count alike, so a cell with many repeats weighs more.
- *left out*: one whole cell is set aside at a time and its median is predicted from the rest. A
  cell is all points of equal (T, Q) in the prompt phase and of equal (batch, KV-cache tokens) in
  the token phase; at the edges of the grid the prediction extrapolates.
- *spread of repeats*: what repeating the same run changes; no curve can do better for long.

Not measured here: anything between or beyond the cells of the grid (batch and context were never
varied together in the built-in data, prompts of unequal length never shared a batch), mixed
iterations, power, KV transfer, machines with a power cap (nothing is measured on them), and the
accuracy of a whole cluster's latencies.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from provisioner.domain.base import Phase
from provisioner.domain.profile import Profile, PromptPoint, TokenPoint
from provisioner.performance.piecewise import Repair
from provisioner.performance.prompt import fit_prompt
from provisioner.performance.token import fit_token

HELD_OUT_SHARE = 0.2
"""Share of the single runs that is set aside."""

_Point = TypeVar("_Point", PromptPoint, TokenPoint)
_Cell = tuple[float, float]
_Predict = Callable[[_Cell], tuple[float, bool]]
"""Seconds predicted for a cell, and whether that is extrapolated."""


@dataclass(frozen=True)
class Errors:
    """Absolute errors relative to the measured time; 0.01 is one per cent.

    Attributes
    ----------
    mean, worst : float
        Over all predictions.
    predictions : int
        How many times were predicted: runs when held out, cells when left out.
    extrapolated : int
        How many of them lie outside the range of the points that were fitted.
    """

    mean: float
    worst: float
    predictions: int
    extrapolated: int


@dataclass(frozen=True)
class PhaseValidation:
    """How well the curve of one phase predicts.

    Attributes
    ----------
    phase : Phase
    cells, runs : int
        Size of the measured grid, and single runs on it.
    held_out : Errors or None
        Of single runs; None where there are too few to hold one out.
    left_out : Errors or None
        Of whole cells; None where there is only one.
    repeat_spread : float or None
        Mean over points of (longest - shortest) / median of the repeats; None where nothing
        was repeated.
    repairs : tuple of str
        One sentence per value that was changed to make the curve non-decreasing.
    """

    phase: Phase
    cells: int
    runs: int
    held_out: Errors | None
    left_out: Errors | None
    repeat_spread: float | None
    repairs: tuple[str, ...]


@dataclass(frozen=True)
class ProfileValidation:
    """Both phases of one profile; ``dropped`` lists measured points that were not used."""

    profile: str
    prompt: PhaseValidation
    token: PhaseValidation
    dropped: tuple[str, ...]


def validate(profile: Profile, seed: int = 0) -> ProfileValidation:
    """Measure how well a profile's curves predict runs they have not seen.

    Parameters
    ----------
    profile : Profile
        Measured points with their repeats [s].
    seed : int
        Chooses the runs that are held out; the same seed gives the same numbers.

    Returns
    -------
    ProfileValidation
        Relative errors per phase, repairs of the fit to all points, and dropped points.
    """
    prompt_repairs = fit_prompt(profile.prompt).repairs
    token_repairs = fit_token(profile.token).repairs
    return ProfileValidation(
        profile=profile.name,
        prompt=PhaseValidation(
            phase=Phase.PROMPT,
            cells=len({_prompt_cell(point) for point in profile.prompt}),
            runs=sum(len(point.repeats_s) for point in profile.prompt),
            held_out=_held_out(profile.prompt, _prompt_cell, _prompt_predictor, seed),
            left_out=_left_out(profile.prompt, _prompt_cell, _prompt_predictor),
            repeat_spread=_repeat_spread([point.repeats_s for point in profile.prompt]),
            repairs=tuple(_sentence("prompt tokens", "quadratic", r) for r in prompt_repairs),
        ),
        token=PhaseValidation(
            phase=Phase.TOKEN,
            cells=len({_token_cell(point) for point in profile.token}),
            runs=sum(len(point.repeats_s) for point in profile.token),
            held_out=_held_out(profile.token, _token_cell, _token_predictor, seed),
            left_out=_left_out(profile.token, _token_cell, _token_predictor),
            repeat_spread=_repeat_spread([point.repeats_s for point in profile.token]),
            repairs=tuple(_sentence("requests in the batch", "context", r) for r in token_repairs),
        ),
        dropped=profile.dropped,
    )


def _held_out(
    points: tuple[_Point, ...],
    cell_of: Callable[[_Point], _Cell],
    fit: Callable[[tuple[_Point, ...]], _Predict],
    seed: int,
) -> Errors | None:
    """Predict a random share of the single runs from the medians of the others."""
    runs = [(i, j) for i, point in enumerate(points) for j in range(len(point.repeats_s))]
    order = np.random.default_rng(seed).permutation(len(runs))
    held = {runs[k] for k in order[: round(HELD_OUT_SHARE * len(runs))]}
    if not held:
        return None
    kept = (
        (point, [run for j, run in enumerate(point.repeats_s) if (i, j) not in held])
        for i, point in enumerate(points)
    )
    predict = fit(tuple(_with_repeats(point, repeats) for point, repeats in kept if repeats))
    measured = [(cell_of(points[i]), points[i].repeats_s[j]) for i, j in sorted(held)]
    return _errors([(predict(cell), time_s) for cell, time_s in measured])


def _left_out(
    points: tuple[_Point, ...],
    cell_of: Callable[[_Point], _Cell],
    fit: Callable[[tuple[_Point, ...]], _Predict],
) -> Errors | None:
    """Predict the median of every cell from all other cells."""
    cells = sorted({cell_of(point) for point in points})
    if len(cells) < 2:
        return None
    outcomes = []
    for cell in cells:
        predict = fit(tuple(point for point in points if cell_of(point) != cell))
        runs = [run for point in points if cell_of(point) == cell for run in point.repeats_s]
        outcomes.append((predict(cell), statistics.median(runs)))
    return _errors(outcomes)


def _errors(outcomes: list[tuple[tuple[float, bool], float]]) -> Errors:
    """Summarise ((predicted, extrapolated), measured)."""
    relative = [abs(predicted / measured - 1) for (predicted, _), measured in outcomes]
    return Errors(
        mean=statistics.fmean(relative),
        worst=max(relative),
        predictions=len(relative),
        extrapolated=sum(outside for (_, outside), _ in outcomes),
    )


def _with_repeats(point: _Point, repeats_s: list[float]) -> _Point:
    return replace(point, time_s=statistics.median(repeats_s), repeats_s=tuple(repeats_s))


def _repeat_spread(repeats: list[tuple[float, ...]]) -> float | None:
    """Mean of (longest - shortest) / median over the points that were repeated."""
    spreads = [(max(r) - min(r)) / statistics.median(r) for r in repeats if len(r) > 1]
    return statistics.fmean(spreads) if spreads else None


def _sentence(load: str, term: str, repair: Repair) -> str:
    return (
        f"at {repair.x:g} {load} {repair.measured:.4g} s was changed to {repair.used:.4g} s "
        f"({term} term excluded), so that time does not fall"
    )


def _prompt_cell(point: PromptPoint) -> _Cell:
    return point.tokens, point.squared_tokens


def _token_cell(point: TokenPoint) -> _Cell:
    return point.batch, point.kv_tokens


def _prompt_predictor(points: tuple[PromptPoint, ...]) -> _Predict:
    curve = fit_prompt(points)
    return lambda cell: (float(curve.time_s(*cell)), bool(curve.extrapolated(cell[0])))


def _token_predictor(points: tuple[TokenPoint, ...]) -> _Predict:
    curve = fit_token(points)
    return lambda cell: (float(curve.time_s(*cell)), bool(curve.extrapolated(*cell)))
