"""How requests are scheduled and routed in a simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from provisioner.domain.workload import FloatArray

Scheduler = Literal["colocated", "split", "mixed-pool"]
Router = Literal["expected-finish", "shortest-queue", "plan-shares"]
SCHEDULERS = ("colocated", "split", "mixed-pool")
ROUTERS = ("expected-finish", "shortest-queue", "plan-shares")
MOST_WAITING_TOKENS = 8192
"""Prompt tokens pending beyond which a machine with a queue takes no more, in a mixed pool."""


@dataclass(frozen=True)
class Rules:
    """Scheduler, router and their numbers.

    Attributes
    ----------
    chunk_tokens : int, optional
        Colocated machines do prompts in chunks, so that a batch has at most so many tokens.
    shares : float array, pools x request classes, optional
        For `plan-shares`: the share of a class that each pool serves in its role.
    """

    scheduler: Scheduler
    router: Router = "expected-finish"
    chunk_tokens: int | None = None
    most_waiting_tokens: int = MOST_WAITING_TOKENS
    shares: FloatArray | None = None

    @property
    def scheduler_number(self) -> int:
        """Number by which the engine knows the scheduler."""
        return SCHEDULERS.index(self.scheduler)

    @property
    def router_number(self) -> int:
        """Number by which the engine knows the router."""
        return ROUTERS.index(self.router)
