"""Machine types and validations as records and tables."""

from __future__ import annotations

import itertools
from typing import Any

from rich.console import Group, RenderableType

from provisioner.domain.machine import Machine, PriceList
from provisioner.errors import unknown_name
from provisioner.inputs import hardware
from provisioner.performance.validation import Errors, PhaseValidation, validate
from provisioner.reporting.records import Record
from provisioner.reporting.tables import line, records_view

LIST_COLUMNS = {
    "name": "name",
    "accelerators": ">count",
    "accelerator": "accelerator",
    "usd_per_hour": ">$/h",
    "provisioned_power_w": ">provisioned W",
    "idle_power_w": ">idle W",
    "rack_units": ">U",
    "measured_models": "measured models",
}
_VALIDATION_COLUMNS = {
    "profile": "profile",
    "phase": "phase",
    "runs": ">runs",
    "held_out_mean": ">held out, mean",
    "held_out_worst": ">worst",
    "left_out_mean": ">cell left out, mean",
    "left_out_worst": ">worst",
    "left_out_extrapolated": ">extrapolated",
    "repeat_spread": ">repeats spread",
}


def machine_record(machine: Machine, prices: PriceList) -> Record:
    """One machine type; its price is null where the list has none."""
    rents = {price.hardware: price.usd_per_hour for price in prices.prices}
    stated = machine.usd_per_hour
    return {
        "name": machine.name,
        "hardware": machine.hardware,
        "accelerator": machine.accelerator,
        "accelerators": machine.accelerators,
        "memory_bytes": machine.accelerators * machine.accelerator_memory_bytes,
        "network_bytes_per_s": machine.network_bytes_per_s,
        "usd_per_hour": rents.get(machine.hardware) if stated is None else stated,
        "provisioned_power_w": machine.provisioned_power_w,
        "idle_power_w": machine.server_idle_power_w
        + machine.accelerators * machine.accelerator_idle_power_w,
        "rack_units": machine.rack_units,
        "measured_models": ", ".join(_measured(machine)),
    }


def _measured(machine: Machine) -> list[str]:
    return [
        f"{model} (tp {', '.join(str(size) for size in sizes)})"
        for model in hardware.model_names()
        if machine.accelerator in hardware.profiled_accelerators(model)
        for sizes in [hardware.read_profiles(model, machine.accelerator)]
    ]


def machine_details(machine: Machine, prices: PriceList) -> Record:
    """One machine type with the source of every figure and its price in every list."""
    fields = machine.model_dump(mode="json", exclude={"sources", "usd_per_hour"})
    figures = [
        {
            "figure": key,
            "value": fields[key],
            "quality": origin.quality.value,
            "source": origin.source,
        }
        for key, origin in machine.origins.items()
    ]
    return {
        **machine_record(machine, prices),
        "price_list": prices.name,
        "prices": _all_prices(machine),
        "figures": figures,
        "cap": fields["cap"],
    }


def _all_prices(machine: Machine) -> list[Record]:
    return [
        {"list": name, **price.model_dump(mode="json", exclude={"hardware"})}
        for name in hardware.price_list_names()
        for price in hardware.read_price_list(name).prices
        if price.hardware == machine.hardware
    ]


def details_view(record: Record) -> RenderableType:
    """Tables of one machine type."""
    nested = {"prices", "figures", "cap"}
    facts = [{"key": k, "value": v} for k, v in record.items() if k not in nested]
    parts = [records_view(record["name"], {"key": "", "value": ""}, facts)]
    price_columns = {
        "list": "list",
        "usd_per_hour": ">$/h",
        "sku": "offer",
        "date": "date",
        "certainty": "certainty",
        "source": "source",
    }
    parts.append(records_view("Prices", price_columns, record["prices"]))
    figure_columns = {
        "figure": "figure",
        "value": ">value",
        "quality": "quality",
        "source": "source",
    }
    parts.append(records_view("Figures", figure_columns, record["figures"]))
    if record["cap"]:
        columns = {
            "phase": "phase",
            "load": ">load",
            "factor": ">times as long",
            "quality": "quality",
            "source": "source",
        }
        title = f"Power cap of {record['cap']['of']}"
        parts.append(records_view(title, columns, record["cap"]["stretch"]))
    return Group(*parts)


def validations(model: str | None, seed: int) -> list[Record]:
    """Errors of every profile and phase, of one model or all.

    Raises
    ------
    InputError
        Where there is no such model.
    """
    models = hardware.model_names()
    if model is not None and model not in models:
        raise unknown_name("model", model, models)
    return [
        record
        for name in ([model] if model else models)
        for accelerator in hardware.profiled_accelerators(name)
        for profile in hardware.read_profiles(name, accelerator).values()
        for record in _validation_records(validate(profile, seed))
    ]


def _validation_records(result: Any) -> list[Record]:
    return [
        {
            "name": f"{result.profile}/{part.phase.value}",
            "profile": result.profile,
            **_phase_record(part),
            "dropped": [text for text in result.dropped if text.startswith(part.phase.value)],
        }
        for part in (result.prompt, result.token)
    ]


def _phase_record(part: PhaseValidation) -> Record:
    return {
        "phase": part.phase.value,
        "cells": part.cells,
        "runs": part.runs,
        **_errors("held_out", part.held_out),
        **_errors("left_out", part.left_out),
        "repeat_spread": part.repeat_spread,
        "repairs": list(part.repairs),
    }


def _errors(prefix: str, errors: Errors | None) -> Record:
    if errors is None:
        return dict.fromkeys(
            (f"{prefix}_mean", f"{prefix}_worst", f"{prefix}_count", f"{prefix}_extrapolated")
        )
    return {
        f"{prefix}_mean": errors.mean,
        f"{prefix}_worst": errors.worst,
        f"{prefix}_count": errors.predictions,
        f"{prefix}_extrapolated": errors.extrapolated,
    }


def validation_view(items: list[Record]) -> RenderableType:
    """Table of errors, then what was dropped and repaired."""
    rows = [
        {key: _share(item[key]) if key in _SHARES else item[key] for key in _VALIDATION_COLUMNS}
        for item in items
    ]
    title = "Relative error of the fitted curves on runs they were not fitted to"
    lists = itertools.chain.from_iterable(
        [f"- {item['profile']}: dropped: {text}" for text in item["dropped"]]
        + [f"- {item['name']}: repaired: {text}" for text in item["repairs"]]
        for item in items
    )
    return Group(
        records_view(title, _VALIDATION_COLUMNS, rows),
        line("Dropped and repaired points", style="bold"),
        *(line(sentence) for sentence in lists),
    )


_SHARES = frozenset(
    {"held_out_mean", "held_out_worst", "left_out_mean", "left_out_worst", "repeat_spread"}
)


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.2%}"
