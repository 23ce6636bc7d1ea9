"""CSV files to rows of text, and text to numbers, with errors that name file, row and column."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from provisioner.errors import InputError
from provisioner.inputs.explain import describe
from provisioner.inputs.text_files import read_text

_LARGEST_WHOLE = 2**63 - 1


@dataclass(frozen=True)
class Row:
    """One row of a CSV file; ``number`` counts as an editor does, the header being line 1."""

    path: Path
    number: int
    cells: dict[str, str]

    def fail(self, column: str, needed: str) -> InputError:
        """Make the error for a wrong cell."""
        found = describe(self.cells[column])
        return InputError(f"{self.path}: row {self.number}: {column}: {needed}, found {found}")

    def text(self, column: str, allowed: tuple[str, ...] = ()) -> str:
        """Read a non-empty text, one of ``allowed`` where given."""
        value = self.cells[column].strip()
        if not value or (allowed and value not in allowed):
            needed = f"one of {', '.join(allowed)}" if allowed else "text"
            raise self.fail(column, f"{needed} is needed")
        return value

    def number_of(self, column: str, at_least: float = 0.0) -> float:
        """Read a finite number that is at least ``at_least``."""
        try:
            value = float(self.cells[column])
        except ValueError:
            raise self.fail(column, "a number is needed") from None
        if not math.isfinite(value) or value < at_least:
            raise self.fail(column, f"a finite number of at least {at_least:g} is needed")
        return value

    def positive(self, column: str) -> float:
        """Read a finite number above zero."""
        value = self.number_of(column)
        if value == 0:
            raise self.fail(column, "a number above 0 is needed")
        return value

    def whole(self, column: str, at_least: int = 1) -> int:
        """Read a whole number from ``at_least`` to what 64 bits hold."""
        try:
            value = int(self.cells[column])  # exact, where a float rounds above 2^53
        except ValueError:
            value = self._whole_float(column)
        if not at_least <= value <= _LARGEST_WHOLE:
            raise self.fail(column, f"a whole number of at least {at_least} is needed")
        return value

    def whole_or_none(self, column: str) -> int | None:
        """Read a whole number above 0, or nothing where the cell is empty."""
        return self.whole(column) if self.cells[column].strip() else None

    def _whole_float(self, column: str) -> int:
        value = self.number_of(column)
        if value != int(value):
            raise self.fail(column, "a whole number is needed")
        return int(value)


def read_rows(
    path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[Row]:
    """Yield the rows of a CSV file that has these columns and no others.

    Blank lines are skipped; an optional column that is not there is empty.

    Raises
    ------
    InputError
        Where a column is missing, unknown or repeated, a row is too short or too long, or there
        is no row at all.
    """
    lines = _lines(path)
    _, header = next(lines, (0, []))
    header = [name.strip() for name in header]
    absent = [name for name in optional if name not in header]
    if sorted(header + absent) != sorted(columns + optional):
        found = describe(", ".join(header)) if header else "none"
        needed = ", ".join(columns) + "".join(f", {name} (optional)" for name in optional)
        raise InputError(f"{path}: the columns must be {needed}; found {found}")
    empty = True
    for number, cells in lines:
        if len(cells) != len(header):
            raise InputError(
                f"{path}: row {number}: {len(header)} cells needed, found {len(cells)}"
            )
        empty = False
        yield Row(path, number, dict.fromkeys(absent, "") | dict(zip(header, cells, strict=True)))
    if empty:
        raise InputError(f"{path}: no rows")


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (row number of its last line, cells) of each row that is not blank."""
    reader = csv.reader(io.StringIO(read_text(path)), strict=True)
    try:
        for cells in reader:
            if "".join(cells).strip() or len(cells) > 1:
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{path}: row {reader.line_num}: not valid CSV: {error}") from None
