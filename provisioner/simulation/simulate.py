"""Run one simulation: a cluster, requests and rules in, records out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from provisioner.domain.workload import FloatArray, IntArray
from provisioner.metrics import e2e, tbt, ttft
from provisioner.simulation.cluster import MachineFailure, Requests, SimulatedPool, new_state
from provisioner.simulation.engine import loop
from provisioner.simulation.engine.state import COUNTERS, State
from provisioner.simulation.rules import Rules


@dataclass(frozen=True)
class Records:
    """What happened to each request; times in seconds since the start, infinite where it never did.

    ``ready_s`` is when its KV-cache had reached the token machine, ``token_start_s`` the start of
    the iteration that made its second token; instances are numbered through the pools. A request
    that restarted after a failure has the times of its last attempt, but arrived when it did first.
    """

    arrival_s: FloatArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    prompt_start_s: FloatArray
    first_token_s: FloatArray
    ready_s: FloatArray
    token_start_s: FloatArray
    finish_s: FloatArray
    prompt_instance: IntArray
    token_instance: IntArray
    restarts: IntArray

    @property
    def ttft_s(self) -> FloatArray:
        """Time to the first token."""
        return ttft.measure(self)

    @property
    def e2e_s(self) -> FloatArray:
        """Time to the last token."""
        return e2e.measure(self)

    @property
    def tbt_s(self) -> FloatArray:
        """Mean time between tokens of each request; NaN for outputs of one token."""
        return tbt.measure(self)

    @property
    def queue_s(self) -> FloatArray:
        """Time from arrival to the start of the prompt."""
        return self.prompt_start_s - self.arrival_s

    @property
    def transfer_s(self) -> FloatArray:
        """Time that the KV-cache's transfer added after the prompt."""
        added = np.full(len(self.ready_s), np.inf)
        done = np.isfinite(self.ready_s)
        np.subtract(self.ready_s, self.first_token_s, out=added, where=done)
        return added


@dataclass(frozen=True)
class Run:
    """A finished simulation; ``window_s`` is from when until when pools were measured."""

    records: Records
    state: State
    window_s: tuple[float, float]

    @property
    def counters(self) -> dict[str, int]:
        """How often each mechanism was at work."""
        return dict(zip(COUNTERS, self.state.counters.tolist(), strict=True))


def simulate(
    pools: tuple[SimulatedPool, ...],
    requests: Requests,
    rules: Rules,
    window_s: tuple[float, float] = (0.0, np.inf),
    failures: tuple[MachineFailure, ...] = (),
) -> Run:
    """Simulate until every request is done, or nothing moves any more.

    Each phase needs an instance of its role that does not fail, which is not checked here; a
    request that is longer than the KV room of its instance never finishes.
    """
    state = new_state(pools, requests, rules, window_s, failures)
    loop.run(state)
    return Run(records_of(state), state, window_s)


def records_of(state: State) -> Records:
    """Columns of the engine's rows: views, since fresh memory costs more than striding does."""
    requests = state.requests
    return Records(
        arrival_s=requests["arrival_s"],
        prompt_tokens=requests["prompt_tokens"],
        output_tokens=requests["output_tokens"],
        prompt_start_s=requests["prompt_start_s"],
        first_token_s=requests["first_token_s"],
        ready_s=requests["ready_s"],
        token_start_s=requests["token_start_s"],
        finish_s=requests["finish_s"],
        prompt_instance=requests["prompt_at"],
        token_instance=requests["token_at"],
        restarts=requests["restarts"],
    )
