"""A scenario's names to the records they mean; everything dangling is refused here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from provisioner.domain.case import Case
from provisioner.domain.designs import roles_of, types_of
from provisioner.domain.machine import Machine
from provisioner.domain.model import Model
from provisioner.domain.profile import Profile
from provisioner.domain.scenario import Override, Scenario, WorkloadEntry
from provisioner.domain.slo import Slo
from provisioner.domain.workload import LengthHistogram, Workload
from provisioner.errors import InputError, unknown_name
from provisioner.inputs import catalogue, hardware
from provisioner.inputs.scenarios import PROVENANCE
from provisioner.inputs.workloads import WORKLOADS, stream_of

DEFAULT_SLO = "splitwise"
FALLBACK_SLO = "interactive"
_FEW_REQUESTS = 100
"""The slowest of fewer requests is no estimate of a 99th percentile."""


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
    machines = hardware.price_machines(
        hardware.with_budgets(stored, price_list, scenario.hardware), price_list
    )
    _check_hardware_names(scenario, machines)
    _check_designs(scenario, machines)
    _check_bounded(scenario, machines)
    workloads, notes = _workloads(scenario, model, folder)
    references = _references(model, workloads)
    judged = tuple(machine for machine, _ in references.values())
    files = [
        *_hardware_files(scenario, model, machines + judged),
        *_workload_files(scenario, workloads, folder),
    ]
    return Case(
        scenario=scenario,
        model=model,
        price_list=price_list,
        machines=machines,
        profiles=_profiles(scenario, model, machines),
        references=references,
        workloads=workloads,
        files=_hashes(files),
        notes=(
            *_hiding_notes(files),
            *_limit_notes(scenario, machines),
            *_choice_notes(scenario),
            *notes,
        ),
    )


def _check_hardware_names(scenario: Scenario, machines: tuple[Machine, ...]) -> None:
    """Refuse limits and ownership of hardware that no chosen or stored machine type is."""
    chosen = {machine.hardware for machine in machines}
    named = (("limits.available", scenario.limits.available), ("existing", scenario.existing))
    others = [(where, name) for where, names in named for name in names if name not in chosen]
    if not others:
        return
    names = catalogue.stored(hardware.MACHINES)
    known = chosen | {hardware.read_machine(name).hardware for name in names}
    for where, name in others:
        if name not in known:
            raise unknown_name("hardware", name, known, where)


def _check_designs(scenario: Scenario, machines: tuple[Machine, ...]) -> None:
    """Refuse a design that prescribes a machine type which is no candidate."""
    chosen = [machine.name for machine in machines]
    for design in scenario.designs:
        for name in types_of(design):
            if name not in chosen:
                raise InputError(
                    f"designs: {design} needs {name}, which hardware does not name (it names "
                    f"{', '.join(chosen)})"
                )


def _check_bounded(scenario: Scenario, machines: tuple[Machine, ...]) -> None:
    """Refuse to maximise where some machine type can be had without end."""
    limits = scenario.limits
    if not scenario.maximize or limits.power_w or limits.machines or limits.rack_units:
        return
    for machine in machines:
        paid = limits.usd_per_hour is not None and machine.price_usd_per_hour > 0
        if not paid and machine.hardware not in limits.available:
            raise InputError(
                f"maximize {scenario.maximize} has no maximum: nothing limits {machine.name}; add "
                f"limits.available.{machine.hardware}, or limit money, power, machines or rack "
                "units"
            )


def _limit_notes(scenario: Scenario, machines: tuple[Machine, ...]) -> Iterator[str]:
    """Note limits that not even one machine keeps, and owned machines that are not chosen."""
    limits = scenario.limits
    smallest = {
        "usd_per_hour": min(machine.price_usd_per_hour for machine in machines),
        "power_w": min(machine.provisioned_power_w for machine in machines),
        "rack_units": min(machine.rack_units for machine in machines),
    }
    if any(scenario.existing.values()):
        del smallest["usd_per_hour"]  # owned machines need no money
    for key, least in smallest.items():
        limit = getattr(limits, key)
        if limit is not None and limit < least:
            yield (
                f"limits.{key} of {limit:g} is below the smallest machine's {least:g}; "
                "check the unit"
            )
    chosen = {machine.hardware for machine in machines}
    for name, count in scenario.existing.items():
        if count and name not in chosen:
            yield f"existing: {count} {name} stay unused, no machine type in hardware is one"


def _hiding_notes(files: list[Path]) -> Iterator[str]:
    """Note files of the working directory that hide a built-in one."""
    for path in dict.fromkeys(files):
        if catalogue.hides_built_in(path):
            yield f"{_shown(path)} of this directory takes the place of the built-in one"


def _choice_notes(scenario: Scenario) -> Iterator[str]:
    """Note stored machine types that nobody asked for or declined, and spares of unused roles."""
    if "hardware" not in scenario.model_fields_set:
        others = set(catalogue.stored(hardware.MACHINES)) - set(scenario.hardware_names)
        if others:
            yield f"not candidates, as hardware does not name them: {', '.join(sorted(others))}"
    roles = {role for design in scenario.designs for role in roles_of(design)}
    for role, count in scenario.spares.items():
        if count and role not in roles:
            yield f"spares: no design that is planned has machines in the {role.value} role"


def _profiles(
    scenario: Scenario, model: Model, machines: tuple[Machine, ...]
) -> dict[tuple[str, int], Profile]:
    """Profiles of every allowed (machine, tensor parallelism); each machine must have one."""
    found = {}
    for entry, machine in zip(scenario.hardware, machines, strict=True):
        measured, fitting = _measured(model, machine, entry)
        asked = fitting if scenario.tensor_parallel == "auto" else set(scenario.tensor_parallel)
        usable = sorted(fitting & asked)
        if not usable:
            raise InputError(
                f"tensor_parallel: {_listed(asked)} is not measured for {model.name} on "
                f"{machine.name} ({machine.accelerators} accelerators; measured: "
                f"{_listed(set(measured))})"
            )
        found.update({(machine.name, size): measured[size] for size in usable})
    if scenario.tensor_parallel != "auto":
        unused = set(scenario.tensor_parallel) - {size for _, size in found}
        if unused:
            raise InputError(
                f"tensor_parallel: {_listed(unused)} is not measured for {model.name} on any of "
                f"{', '.join(machine.name for machine in machines)}"
            )
    return found


def _measured(
    model: Model, machine: Machine, entry: str | Override, asked_by: str = ""
) -> tuple[dict[int, Profile], set[int]]:
    """Profiles of a machine type and the sizes it has enough accelerators for, at least one."""
    kind, count = (
        asked_by + hardware.place_of(entry, key) for key in ("accelerator", "accelerators")
    )
    profiles = hardware.read_profiles(model.name, machine.accelerator, kind)
    fitting = {size for size in profiles if size <= machine.accelerators}
    if not fitting:
        raise InputError(
            f"{count}: {machine.accelerators} in a {machine.name} are too few for {model.name}; "
            f"measured tensor parallelism: {_listed(set(profiles))}"
        )
    return profiles, fitting


def _listed(sizes: set[int]) -> str:
    return ", ".join(str(size) for size in sorted(sizes))


def _workloads(
    scenario: Scenario, model: Model, folder: Path
) -> tuple[tuple[Workload, ...], tuple[str, ...]]:
    workloads, notes = [], []
    for entry in scenario.workloads:
        stream = stream_of(entry, folder)
        choice = entry.slo if entry.slo is not None else scenario.slo
        slo = _slo(choice, model, f"workloads.{entry.name}.slo" if entry.slo else "slo")
        rate = stream.rate_per_s * scenario.growth
        workloads.append(
            Workload(entry.name, rate, stream.lengths, slo, stream.source, stream.trace)
        )
        notes += [*stream.notes, *_few_notes(entry, stream.lengths)]
    return tuple(workloads), tuple(notes)


def _few_notes(entry: WorkloadEntry, lengths: LengthHistogram) -> Iterator[str]:
    """Note that too few requests are known to tell how the next ones will be."""
    count = lengths.total_requests
    if entry.prompt_tokens is None and count < _FEW_REQUESTS:
        requests = "1 request" if count == 1 else f"{count} requests"
        yield (
            f"{entry.name}: planned from the lengths of only {requests}; percentiles of so few say "
            "little"
        )


def _slo(choice: str | Slo | None, model: Model, where: str) -> Slo:
    """Resolve an SLO; slowdowns without a reference are relative to the default's."""
    if choice is None:
        default = hardware.read_slo(DEFAULT_SLO)
        return default if _can_refer(default, model) else hardware.read_slo(FALLBACK_SLO)
    slo = hardware.read_slo(choice, where) if isinstance(choice, str) else choice
    if not slo.is_relative or slo.reference is not None:
        return slo
    reference = hardware.read_slo(DEFAULT_SLO).reference
    if reference is None:
        raise InputError(f"{where}: limits as slowdown need a reference machine; add reference")
    return slo.model_copy(update={"reference": reference})


def _can_refer(slo: Slo, model: Model) -> bool:
    """Whether the model was measured on the SLO's reference, or it needs none."""
    if not slo.is_relative:
        return True
    if slo.reference is None:
        return False
    reference = hardware.read_machine(slo.reference, f"slo {slo.name}: reference")
    return hardware.profile_paths(model.name, reference.accelerator) is not None


def _references(
    model: Model, workloads: tuple[Workload, ...]
) -> dict[str, tuple[Machine, Profile]]:
    """Find the reference machines of relative SLOs, at the largest measured tensor parallelism."""
    found = {}
    for slo in (workload.slo for workload in workloads):
        if slo.reference is None or not slo.is_relative:
            continue
        where = f"slo {slo.name}: reference"
        machine = hardware.read_machine(slo.reference, where)
        profiles, sizes = _measured(model, machine, slo.reference, f"{where}: ")
        found[slo.reference] = (machine, profiles[max(sizes)])
    return found


def _hardware_files(
    scenario: Scenario, model: Model, machines: tuple[Machine, ...]
) -> Iterator[Path]:
    yield catalogue.find(hardware.MODELS, "model", model.name)
    yield catalogue.find(hardware.PRICES, "price list", scenario.prices)
    for machine in machines:
        yield catalogue.find(hardware.MACHINES, "machine type", machine.name)
        yield from hardware.profile_paths(model.name, machine.accelerator) or ()


def _workload_files(
    scenario: Scenario, workloads: tuple[Workload, ...], folder: Path
) -> Iterator[Path]:
    for entry, workload in zip(scenario.workloads, workloads, strict=True):
        if entry.trace is not None:
            yield folder / entry.trace
        elif entry.prompt_tokens is None:
            description = catalogue.find(WORKLOADS, "workload", entry.name)
            yield from (description, description.with_suffix(".csv"))
        choice = entry.slo if entry.slo is not None else scenario.slo
        if not isinstance(choice, Slo):
            yield catalogue.find(hardware.SLOS, "SLO", workload.slo.name)


def _hashes(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file by its path; stored records relative to where they are stored."""
    hashes = {}
    for path in paths:
        with path.open("rb") as file:
            hashes[_shown(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return dict(sorted(hashes.items()))


def _shown(path: Path) -> str:
    return (catalogue.stored_as(path) or path.resolve()).as_posix()


def changed_files(data: Mapping[str, Any], files: dict[str, str]) -> list[str]:
    """Name the files that differ from those that a saved run's `inputs.yaml` was made with."""
    provenance = data.get(PROVENANCE)
    recorded = provenance.get("files_sha256") if isinstance(provenance, dict) else None
    if not isinstance(recorded, dict):
        return []
    return [
        f"{name} has changed since this run was saved"
        for name, digest in files.items()
        if name in recorded and recorded[name] != digest
    ]
