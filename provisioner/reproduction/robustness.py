"""Clusters of the paper under traffic, or with a model, that they were not chosen for.

Machines of both pools help each other out here (`mixed-pool`), as in the paper: that is what makes
its clusters robust.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from provisioner.domain.base import Role
from provisioner.domain.reproduction import Changed, Published
from provisioner.inputs.resolve import resolve
from provisioner.reproduction.compatible import CompatibleJudge
from provisioner.reproduction.published import (
    CODING,
    CONVERSATION,
    FIXED_RATE_PER_S,
    ISO_POWER,
    MODEL,
    counts_of,
    is_baseline,
    pools_of,
    published_cluster,
    published_clusters,
)
from provisioner.reproduction.questions import scenario
from provisioner.search.headroom import highest_rate

OTHER_MODEL = "llama2-70b"


@dataclass(frozen=True)
class Change:
    """A published cluster, and the model that it is to serve with conversations."""

    cluster: Published
    model: str


def changes() -> Iterator[Change]:
    """Conversations on clusters chosen for coding; another model on those for conversations."""
    for cluster in published_clusters():
        if cluster.question != ISO_POWER:
            continue
        if cluster.workload == CODING and not is_baseline(cluster.design):
            yield Change(cluster, MODEL)
        elif cluster.workload == CONVERSATION:
            yield Change(cluster, OTHER_MODEL)


def changed(change: Change) -> Changed:
    """Find the highest rates of a cluster under a change, by both rules."""
    cluster, model = change.cluster, change.model
    own: tuple[float | None, float | None] = (None, None)
    if model == MODEL:
        own = _rates(published_cluster(ISO_POWER, CONVERSATION, cluster.design), model)
    compatible, measured = _rates(cluster, model)
    return Changed(
        design=cluster.design,
        prompt_machines=cluster.prompt_machines,
        token_machines=cluster.token_machines,
        chosen_for=f"{cluster.workload}, {MODEL}",
        model=model,
        workload=CONVERSATION,
        compatible_rate_per_s=compatible or 0.0,
        measured_rate_per_s=measured,
        own_compatible_rate_per_s=own[0],
        own_measured_rate_per_s=own[1],
    )


def _rates(cluster: Published, model: str) -> tuple[float | None, float | None]:
    """Highest rates with conversations: in compatible mode, and by measured token times."""
    counts = counts_of(cluster)
    judge = CompatibleJudge(CONVERSATION, cluster.design, model)
    compatible = judge.highest(counts, cluster.simulator_rate_per_s or FIXED_RATE_PER_S)
    given = scenario(CONVERSATION, FIXED_RATE_PER_S, model)
    if not is_baseline(cluster.design):
        given = given.model_copy(update={"scheduler": "mixed-pool"})
    case = resolve(given)
    sizes = {machine.name: machine.accelerators for machine in case.machines}
    pools = pools_of(cluster.design, counts)
    working = [(Role(role), name, sizes[name], n) for (role, name), n in pools.items()]
    return compatible, highest_rate(case, working)
