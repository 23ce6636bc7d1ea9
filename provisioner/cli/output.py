"""What commands print: one JSON object, or a view for people, and progress on standard error."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_WIDTH = 132
"""Columns of a table that is not shown in a terminal."""


def show(record: dict[str, Any], view: RenderableType, *, as_json: bool) -> None:
    """Print a result: as JSON with the view on standard error, or the view alone."""
    if as_json:
        sys.stdout.write(json.dumps(record, allow_nan=False) + "\n")
        sys.stdout.flush()
    console(on_error=as_json).print(view)


def console(*, on_error: bool) -> Console:
    """A console on standard output or error, wide enough where it is not a terminal."""
    from rich.console import Console  # noqa: PLC0415 - costs start-up time

    stream = sys.stderr if on_error else sys.stdout
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


@contextlib.contextmanager
def progress(sentence: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with console(on_error=True).status(sentence) as status:
        yield lambda text: status.update(f"{sentence}: {text}")


def report_error(message: str, *, as_json: bool) -> None:
    """Print an error on standard error, and as JSON where that was asked for."""
    sys.stderr.write(f"provisioner: {message}\n")
    if as_json:
        sys.stdout.write(json.dumps({"status": "error", "message": message}) + "\n")
