"""Waiting times of a prompt pool: an M/G/m queue with an exponential tail.

``P(W > t) = C(m, rho) exp(-t / w)`` with Erlang's C and the mean wait of those who wait
``w = E[S^2] / (2 E[S] m (1 - rho))``; exact for exponential service (C. Lee and Longton's
approximation otherwise).

Not modelled: prompts that share a batch (they make a nearly full pool faster than estimated),
and routing without a common queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from provisioner.performance.piecewise import FloatArray

MAX_SERVERS = 256
"""Larger pools are taken for pools of this size: the estimate stays on the safe side."""
LOADS = np.arange(1, 200) / 200
"""Utilisations at which headrooms are looked for."""


def erlang_c(servers: int, load: ArrayLike) -> FloatArray:
    """Probability that a request waits in M/M/m at utilisation ``load`` below 1."""
    rho = np.asarray(load, dtype=float)
    offered = rho * servers
    blocked = np.ones_like(offered)
    for m in range(1, servers + 1):
        blocked = offered * blocked / (m + offered * blocked)
    return np.asarray(blocked / (1 - rho * (1 - blocked)))


@lru_cache(maxsize=512)
def erlang_c_at_loads(servers: int) -> FloatArray:
    """`erlang_c` at all of `LOADS`."""
    return erlang_c(servers, LOADS)


@dataclass(frozen=True)
class Wait:
    """Distribution of the wait: ``P(W > t) = probability * exp(-t / mean_s)`` for t >= 0."""

    probability: float
    mean_s: float

    def at_most(self, seconds: FloatArray) -> FloatArray:
        """P(W <= t); 0 for negative t."""
        later = self.probability * np.exp(-np.maximum(seconds, 0.0) / max(self.mean_s, 1e-12))
        return np.where(seconds < 0, 0.0, 1 - later)


def wait(servers: int, load: float, service_s: float, service_sq_s: float) -> Wait:
    """Wait in a pool of ``servers`` at utilisation ``load``, from the moments of service time."""
    if load <= 0:
        return Wait(0.0, 0.0)
    m = min(servers, MAX_SERVERS)
    mean_s = service_sq_s / (2 * service_s) / (m * (1 - load))
    return Wait(float(erlang_c(m, load)), mean_s)
