"""What commands print: one JSON object, or a view for people, and progress on standard error."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from provisioner.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_WIDTH, _LEAST_WIDTH = 132, 80
"""Columns where nothing says how many there are, and the fewest that a table is squeezed into."""


def show(record: dict[str, Any], view: RenderableType, *, as_json: bool) -> None:
    """Print a result: as JSON with the view on standard error, or the view alone.

    Raises
    ------
    InputError
        Where standard output cannot be written, a full disk for example; a reader that has gone
        is no error.
    """
    if as_json:
        _write(sys.stdout, json.dumps(record, allow_nan=False) + "\n")
    stream = sys.stderr if as_json else sys.stdout
    _write(stream, _drawn(view, console(stream)))


def console(stream: TextIO) -> Console:
    """A console on a stream, as wide as the terminal or as ``COLUMNS`` says, if anything does."""
    from rich.console import Console  # noqa: PLC0415 - costs start-up time

    screen = Console(
        file=stream,
        color_system=None if _is_plain() else "auto",
        highlight=False,
        emoji=False,
        markup=False,
    )
    is_known = stream.isatty() or _is_width(os.environ.get("COLUMNS", ""))
    screen.width = max(screen.width, _LEAST_WIDTH) if is_known else _WIDTH
    return screen


def _is_plain() -> bool:
    """Whether only text is wanted (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def _is_width(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


def _drawn(view: RenderableType, screen: Console) -> str:
    """What a console would write; writing is left to us, who know what a failure means."""
    from rich.console import Console  # noqa: PLC0415

    paper = Console(
        file=io.StringIO(),
        width=screen.width,
        force_terminal=screen.is_terminal,
        color_system=screen.color_system,  # type: ignore[arg-type] # a name, declared as any text
        no_color=screen.no_color,
        highlight=False,
        emoji=False,
        markup=False,
    )
    paper.print(view, crop=False)
    assert isinstance(paper.file, io.StringIO)
    return paper.file.getvalue()


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _abandon(stream)
    except OSError as error:
        _abandon(stream)
        raise InputError(f"the output cannot be written: {error.strerror}") from None


def _abandon(stream: TextIO) -> None:
    """Let what is left in the stream's buffer go nowhere, so that nothing fails at exit."""
    with contextlib.suppress(io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def abandon_streams() -> None:
    """Print nothing more: nobody reads it."""
    _abandon(sys.stdout)
    _abandon(sys.stderr)


def prepare_streams() -> None:
    """Make the standard streams take anything.

    What their encoding lacks is written as an escape instead of failing; a stream that was closed
    before the start goes nowhere.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def progress(sentence: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done on standard error, where that is a terminal that may be drawn on."""
    if not sys.stderr.isatty() or _is_plain():
        yield lambda _: None
        return
    with console(sys.stderr).status(sentence) as status:
        yield lambda text: status.update(f"{sentence}: {text}")


@contextlib.contextmanager
def counted_progress(sentence: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show how much of a known number of parts is done, as `progress` does."""
    if not sys.stderr.isatty() or _is_plain():
        yield lambda *_: None
        return
    from rich.progress import (  # noqa: PLC0415 - costs start-up time
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    text = TextColumn("{task.description}")
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task(sentence, total=None)
        yield lambda done, total, last: bar.update(
            task, completed=done, total=total, description=f"{sentence}: {last}"
        )


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Finish what takes but a moment: writing the files of an answer, and saying so.

    Whoever stops the command then finds either nothing or all of it, and the exit code says which.
    """
    known = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        known = []  # signals do not come here, nor may they be set
    former = {number: signal.signal(number, signal.SIG_IGN) for number in known}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def say(message: str) -> None:
    """Print a remark for people, on standard error."""
    _write(sys.stderr, f"{message}\n")


def report_error(message: str, *, as_json: bool, as_text: bool = True) -> None:
    """Print an error on standard error, and as JSON where that was asked for."""
    if as_text:
        _write(sys.stderr, f"provisioner: {message}\n")
    if as_json:
        _write(sys.stdout, json.dumps({"status": "error", "message": message}) + "\n")
