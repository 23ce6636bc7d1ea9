"""CSV files to rows of text, and text to numbers, with errors that name file, row and column."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from provisioner.errors import InputError
from provisioner.inputs.yaml_files import read_text


@dataclass(frozen=True)
class Row:
    """One row of a CSV file; ``number`` counts as an editor does, the header being line 1."""

    path: Path
    number: int
    cells: dict[str, str]

    def fail(self, column: str, needed: str) -> InputError:
        """Make the error for a wrong cell."""
        found = self.cells.get(column, "")
        return InputError(f"{self.path}: row {self.number}: {column}: {needed}, found {found!r}")

    def text(self, column: str, allowed: tuple[str, ...] = ()) -> str:
        """Read a non-empty text, one of ``allowed`` where given."""
        value = self.cells[column].strip()
        if not value or (allowed and value not in allowed):
            raise self.fail(column, f"one of {', '.join(allowed)} is needed" if allowed else "empty")
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
        """Read a whole number that is at least ``at_least``."""
        value = self.number_of(column)
        if value != int(value) or value < at_least:
            raise self.fail(column, f"a whole number of at least {at_least} is needed")
        return int(value)


def read_rows(path: Path, columns: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of a CSV file that has exactly these columns.

    Raises
    ------
    InputError
        Where a column is missing, unknown or repeated, a row is too short or too long, or there
        is no row at all.
    """
    reader = csv.reader(io.StringIO(read_text(path)))
    header = [name.strip() for name in next(reader, [])]
    if sorted(header) != sorted(columns):
        raise InputError(
            f"{path}: the columns must be {', '.join(columns)}; found {', '.join(header) or 'none'}"
        )
    empty = True
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise InputError(
                f"{path}: row {reader.line_num}: {len(header)} cells needed, found {len(cells)}"
            )
        empty = False
        yield Row(path, reader.line_num, dict(zip(header, cells, strict=True)))
    if empty:
        raise InputError(f"{path}: no rows")
