"""A scenario's names to the records they mean; everything dangling is refused here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from provisioner.domain.case import Case
from provisioner.domain.machine import Machine
from provisioner.domain.model import Model
from provisioner.domain.profile import Profile
from provisioner.domain.scenario import Scenario
from provisioner.domain.slo import Slo
from provisioner.domain.workload import Workload
from provisioner.errors import InputError, unknown_name
from provisioner.inputs import catalogue, hardware
from provisioner.inputs.workloads import WORKLOADS, lengths_and_rate

DEFAULT_SLO = "splitwise"
FALLBACK_SLO = "interactive"


def resolve(scenario: Scenario, folder: Path | None = None) -> Case:
    """Look up everything that a scenario names.

    Parameters
    ----------
    scenario : Scenario
    folder : Path, optional
        What relative trace paths are relative to; the working directory by default.

    Raises
    ------
    InputError
        Where a name does not exist or a file is wrong.
    """
    folder = folder or Path()
    model = hardware.read_model(scenario.model, "model")
    price_list = hardware.read_price_list(scenario.prices, "prices")
    stored = tuple(hardware.read_machine(entry, "hardware") for entry in scenario.hardware)
    machines = hardware.price_machines(stored, price_list)
    _check_hardware_names(scenario, machines)
    workloads, notes = _workloads(scenario, model, folder)
    return Case(
        scenario=scenario,
        model=model,
        price_list=price_list,
        machines=machines,
        profiles=_profiles(scenario, model, machines),
        references=_references(model, workloads),
        workloads=workloads,
        files=_hashes(_files(scenario, model, machines, workloads, folder)),
        notes=notes,
    )


def _check_hardware_names(scenario: Scenario, machines: tuple[Machine, ...]) -> None:
    """Refuse limits and ownership of hardware that no stored or chosen machine type is."""
    known = {machine.hardware for machine in machines}
    known |= {
        hardware.read_machine(name).hardware for name in catalogue.stored(hardware.MACHINES)
    }
    named = (("limits.available", scenario.limits.available), ("existing", scenario.existing))
    for where, names in named:
        for name in names:
            if name not in known:
                raise unknown_name("hardware", name, known, where)


def _profiles(
    scenario: Scenario, model: Model, machines: tuple[Machine, ...]
) -> dict[tuple[str, int], Profile]:
    """Profiles of every allowed (machine, tensor parallelism); each machine must have one."""
    found = {}
    for machine in machines:
        measured = hardware.read_profiles(model.name, machine.accelerator)
        fitting = {size for size in measured if size <= machine.accelerators}
        asked = fitting if scenario.tensor_parallel == "auto" else set(scenario.tensor_parallel)
        usable = sorted(fitting & asked)
        if not usable:
            raise InputError(
                f"tensor_parallel: {_listed(asked) or 'auto'} is not measured for {model.name} on "
                f"{machine.name} ({machine.accelerators} accelerators; measured: "
                f"{_listed(set(measured))})"
            )
        found.update({(machine.name, size): measured[size] for size in usable})
    return found


def _listed(sizes: set[int]) -> str:
    return ", ".join(str(size) for size in sorted(sizes))


def _workloads(
    scenario: Scenario, model: Model, folder: Path
) -> tuple[tuple[Workload, ...], tuple[str, ...]]:
    workloads, notes = [], []
    for entry in scenario.workloads:
        lengths, rate, source, remarks = lengths_and_rate(entry, folder)
        choice = entry.slo if entry.slo is not None else scenario.slo
        slo = _slo(choice, model, f"workloads.{entry.name}.slo" if entry.slo else "slo")
        workloads.append(Workload(entry.name, rate * scenario.growth, lengths, slo, source))
        notes += remarks
    return tuple(workloads), tuple(notes)


def _slo(choice: str | Slo | None, model: Model, where: str) -> Slo:
    """Resolve an SLO; slowdowns of an unnamed one are relative to the default's reference."""
    default = hardware.read_slo(DEFAULT_SLO)
    if choice is None:
        measured = hardware.profiled_accelerators(model.name)
        reference = hardware.read_machine(default.reference or "").accelerator
        return default if reference in measured else hardware.read_slo(FALLBACK_SLO)
    slo = hardware.read_slo(choice, where) if isinstance(choice, str) else choice
    if slo.is_relative and slo.reference is None:
        return slo.model_copy(update={"reference": default.reference})
    return slo


def _references(
    model: Model, workloads: tuple[Workload, ...]
) -> dict[str, tuple[Machine, Profile]]:
    """Reference machines of relative SLOs, at the largest measured tensor parallelism."""
    found = {}
    for slo in (workload.slo for workload in workloads):
        if slo.reference is None or not slo.is_relative:
            continue
        machine = hardware.read_machine(slo.reference, f"slo {slo.name}: reference")
        profiles = hardware.read_profiles(model.name, machine.accelerator)
        largest = max(size for size in profiles if size <= machine.accelerators)
        found[slo.reference] = (machine, profiles[largest])
    return found


def _files(
    scenario: Scenario,
    model: Model,
    machines: tuple[Machine, ...],
    workloads: tuple[Workload, ...],
    folder: Path,
) -> Iterator[Path]:
    yield catalogue.find(hardware.MODELS, "model", model.name)
    yield catalogue.find(hardware.PRICES, "price list", scenario.prices)
    for machine in machines:
        yield catalogue.find(hardware.MACHINES, "machine type", machine.name)
        yield from hardware.profile_paths(model.name, machine.accelerator) or ()
    for entry, workload in zip(scenario.workloads, workloads, strict=True):
        if entry.trace is not None:
            yield folder / entry.trace
        elif entry.prompt_tokens is None:
            description = catalogue.find(WORKLOADS, "workload", entry.name)
            yield from (description, description.with_suffix(".csv"))
        stored = catalogue.stored(hardware.SLOS)
        if workload.slo.name in stored:
            yield stored[workload.slo.name]


def _hashes(paths: Iterator[Path]) -> dict[str, str]:
    """SHA-256 of each file by its path, built-in ones relative to where they are stored."""
    hashes = {}
    for path in paths:
        with path.open("rb") as file:
            hashes[_shown(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return dict(sorted(hashes.items()))


def _shown(path: Path) -> str:
    for root in catalogue.roots():
        if path.resolve().is_relative_to(root):
            return path.resolve().relative_to(root).as_posix()
    return path.as_posix()
