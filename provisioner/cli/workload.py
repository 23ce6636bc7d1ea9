"""``provisioner workload``: stored length histograms, and new ones from traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provisioner.cli.app import CONTEXT, Force, Json, path
from provisioner.cli.output import progress, show, uninterrupted

app = typer.Typer(
    name="workload",
    help="Stored workloads, and new ones from traces.",
    no_args_is_help=True,
    context_settings=CONTEXT,
)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List all stored workloads."""
    from provisioner.inputs.workloads import read_length_record, workload_names  # noqa: PLC0415
    from provisioner.reporting import workload  # noqa: PLC0415
    from provisioner.reporting.tables import records_view  # noqa: PLC0415

    records = [read_length_record(name) for name in workload_names()]
    items = [workload.workload_record(record) for record in records]
    view = records_view("Workloads", workload.LIST_COLUMNS, items)
    show({"items": items}, view, as_json=as_json)


@app.command("show")
def show_(
    name: Annotated[str, typer.Argument(help="A stored workload.")], as_json: Json = False
) -> None:
    """Show one workload: source, rates, percentiles of its lengths, and request classes."""
    from provisioner.inputs.workloads import read_length_record  # noqa: PLC0415
    from provisioner.reporting import workload  # noqa: PLC0415

    record = workload.workload_details(read_length_record(name))
    show(record, workload.details_view(record), as_json=as_json)


@app.command("import")
def import_(
    trace: Annotated[Path, typer.Argument(help="A trace in any known format.", parser=path)],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the workload.")],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a stored workload from a trace, in one pass, as workloads/NAME in this folder."""
    from provisioner.inputs import workloads  # noqa: PLC0415
    from provisioner.reporting import workload  # noqa: PLC0415

    folder = Path(workloads.WORKLOADS)
    workloads.refuse_existing(name, folder, force=force)
    with progress(f"reading {trace}"):
        record = workloads.import_trace(trace, name)
    details = workload.workload_details(record)
    with uninterrupted():
        workloads.write_length_record(record, folder, force=force)
        show(details, workload.details_view(details), as_json=as_json)
