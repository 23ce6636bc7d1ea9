"""``provisioner reproduce``: a published evaluation, made again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from provisioner.cli import options as o
from provisioner.cli.app import Force, Json
from provisioner.cli.output import counted_progress, say, show, uninterrupted

if TYPE_CHECKING:
    from provisioner.domain.reproduction import Reproduction

app = typer.Typer(name="reproduce", help="Published evaluations, made again.", no_args_is_help=True)


@app.command()
def splitwise(
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one per processor.")
    ] = None,
    out: o.Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make the evaluation of the Splitwise paper again, beside what it and its simulator report.

    Every published cluster is judged by the published simulator's rules and by measured token
    times, and the best of its design within the same budget is found. Takes minutes.
    """
    started = time.monotonic()
    if out is not None:
        from provisioner.reporting.files import make_way  # noqa: PLC0415
        from provisioner.reporting.reproduction import FILES  # noqa: PLC0415

        make_way(out, force=force, switch="--force", names=FILES)
    with counted_progress("reproducing") as moved_on:
        found = _reproduce(jobs or os.cpu_count() or 1, moved_on)
    with uninterrupted():
        if out is not None:
            from provisioner.reporting.reproduction import save_reproduction  # noqa: PLC0415

            save_reproduction(
                found, out, f"provisioner reproduce splitwise --out {out}", force=force
            )
        _show(found, as_json=as_json)
        if out is not None:
            say(f"written: {out}")
        say(f"{time.monotonic() - started:.0f} s")


def _reproduce(jobs: int, moved_on: Callable[[int, int, str], None]) -> Reproduction:
    from provisioner.reproduction.run import reproduce  # noqa: PLC0415
    from provisioner.simulation.compilation import COMPILING, compiled  # noqa: PLC0415

    if not compiled():
        say(COMPILING)
    return reproduce(jobs, moved_on)


def _show(found: Reproduction, *, as_json: bool) -> None:
    from provisioner.reporting.reproduction import reproduction_record  # noqa: PLC0415
    from provisioner.reporting.reproduction_tables import reproduction_view  # noqa: PLC0415

    show(reproduction_record(found), reproduction_view(found), as_json=as_json)
