"""Lines of a trace to checked numbers, block by block.

A regular block is read by numpy's parser. Whatever that refuses is read again cell by cell, which
either accepts it or makes an error that names row, column and cell.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from provisioner.domain.workload import MAX_LENGTH, FloatArray, IntArray
from provisioner.errors import InputError
from provisioner.inputs.explain import describe
from provisioner.inputs.traces import FORMATS
from provisioner.inputs.traces.trace_format import TraceFormat, numbers

_Cells = tuple[str, str, str]


@dataclass(frozen=True)
class Block:
    """Requests of one block: row numbers as in an editor, ticks of the format's clock, lengths."""

    form: TraceFormat
    rows: IntArray
    ticks: FloatArray | IntArray
    prompt_tokens: FloatArray
    output_tokens: FloatArray

    def __len__(self) -> int:
        return len(self.rows)

    def wrong(self) -> NDArray[np.bool_]:
        """Wrong cells, one column for each of arrival, prompt and output."""
        lengths = np.column_stack([self.prompt_tokens, self.output_tokens])
        lowest = np.array([1, 0 if self.form.failed_without_output else 1])
        fine = (lengths >= lowest) & (lengths <= MAX_LENGTH) & (lengths == np.floor(lengths))
        in_time = (self.ticks >= 0) & np.isfinite(self.ticks)
        return ~np.column_stack([in_time, fine])

    def answered(self) -> Block:
        """Leave out the requests without output."""
        kept = self.output_tokens > 0
        return Block(
            form=self.form,
            rows=self.rows[kept],
            ticks=self.ticks[kept],
            prompt_tokens=self.prompt_tokens[kept],
            output_tokens=self.output_tokens[kept],
        )


@dataclass(frozen=True)
class _Layout:
    """A format and the header of its file; JSON lines have none."""

    form: TraceFormat
    header: tuple[str, ...]

    @property
    def positions(self) -> list[int]:
        """Places of the three columns in the header."""
        return [self.header.index(name) for name in self.form.columns]


def read_blocks(path: Path, lines: Iterator[str], size: int) -> Iterator[Block]:
    """Yield the requests of a trace in blocks of at most ``size`` lines, blank lines skipped.

    Raises
    ------
    InputError
        Where the trace is empty, of no known format, or a row is wrong.
    """
    row, first = next(((n, line) for n, line in enumerate(lines, 1) if line.strip()), (0, ""))
    if not first:
        raise InputError(f"{path}: the trace is empty")
    if first.lstrip().startswith(("{", "[")):
        layout = _Layout(_recognise(path, tuple(_parsed(path, row, first))), ())
        lines = itertools.chain([first], lines)
    else:
        header = tuple(name.strip() for name in _split(path, row, [first])[0])
        layout = _Layout(_recognise(path, header), header)
        row += 1
    while block := list(itertools.islice(lines, size)):
        yield _quick(layout, block, row) or _exact(path, layout, block, row)
        row += len(block)


def _recognise(path: Path, columns: tuple[str, ...]) -> TraceFormat:
    repeated = sorted({name for name in columns if columns.count(name) > 1})
    if repeated:
        raise InputError(f"{path}: the column {describe(repeated[0])} is given twice")
    for form in FORMATS:
        if set(form.columns) <= set(columns):
            return form
    known = "; ".join(f"{form.name}: {', '.join(form.columns)}" for form in FORMATS)
    nearest = max(FORMATS, key=lambda form: len(set(form.columns) & set(columns)))
    lacking = [name for name in nearest.columns if name not in columns]
    hint = "" if len(lacking) == 3 else f"; {nearest.name} also needs {', '.join(lacking)}"
    raise InputError(
        f"{path}: no known trace format has the columns {describe(', '.join(columns))}{hint} "
        f"(known: {known})"
    )


def _quick(layout: _Layout, lines: list[str], row: int) -> Block | None:
    """Read a block of plain CSV; None where anything is out of the ordinary."""
    if not layout.header or not lines[0].strip() or any('"' in line for line in lines):
        return None
    form, positions = layout.form, layout.positions
    kinds: list[Any] = ["U1"] * len(layout.header)  # other columns: anything, cut short
    for position in positions:
        kinds[position] = np.float64
    if form.arrival_is_text:
        kinds[positions[0]] = object
    dtype = [(f"f{i}", kind) for i, kind in enumerate(kinds)]
    try:
        table = np.loadtxt(lines, dtype=dtype, delimiter=",", comments=None, ndmin=1)
    except ValueError:
        return None
    if len(table) != len(lines):
        return None
    arrival, prompt, output = (table[f"f{position}"] for position in positions)
    block = Block(form, np.arange(row, row + len(lines)), form.ticks(arrival), prompt, output)
    return None if block.wrong().any() else block


def _exact(path: Path, layout: _Layout, lines: list[str], first_row: int) -> Block:
    """Read a block cell by cell; the first wrong cell is an `InputError`."""
    form = layout.form
    cells = _csv_cells if layout.header else _json_cells
    table = list(cells(path, layout, lines, first_row))
    rows, arrival, prompt, output = zip(*table, strict=True) if table else ((), (), (), ())
    block = Block(
        form=form,
        rows=np.array(rows, dtype=np.int64),
        ticks=form.ticks(arrival),
        prompt_tokens=numbers(prompt),
        output_tokens=numbers(output),
    )
    wrong = block.wrong()
    if wrong.any():
        at = int(wrong.any(axis=1).argmax())
        _refuse(path, form, table[at], int(wrong[at].argmax()))
    return block


def _refuse(path: Path, form: TraceFormat, cells: tuple[Any, ...], column: int) -> NoReturn:
    needed = f"a whole number from 1 to {MAX_LENGTH}" if column else form.arrival
    row, found = cells[0], describe(cells[1 + column])
    raise InputError(
        f"{path}: row {row}: {form.columns[column]}: {needed} is needed, found {found}"
    )


def _csv_cells(
    path: Path, layout: _Layout, lines: list[str], first_row: int
) -> Iterator[tuple[int, str, str, str]]:
    pick = itemgetter(*layout.positions)
    for row, cells in enumerate(_split(path, first_row, lines), first_row):
        if len(cells) == len(layout.header):
            yield row, *pick(cells)
        elif len(cells) > 1 or "".join(cells).strip():
            raise InputError(
                f"{path}: row {row}: {len(layout.header)} cells needed, found {len(cells)}"
            )


def _split(path: Path, first_row: int, lines: Iterable[str]) -> list[list[str]]:
    """Cells of each line; a quoted cell must end on its line, so that rows are lines."""
    row, table = first_row, []
    for row, line in enumerate(lines, first_row):
        try:
            table.append(next(csv.reader([line], skipinitialspace=True, strict=True), []))
        except csv.Error as error:
            raise InputError(f"{path}: row {row}: not valid CSV: {error}") from None
    return table


def _json_cells(
    path: Path, layout: _Layout, lines: list[str], first_row: int
) -> Iterator[tuple[int, str, str, str]]:
    columns = layout.form.columns
    for row, line in enumerate(lines, first_row):
        if not line.strip():
            continue
        record = _parsed(path, row, line)
        missing = [name for name in columns if name not in record]
        if missing:
            raise InputError(f"{path}: row {row}: {', '.join(missing)} is missing")
        arrival, prompt, output = (_as_text(record[name]) for name in columns)
        yield row, arrival, prompt, output


def _parsed(path: Path, row: int, line: str) -> dict[str, Any]:
    """One line of JSON with its numbers as written."""
    try:
        record = json.loads(
            line, object_pairs_hook=_distinct, parse_int=str, parse_float=str, parse_constant=str
        )
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: row {row}: not valid JSON: {error}") from None
    if not isinstance(record, dict):
        raise InputError(f"{path}: row {row}: one JSON object per line is needed")
    return record


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key is given twice")
    return record


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
