"""From a scenario and a cluster that somebody named to what a simulation says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from provisioner.domain.case import Case
from provisioner.domain.cluster import NamedCluster, Simulated
from provisioner.domain.failure import Failure
from provisioner.domain.scenario import Scenario, Simulation
from provisioner.errors import UsageError, unknown_name
from provisioner.inputs.clusters import completed, scenario_for
from provisioner.inputs.resolve import resolve
from provisioner.search.compatible import NAME, simulate_compatible
from provisioner.search.judged import Traffic, simulate_cluster, window_s
from provisioner.simulation.compilation import COMPILING, compiled


def simulate(
    scenario: Scenario,
    cluster: NamedCluster,
    traffic: Traffic = "scenario",
    chunk_tokens: int | None = None,
    compatible: str | None = None,
    failures: tuple[Failure, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Simulated, Case]:
    """Judge a cluster on a scenario's traffic, by our own rules or another simulator's.

    Parameters
    ----------
    progress : callable, optional
        Called with a sentence before what takes long.

    Returns
    -------
    Simulated
    Case
        What it was simulated for, with the judged time of whole traces filled in.

    Raises
    ------
    InputError
        Where a name does not exist, a file is wrong, or the cluster is none.
    UsageError
        Where options contradict each other.
    """
    if compatible not in (None, NAME):
        raise unknown_name("simulator", compatible, [NAME], "compatible")
    case = settled(resolve(scenario_for(scenario, cluster)), traffic)
    cluster = completed(case, cluster)
    if compatible:
        if chunk_tokens is not None:
            raise UsageError(f"chunk_tokens: {NAME} does no prompts in chunks")
        if failures:
            raise UsageError(f"failures: no machine fails in {NAME}")
        return simulate_compatible(case, cluster, traffic), case
    if not compiled():
        progress(COMPILING)
    return simulate_cluster(case, cluster, traffic, chunk_tokens, failures), case


def settled(case: Case, traffic: Traffic) -> Case:
    """The case whose scenario says how its traffic is judged, whole traces included."""
    simulation = case.scenario.simulation
    if traffic == "whole":
        warmup_s, duration_s = window_s(case, traffic)
        simulation = Simulation(
            duration_s=duration_s, warmup_s=warmup_s, seeds=1, arrivals="replay"
        )
    elif traffic == "windows":
        simulation = simulation.model_copy(update={"arrivals": "replay"})
    return replace(case, scenario=case.scenario.model_copy(update={"simulation": simulation}))
