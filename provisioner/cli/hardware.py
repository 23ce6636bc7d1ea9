"""``provisioner hardware``: machine types, their prices and how well their profiles predict."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from provisioner.cli.app import CONTEXT, Changes, Json
from provisioner.cli.output import show

app = typer.Typer(
    name="hardware",
    help="Machine types, prices and measured profiles.",
    no_args_is_help=True,
    context_settings=CONTEXT,
)

Prices = Annotated[
    str | None, typer.Option("--prices", metavar="NAME", help="The price list to use.")
]


@app.command("list")
def list_(prices: Prices = None, changes: Changes = None, as_json: Json = False) -> None:
    """List all machine types with price, power and size."""
    from provisioner.reporting import hardware  # noqa: PLC0415 - loaded when needed
    from provisioner.reporting.tables import records_view  # noqa: PLC0415

    machines, price_list = _machines(prices, changes)
    items = [hardware.machine_record(machine, price_list) for machine in machines]
    view = records_view(f"Machine types, prices {price_list.name}", hardware.LIST_COLUMNS, items)
    show({"items": items}, view, as_json=as_json)


@app.command("show")
def show_(
    name: Annotated[str, typer.Argument(help="A machine type.")],
    prices: Prices = None,
    changes: Changes = None,
    as_json: Json = False,
) -> None:
    """Show one machine type: every figure with its source, all prices, measured models."""
    from provisioner.errors import unknown_name  # noqa: PLC0415
    from provisioner.reporting import hardware  # noqa: PLC0415

    machines, price_list = _machines(prices, changes)
    by_name = {machine.name: machine for machine in machines}
    if name not in by_name:
        raise unknown_name("machine type", name, by_name)
    record = hardware.machine_details(by_name[name], price_list)
    show(record, hardware.details_view(record), as_json=as_json)


@app.command()
def validate(
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Only this model's profiles.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the runs that are held out.")] = 0,
    as_json: Json = False,
) -> None:
    """Predict measured runs that the curves were not fitted to, and print the errors."""
    from provisioner.reporting import hardware  # noqa: PLC0415

    items = hardware.validations(model, seed)
    show({"items": items}, hardware.validation_view(items), as_json=as_json)


def _machines(prices: str | None, changes: list[str] | None) -> Any:
    """Every stored machine type with the changes applied, and the price list."""
    from provisioner.domain.scenario import DEFAULT_PRICES  # noqa: PLC0415
    from provisioner.inputs import hardware, scenarios  # noqa: PLC0415

    data: dict[str, Any] = {
        "workloads": [{"name": "none", "prompt_tokens": 1, "output_tokens": 1, "rate_per_s": 1}],
        "hardware": hardware.machine_names(),
        "prices": DEFAULT_PRICES if prices is None else prices,
    }
    changed = scenarios.apply_changes(data, scenarios.parse_changes(changes or []))
    scenario = scenarios.parse_scenario(changed, "hardware")
    machines = tuple(hardware.read_machine(entry, "hardware") for entry in scenario.hardware)
    price_list = hardware.read_price_list(scenario.prices, "prices")
    return hardware.with_budgets(machines, price_list, scenario.hardware), price_list
