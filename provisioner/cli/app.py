"""The root of the command line and what its commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="provisioner",
    help="Plan which machines to buy or rent for large-language-model inference.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change any input by its dotted key, for example hardware.dgx-h100.usd_per_hour=30; "
        "the value is YAML. May be repeated.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what exists.")]


def path(text: str) -> Path:
    """Read a path from the command line; Python would take an empty one for this directory."""
    if not text.strip():
        raise typer.BadParameter("a path is needed, found nothing.")
    return Path(text)


def _version(asked: bool) -> None:
    if asked:
        from provisioner import __version__  # noqa: PLC0415 - lazy, as everything here

        typer.echo(f"provisioner {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Plan which machines to buy or rent for large-language-model inference."""
