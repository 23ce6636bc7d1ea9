"""Request traces: recognised by their columns, read in pieces, checked row by row.

CSV or JSON lines, plain or compressed (gzip, Zstandard). Arrivals must not go back in time; they
are counted from the first request.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from provisioner.domain.trace import Trace
from provisioner.errors import InputError
from provisioner.inputs.text_files import open_lines
from provisioner.inputs.trace_tables import Block, read_blocks

CHUNK_ROWS = 100_000


def read_trace(path: Path) -> Trace:
    """Read a whole trace into memory.

    Raises
    ------
    InputError
        As `read_chunks`.
    """
    chunks = list(read_chunks(path))
    return Trace(
        arrival_s=np.concatenate([chunk.arrival_s for chunk in chunks]),
        prompt_tokens=np.concatenate([chunk.prompt_tokens for chunk in chunks]),
        output_tokens=np.concatenate([chunk.output_tokens for chunk in chunks]),
        left_out=sum(chunk.left_out for chunk in chunks),
    )


def read_chunks(path: Path) -> Iterator[Trace]:
    """Yield a trace in pieces of at most `CHUNK_ROWS` requests; memory stays bounded.

    A piece may be empty where all its requests failed; the pieces together are not.

    Raises
    ------
    InputError
        Where the file is missing, empty, of no known format, or a row is wrong; the message
        names the row and the column.
    """
    first = last = None
    with open_lines(path) as lines:
        for whole in read_blocks(path, lines, CHUNK_ROWS):
            block = whole.answered()
            if len(block):
                first = block.ticks[0] if first is None else first
                _refuse_disorder(path, block, last)
                last = block.ticks[-1]
            yield Trace(
                arrival_s=(block.ticks - (first or 0)) / block.form.ticks_per_s,
                prompt_tokens=block.prompt_tokens.astype(np.int64),
                output_tokens=block.output_tokens.astype(np.int64),
                left_out=len(whole) - len(block),
            )
    if first is None:
        raise InputError(f"{path}: the trace has no requests")


def _refuse_disorder(path: Path, block: Block, last: float | int | None) -> None:
    """Refuse arrivals that go back in time; equal times are fine."""
    before = np.concatenate([[block.ticks[0] if last is None else last], block.ticks[:-1]])
    back = block.ticks < before
    if back.any():
        at = int(back.argmax())
        seconds = (before[at] - block.ticks[at]) / block.form.ticks_per_s
        raise InputError(
            f"{path}: row {block.rows[at]}: arrives {seconds:g} s before the request above; "
            "sort the trace by arrival time"
        )
