"""Queues of requests at an instance: linked lists through ``requests.next``."""

from __future__ import annotations

from provisioner.simulation.engine.jit import jit
from provisioner.simulation.engine.state import NONE, Array


@jit
def push(instances: Array, requests: Array, m: int, queue: int, r: int) -> None:
    """Put a request at the end of a queue."""
    requests[r].next = NONE
    last = instances[m].tail[queue]
    if last == NONE:
        instances[m].head[queue] = r
    else:
        requests[last].next = r
    instances[m].tail[queue] = r


@jit
def drop(instances: Array, requests: Array, m: int, queue: int, r: int) -> None:
    """Take a request out of the queue that it waits in, wherever it stands."""
    before, at = NONE, instances[m].head[queue]
    while at != r:
        before, at = at, requests[at].next
    after = requests[r].next
    if before == NONE:
        instances[m].head[queue] = after
    else:
        requests[before].next = after
    if after == NONE:
        instances[m].tail[queue] = before


@jit
def pop(instances: Array, requests: Array, m: int, queue: int) -> int:
    """Take the first request of a queue that is not empty."""
    r = instances[m].head[queue]
    instances[m].head[queue] = requests[r].next
    if requests[r].next == NONE:
        instances[m].tail[queue] = NONE
    return int(r)
