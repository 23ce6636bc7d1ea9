"""The independent parts of a reproduction, spread over processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

Progress = Callable[[int, int, str], None]
"""Called with how many parts are done, how many there are, and the name of the last."""


@dataclass(frozen=True)
class Part:
    """A call that depends on no other part."""

    name: str
    function: Callable[..., object]
    arguments: tuple[object, ...]


def done(
    parts: dict[str, list[Part]], jobs: int, progress: Callable[[int, str], None]
) -> dict[str, list[Any]]:
    """Results of all parts, in their order.

    Parameters
    ----------
    jobs : int
        Processes; at least 1.
    progress : callable
        Called with how many parts are done, and the name of the last.
    """
    found: dict[str, dict[int, object]] = {table: {} for table in parts}
    tasks = [
        delayed(_labelled)(table, number, part)
        for table, several in parts.items()
        for number, part in enumerate(several)
    ]
    finished = Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)
    for count, (table, number, result) in enumerate(finished, 1):
        found[table][number] = result
        progress(count, parts[table][number].name)
    return {table: [several[i] for i in range(len(several))] for table, several in found.items()}


def _labelled(table: str, number: int, part: Part) -> tuple[str, int, object]:
    return table, number, part.function(*part.arguments)
