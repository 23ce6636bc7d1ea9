"""The command line: parse, call, print. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys

from provisioner.cli import hardware, workload
from provisioner.cli.app import app
from provisioner.cli.output import report_error
from provisioner.cli.plan import plan
from provisioner.errors import ProvisionerError

__all__ = ["main"]

app.command()(plan)
app.add_typer(hardware.app)
app.add_typer(workload.app)

_STOPPED = 5


def main() -> None:
    """Run the command line; errors raised on purpose become one message and an exit code."""
    try:
        app()
    except ProvisionerError as error:
        report_error(str(error), as_json="--json" in sys.argv)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        report_error("stopped before any plan was found", as_json="--json" in sys.argv)
        raise SystemExit(_STOPPED) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
