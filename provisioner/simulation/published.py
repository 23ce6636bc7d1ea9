"""The compatible mode: the simulator published with Splitwise, repeated rule by rule.

It serves to compare with figures that were made with that simulator (commit 8f99e7d) and for
nothing else; DESIGN 3 says what is wrong with its physics. Two of its defects end a run there and
are refused here: outputs of one token, and arrivals from the end of the simulated day on. A
request that arrives at time 0, which its loader does not survive, is served.

Of 51 runs of that simulator 47 are repeated to the six printed digits, counts of iterations and
pre-emptions included. In the other four, all saturated and with batches that KV memory holds back,
percentiles differ by up to 4 %; which rule differs there is not known.

Events at equal times happen in the order in which they were foreseen; there they have no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from provisioner.domain.workload import FloatArray, IntArray
from provisioner.simulation.published_batch import Request
from provisioner.simulation.published_cluster import END_S, Cluster, Counters, PublishedPools
from provisioner.simulation.published_machine import PublishedMachine

__all__ = ["PublishedMachine", "PublishedPools", "PublishedRecords", "simulate_published"]


@dataclass(frozen=True)
class PublishedRecords:
    """What became of every request, in order of arrival; times in s since the trace's start.

    Attributes
    ----------
    arrival_s : float array
        Arrival.
    output_tokens : int array
        Tokens made, the first included.
    prompt_start_s, first_token_s : float arrays
        Start and end of the iteration with the prompt.
    token_start_s : float array
        Start of the first iteration of the tokens after the first.
    finish_s : float array
        Last token. This and the times before are NaN where a request did not come that far.
    prompt_machine, token_machine : int arrays
        Places in the list of machines.
    counters : Counters
        Totals of the run.
    """

    arrival_s: FloatArray
    output_tokens: IntArray
    prompt_start_s: FloatArray
    first_token_s: FloatArray
    token_start_s: FloatArray
    finish_s: FloatArray
    prompt_machine: IntArray
    token_machine: IntArray
    counters: Counters


def simulate_published(
    arrival_s: ArrayLike,
    prompt_tokens: ArrayLike,
    output_tokens: ArrayLike,
    machines: Sequence[PublishedMachine],
    pools: PublishedPools,
) -> PublishedRecords:
    """Replay a trace on a cluster until all is served or a day has passed.

    Parameters
    ----------
    arrival_s : array of float
        Arrivals [s], not decreasing, from 0 and below a day.
    prompt_tokens, output_tokens : arrays of int
        Lengths; at least 1 and at least 2.
    machines : sequence of PublishedMachine
        The cluster, in the order in which ties are broken.
    pools : PublishedPools
        Roles of the machines.

    Raises
    ------
    ValueError
        Where a request or the pools are not as stated above.
    """
    arrivals = np.asarray(arrival_s, dtype=float)
    prompts, outputs = (np.asarray(n, dtype=np.int64) for n in (prompt_tokens, output_tokens))
    _check_requests(arrivals, prompts, outputs)
    _check_pools(len(machines), pools)
    lengths = zip(prompts.tolist(), outputs.tolist(), strict=True)
    requests = [Request(i, prompt, output) for i, (prompt, output) in enumerate(lengths)]
    cluster = Cluster(machines, pools)
    cluster.run(zip(arrivals.tolist(), requests, strict=True))
    return _records(arrivals, outputs, requests, cluster.counters)


def _records(
    arrivals: FloatArray, outputs: IntArray, requests: list[Request], counters: Counters
) -> PublishedRecords:
    return PublishedRecords(
        arrival_s=arrivals,
        output_tokens=outputs,
        prompt_start_s=np.array([request.prompt.start_s for request in requests]),
        first_token_s=np.array([request.first_token_s for request in requests]),
        token_start_s=np.array([request.token.start_s for request in requests]),
        finish_s=np.array([request.finish_s for request in requests]),
        prompt_machine=np.array([request.prompt_machine.number for request in requests]),
        token_machine=np.array([request.token_machine.number for request in requests]),
        counters=counters,
    )


def _check_requests(arrivals: FloatArray, prompts: IntArray, outputs: IntArray) -> None:
    if not len(arrivals) == len(prompts) == len(outputs):
        raise ValueError("arrivals, prompts and outputs differ in number")
    for wrong, rule in (
        (np.diff(arrivals, prepend=0.0) < 0, "arrivals start at 0 and do not decrease"),
        (~(arrivals < END_S), f"arrivals are below {END_S:g} s"),
        (prompts < 1, "prompts have at least 1 token"),
        (outputs < 2, "outputs have at least 2 tokens: the published simulator fails on 1"),
    ):
        if wrong.any():
            raise ValueError(f"request {int(np.argmax(wrong))}: {rule}")


def _check_pools(machines: int, pools: PublishedPools) -> None:
    placed = sorted((*pools.prompt, *pools.token, *pools.mixed))
    if placed != list(range(machines)):
        raise ValueError(f"each of the {machines} machines is in one pool, once; placed: {placed}")
    if bool(pools.mixed) == bool(pools.prompt or pools.token):
        raise ValueError("the published designs have mixed machines, or prompt and token machines")
