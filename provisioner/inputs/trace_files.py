"""Request traces: recognised by their columns, read in chunks, checked row by row.

``.csv`` and ``.jsonl``, plain or compressed (``.gz``, ``.zst``). Arrivals must not go back in
time; they are counted from the first request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO

import numpy as np
import pandas as pd

from provisioner.domain.workload import MAX_LENGTH, FloatArray, IntArray
from provisioner.errors import InputError
from provisioner.inputs.traces import FORMATS

CHUNK_ROWS = 100_000
_FIRST_ROW = 2


@dataclass(frozen=True)
class Trace:
    """Requests in order of arrival: seconds since the first one, and both lengths in tokens."""

    arrival_s: FloatArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    left_out: int = 0

    @property
    def span_s(self) -> float:
        """Time from the first to the last arrival [s]."""
        return float(self.arrival_s[-1] - self.arrival_s[0])


def read_trace(path: Path) -> Trace:
    """Read a whole trace into memory."""
    chunks = list(read_chunks(path))
    return Trace(
        arrival_s=np.concatenate([chunk.arrival_s for chunk in chunks]),
        prompt_tokens=np.concatenate([chunk.prompt_tokens for chunk in chunks]),
        output_tokens=np.concatenate([chunk.output_tokens for chunk in chunks]),
        left_out=sum(chunk.left_out for chunk in chunks),
    )


def read_chunks(path: Path) -> Iterator[Trace]:
    """Yield a trace in pieces of at most `CHUNK_ROWS` requests; memory stays bounded.

    Raises
    ------
    InputError
        Where the file is missing, empty, of no known format, or a row is wrong; the message
        names the row and the column.
    """
    origin = last = None
    empty = True
    for row, raw, converted in _frames(path):
        numbers = _checked(path, converted, row)
        if not len(numbers):
            continue
        arrival = numbers["arrival_s"].to_numpy(dtype=float)
        origin = arrival[0] if origin is None else origin
        _refuse_disorder(path, arrival, last, numbers.index + row)
        last, empty = arrival[-1], False
        yield Trace(
            arrival_s=arrival - origin,
            prompt_tokens=numbers["prompt_tokens"].to_numpy(dtype=np.int64),
            output_tokens=numbers["output_tokens"].to_numpy(dtype=np.int64),
            left_out=len(raw) - len(converted),
        )
    if empty:
        raise InputError(f"{path}: the trace has no requests")


def _frames(path: Path) -> Iterator[tuple[int, pd.DataFrame, pd.DataFrame]]:
    """Yield (row number of the first line, frame as stored, frame in our columns)."""
    row = _FIRST_ROW
    with _readable(path) as reader:
        form: ModuleType | None = None
        for frame in reader:
            form = form or _recognise(path, list(frame.columns))
            missing = [name for name in form.COLUMNS if name not in frame.columns]
            if missing:
                raise InputError(f"{path}: row {row}: {', '.join(missing)} is missing")
            raw = frame.reset_index(drop=True)
            yield row, raw, form.convert(raw)
            row += len(raw)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[Iterator[pd.DataFrame]]:
    """Open a trace for chunked reading; whatever the parser cannot read is an `InputError`."""
    if not path.is_file():
        raise InputError(f"{path}: no such trace file")
    try:
        with _open(path) as reader:
            yield iter(reader)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: the trace is empty") from None
    except InputError:
        raise
    except (OSError, EOFError, ValueError, pd.errors.ParserError, _zstd_error()) as error:
        raise InputError(f"{path}: cannot be read as a trace: {' '.join(str(error).split())}") from None


def _open(path: Path) -> IO[pd.DataFrame]:
    names = [suffix for suffix in path.suffixes if suffix not in {".gz", ".zst"}]
    if names and names[-1] in {".jsonl", ".ndjson"}:
        return pd.read_json(path, lines=True, chunksize=CHUNK_ROWS, convert_dates=False)
    return pd.read_csv(
        path, chunksize=CHUNK_ROWS, encoding="utf-8-sig", skipinitialspace=True, low_memory=False
    )


def _zstd_error() -> type[Exception]:
    import zstandard  # noqa: PLC0415 - only needed once something went wrong

    return zstandard.ZstdError


def _recognise(path: Path, columns: list[str]) -> ModuleType:
    for form in FORMATS:
        if set(form.COLUMNS) <= set(columns):
            return form
    known = "; ".join(f"{form.NAME}: {', '.join(form.COLUMNS)}" for form in FORMATS)
    raise InputError(
        f"{path}: no known trace format has the columns {', '.join(map(str, columns))} "
        f"(known: {known})"
    )


def _checked(path: Path, frame: pd.DataFrame, first_row: int) -> pd.DataFrame:
    """Numbers of a frame; the first impossible one is an `InputError`."""
    limits = {"arrival_s": (0.0, np.inf), "prompt_tokens": (1, MAX_LENGTH)}
    limits["output_tokens"] = limits["prompt_tokens"]
    numbers = {}
    for column, (low, high) in limits.items():
        values = pd.to_numeric(frame[column], errors="coerce").astype(float)
        wrong = ~np.isfinite(values) | (values < low) | (values > high)
        if column != "arrival_s":
            wrong |= values != np.floor(values)
        if wrong.any():
            at = wrong.to_numpy().argmax()
            needed = (
                "a time of at least 0 is needed"
                if column == "arrival_s"
                else f"a whole number from 1 to {MAX_LENGTH} is needed"
            )
            raise InputError(
                f"{path}: row {frame.index[at] + first_row}: {column}: {needed}, "
                f"found {frame[column].iloc[at]!r}"
            )
        numbers[column] = values
    return pd.DataFrame(numbers)


def _refuse_disorder(
    path: Path, arrival: FloatArray, before: float | None, rows: pd.Index
) -> None:
    """Refuse arrivals that go back in time; equal times are fine."""
    previous = np.concatenate([[arrival[0] if before is None else before], arrival[:-1]])
    back = arrival < previous
    if back.any():
        at = int(back.argmax())
        raise InputError(
            f"{path}: row {rows[at]}: arrives {previous[at] - arrival[at]:g} s before the row "
            "above; sort the trace by arrival time"
        )
