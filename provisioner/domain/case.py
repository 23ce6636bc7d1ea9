"""A case: a scenario with every name resolved to the record it means."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner.domain.machine import Machine, PriceList
from provisioner.domain.model import Model
from provisioner.domain.profile import Profile
from provisioner.domain.scenario import Scenario
from provisioner.domain.workload import Workload


@dataclass(frozen=True)
class Case:
    """Input of a run.

    Attributes
    ----------
    scenario : Scenario
        What was asked.
    model, price_list : Model, PriceList
    machines : tuple of Machine
        Candidates, priced.
    profiles : dict
        Measured points by (machine name, tensor parallelism); only sizes that may be used.
    references : dict
        By name of an SLO's reference machine: the machine and its profile at the largest
        tensor parallelism.
    workloads : tuple of Workload
    files : dict
        Path to SHA-256 of every file that was read.
    notes : tuple of str
        What was assumed while resolving, for the result's warnings.
    """

    scenario: Scenario
    model: Model
    price_list: PriceList
    machines: tuple[Machine, ...]
    profiles: dict[tuple[str, int], Profile]
    references: dict[str, tuple[Machine, Profile]]
    workloads: tuple[Workload, ...]
    files: dict[str, str]
    notes: tuple[str, ...]
