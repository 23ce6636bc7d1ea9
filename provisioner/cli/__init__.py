"""The command line: parse, call, print. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from provisioner.cli import hardware, reproduce, workload
from provisioner.cli.app import app
from provisioner.cli.compare import compare
from provisioner.cli.output import abandon_streams, prepare_streams, report_error
from provisioner.cli.plan import plan
from provisioner.cli.simulate import simulate
from provisioner.errors import ProvisionerError

__all__ = ["main"]

app.command()(plan)
app.command()(simulate)
app.command()(compare)
app.add_typer(reproduce.app)
app.add_typer(hardware.app)
app.add_typer(workload.app)

_STOPPED, _INTERRUPTED = 5, 130
"""Our exit code of a stopped run, and what typer makes of Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors raised on purpose become one message and an exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.

    Raises
    ------
    SystemExit
        With the exit codes of DESIGN 7.2.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in words
    prepare_streams()
    try:
        code = _run(words)
    except ProvisionerError as error:
        report_error(str(error), as_json=as_json)
        code = error.exit_code
    except Exception as error:
        code = _refused(error, as_json=as_json)
    if code == _INTERRUPTED:
        report_error("stopped before an answer was found", as_json=as_json)
        code = _STOPPED
    raise SystemExit(code)


def _run(words: list[str]) -> int:
    """Run a command; a reader that has gone, of a help page for example, is no error."""
    try:
        return app(args=words, standalone_mode=False) or 0
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        abandon_streams()
        return 0


def _refused(error: Any, *, as_json: bool) -> int:
    """Explain how the command line was misused, or what the system refused.

    Any other error goes on its way.

    Typer brings its own copy of click, whose exceptions have no public name.
    """
    if isinstance(error, OSError):
        report_error(str(error), as_json=as_json)
        return ProvisionerError.exit_code
    if not hasattr(error, "format_message"):
        raise error
    try:
        error.show()
    except BrokenPipeError:
        abandon_streams()
    if as_json:
        report_error(error.format_message(), as_json=True, as_text=False)
    return int(error.exit_code)
