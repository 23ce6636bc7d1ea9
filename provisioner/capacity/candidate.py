"""Candidates: what the integer program may buy, with the coefficients of its rows.

A candidate is one deployment in one role. Where workloads have SLOs of different strictness, a
deployment is a candidate once per level: a pool held to the strictest may serve everything, one
held to a looser level only the workloads at that level or looser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provisioner.domain.base import Role
from provisioner.domain.machine import Machine
from provisioner.domain.workload import FloatArray
from provisioner.performance.deployment import Deployment


@dataclass(frozen=True)
class Tier:
    """A pool of at least ``low`` machines may fill this share of its time with prompts."""

    low: int
    headroom: float
    label: str = ""


@dataclass(frozen=True)
class Candidate:
    """One choice of the integer program.

    Attributes
    ----------
    name : str
        Name in the written model, for example ``prompt__dgx_h100__tp8``.
    serves : bool array
        Per class, whether the pool may serve it.
    prompt_s : float array
        Per class, instance-seconds of prompt work of one request (prompt and mixed roles).
    tiers : tuple of Tier
        Prompt headroom by pool size, lowest size first; a smaller pool cannot be bought.
    intercepts_s, slopes_s, context_s : float arrays, float
        Token iteration time ``max_i a_i + s_i B + c K`` (token and mixed roles).
    target_s : float
        Largest mean gap between tokens; infinite in the bounding program.
    kv_room_tokens, batch_limit : float
        Limits on the mean KV tokens and the mean batch of an instance.
    phases_share_time : bool
        Whether prompt and token work of a mixed pool exclude each other in time; the bounding
        program lets them overlap.
    limit_labels : dict
        What holds ``target_s`` or ``batch_limit`` where they are, for the table of what binds.
    """

    name: str
    role: Role
    deployment: Deployment
    serves: NDArray[np.bool_]
    prompt_s: FloatArray
    tiers: tuple[Tier, ...]
    intercepts_s: FloatArray
    slopes_s: FloatArray
    context_s: float
    target_s: float
    kv_room_tokens: float
    batch_limit: float
    phases_share_time: bool
    token_label: str = ""

    @property
    def machine(self) -> Machine:
        """Its machine type."""
        return self.deployment.machine

    @property
    def instances(self) -> int:
        """Instances per machine."""
        return self.deployment.instances_per_machine

    @property
    def handles_prompts(self) -> bool:
        """Whether the role does prompt work."""
        return self.role in (Role.PROMPT, Role.MIXED)

    @property
    def handles_tokens(self) -> bool:
        """Whether the role does token work."""
        return self.role in (Role.TOKEN, Role.MIXED)

    def headroom(self, machines: int) -> float:
        """Share of time that a pool of this size may fill with prompts; 0 where too small."""
        reached = [tier.headroom for tier in self.tiers if tier.low <= machines]
        return max(reached, default=0.0)


def candidate_name(role: Role, deployment: Deployment, level: int, levels: int) -> str:
    """Name of a candidate in the written model; the level only where there are several."""
    plain = deployment.machine.name.replace(".", "_dot_")  # box-1 and box.1 are two machines
    machine = "".join(c if c.isalnum() else "_" for c in plain)
    suffix = f"__slo{level}" if levels > 1 else ""
    return f"{role.value}__{machine}__tp{deployment.tensor_parallel}{suffix}"


def fits_memory(deployment: Deployment, longest_tokens: FloatArray) -> NDArray[np.bool_]:
    """Per class, whether its longest request fits an instance's KV room."""
    return longest_tokens <= deployment.kv_room_tokens
