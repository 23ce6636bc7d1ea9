"""KV-cache transfers between instances that share the networks of both ends.

A transfer flows at the smaller of its equal shares of the sender's outgoing and the receiver's
incoming bandwidth. Layer by layer it starts with the prompt and ends no earlier than a floor after
it; serialised it starts at the prompt's end. Whichever leaves less after the prompt, unshared, is
chosen; without room at the receiver when the prompt starts, it is serialised.

Not modelled: a fabric with less bandwidth than its machines.
"""

from __future__ import annotations

from provisioner.simulation.engine import block, queues
from provisioner.simulation.engine.heap import schedule
from provisioner.simulation.engine.jit import jit
from provisioner.simulation.engine.physics import host_s
from provisioner.simulation.engine.state import (
    INCOMING,
    LAYERED,
    NONE,
    PAUSED,
    RECEIVER,
    ROOM_WAITS,
    SENDER,
    SERIAL,
    SHARED,
    State,
)

OVERLAPPED, SENDING, SENT_EARLY, SETTLING, RETURNING, AWAITING = 1, 2, 3, 4, 5, 6
"""Phases of a request's transfer: with its prompt; after it; all sent before the prompt's end;
until the floor has passed; back from host memory; waiting for room after the prompt."""


@jit
def _link(state: State, r: int, side: int, m: int) -> None:
    """Put a transfer first in the list of one of its ends."""
    instances, requests = state.instances, state.requests
    first = instances[m].flow_head[side]
    requests[r].flow_last[side], requests[r].flow_next[side] = NONE, first
    if first != NONE:
        requests[first].flow_last[side] = r
    instances[m].flow_head[side] = r
    instances[m].flow_count[side] += 1


@jit
def _unlink(state: State, r: int, side: int, m: int) -> None:
    """Take a transfer out of the list of one of its ends."""
    instances, requests = state.instances, state.requests
    before, after = requests[r].flow_last[side], requests[r].flow_next[side]
    if before == NONE:
        instances[m].flow_head[side] = after
    else:
        requests[before].flow_next[side] = after
    if after != NONE:
        requests[after].flow_last[side] = before
    instances[m].flow_count[side] -= 1


@jit
def _retime(state: State, r: int, now: float) -> None:
    """Bring one transfer up to date and find its new end."""
    instances, requests = state.instances, state.requests
    src, dst = requests[r].prompt_at, requests[r].token_at
    out_d, in_d = instances[src].deployment, instances[dst].deployment
    sent = requests[r].rate_bytes_per_s * (now - requests[r].updated_s)
    requests[r].left_bytes = max(requests[r].left_bytes - sent, 0.0)
    requests[r].updated_s = now
    requests[r].rate_bytes_per_s = min(
        state.deployments[out_d].network_bytes_per_s / instances[src].flow_count[SENDER],
        state.deployments[in_d].network_bytes_per_s / instances[dst].flow_count[RECEIVER],
    )
    schedule(state.heap, r, now + requests[r].left_bytes / requests[r].rate_bytes_per_s)


@jit
def _retime_neighbours(state: State, src: int, dst: int, now: float) -> None:
    instances, requests = state.instances, state.requests
    r = instances[src].flow_head[SENDER]
    while r != NONE:
        _retime(state, r, now)
        r = requests[r].flow_next[SENDER]
    r = instances[dst].flow_head[RECEIVER]
    while r != NONE:
        if requests[r].prompt_at != src:
            _retime(state, r, now)
        r = requests[r].flow_next[RECEIVER]


@jit
def _begin(state: State, r: int, phase: int, now: float) -> None:
    instances, requests = state.instances, state.requests
    src, dst = requests[r].prompt_at, requests[r].token_at
    size = requests[r].prompt_tokens * state.deployments[instances[dst].deployment].kv_bytes
    requests[r].left_bytes, requests[r].rate_bytes_per_s = size, 0.0
    requests[r].updated_s, requests[r].phase = now, phase
    _link(state, r, SENDER, src)
    _link(state, r, RECEIVER, dst)
    if instances[src].flow_count[SENDER] > 1 or instances[dst].flow_count[RECEIVER] > 1:
        state.counters[SHARED] += 1
    _retime_neighbours(state, src, dst, now)


@jit
def finish_sending(state: State, r: int, now: float) -> None:
    """Take a transfer that has sent everything off its links."""
    src, dst = state.requests[r].prompt_at, state.requests[r].token_at
    _unlink(state, r, SENDER, src)
    _unlink(state, r, RECEIVER, dst)
    _retime_neighbours(state, src, dst, now)


@jit
def overlap(state: State, r: int, prompt_s: float, now: float) -> None:
    """Start a transfer together with its prompt, if that is the shorter way and there is room."""
    instances, requests, d = state.instances, state.requests, state.deployments
    src, dst = requests[r].prompt_at, requests[r].token_at
    out_d, in_d = instances[src].deployment, instances[dst].deployment
    bandwidth = min(d[out_d].network_bytes_per_s, d[in_d].network_bytes_per_s)
    serial_s = requests[r].prompt_tokens * d[in_d].kv_bytes / bandwidth
    rest_s = max(serial_s - prompt_s, d[out_d].floor_s, d[in_d].floor_s)
    if rest_s >= serial_s or crowded(state, dst):
        return
    held = block.held_tokens(requests, r)
    if block.has_room(state, dst, held, now):
        block.reserve(state, dst, held)
        state.counters[LAYERED] += 1
        _begin(state, r, OVERLAPPED, now)


@jit
def crowded(state: State, m: int) -> bool:
    """Whether others wait for room at an instance already."""
    instances = state.instances
    return bool(instances[m].head[INCOMING] != NONE or instances[m].head[PAUSED] != NONE)


@jit
def hand_over(state: State, r: int, now: float) -> None:
    """Go on with a transfer at the end of its prompt."""
    instances, requests = state.instances, state.requests
    src, dst = requests[r].prompt_at, requests[r].token_at
    d = state.deployments
    floor = max(d[instances[src].deployment].floor_s, d[instances[dst].deployment].floor_s)
    requests[r].ready_s = now + floor
    if requests[r].phase == OVERLAPPED:
        requests[r].phase = SENDING
    elif requests[r].phase == SENT_EARLY:
        requests[r].phase = SETTLING
        schedule(state.heap, r, now + floor)
    else:
        requests[r].ready_s, requests[r].phase = now, AWAITING
        queues.push(instances, requests, dst, INCOMING, r)
        receive(state, dst, now)


@jit
def receive(state: State, m: int, now: float) -> None:
    """Start the transfers that wait for room at an instance, first come first served."""
    instances, requests = state.instances, state.requests
    while instances[m].head[INCOMING] != NONE and instances[m].head[PAUSED] == NONE:
        r = instances[m].head[INCOMING]
        held = block.held_tokens(requests, r)
        if not block.has_room(state, m, held, now):
            state.counters[ROOM_WAITS] += 1
            return
        queues.pop(instances, requests, m, INCOMING)
        block.reserve(state, m, held)
        state.counters[SERIAL] += 1
        _begin(state, r, SENDING, now)


@jit
def bring_back(state: State, m: int, now: float) -> None:
    """Start the return of the request that paused first, if there is room and a free link."""
    instances, requests = state.instances, state.requests
    if instances[m].returning != NONE or instances[m].head[PAUSED] == NONE:
        return
    r = instances[m].head[PAUSED]
    held = block.held_tokens(requests, r)
    if not block.has_room(state, m, held + instances[m].count + 1, now):
        return
    queues.pop(instances, requests, m, PAUSED)
    block.reserve(state, m, held)
    instances[m].returning = r
    requests[r].phase = RETURNING
    in_s = host_s(state.deployments, instances[m].deployment, held)
    schedule(state.heap, r, max(now, requests[r].left_bytes) + in_s)


@jit
def fill(state: State, m: int, now: float) -> None:
    """Give room that became free to those who wait for it: first to what paused."""
    bring_back(state, m, now)
    receive(state, m, now)
