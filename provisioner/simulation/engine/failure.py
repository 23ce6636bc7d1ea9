"""Failures: instances that are gone from one moment on, for good.

A request that has lost its prompt, or the KV-cache made of it, restarts from scratch: it is routed
again and its latencies count from when it first arrived. Where the token machine fails before the
KV-cache has reached it, another one takes its place. Room that a failure frees elsewhere is given
at the next boundary.

Not modelled: repair, spares that take over, and the time until a failure is noticed.
"""

from __future__ import annotations

import math

from provisioner.simulation.engine import block, network, queues, routing
from provisioner.simulation.engine.heap import cancel, schedule
from provisioner.simulation.engine.jit import apart, jit
from provisioner.simulation.engine.state import (
    INCOMING,
    JOINING,
    MIXED,
    MIXED_POOL,
    NONE,
    REDIRECTS,
    RESTARTS,
    TOKEN,
    State,
)


@apart
def fail(state: State, first: int, arrived: int) -> tuple[int, int]:
    """Let all fail that do at one moment; return the next failure, and who restarts.

    Those who restart are a list through ``requests.next``, in order of number; the requests below
    ``arrived`` have come.
    """
    failures, instances, requests = state.failures, state.instances, state.requests
    now, end = failures[first].time_s, first
    while end < len(failures) and failures[end].time_s == now:
        stop(state, failures[end].instance, now)
        end += 1
    head, tail = NONE, NONE
    for r in range(arrived):
        if requests[r].finish_s < math.inf or not _is_lost(state, r):
            continue
        _let_go(state, r, now)
        _forget(state, r)
        if tail == NONE:
            head = r
        else:
            requests[tail].next = r
        tail = r
    for m in range(len(instances)):
        if instances[m].failed_s < math.inf:
            _empty(state, m)
        else:
            routing.refresh(state, m)
            routing.settle(state, m)
    for r in range(arrived):
        if _is_headed_nowhere(state, r):
            _redirect(state, r, now)
    return end, head


@jit
def stop(state: State, m: int, now: float) -> None:
    """End an instance's work at once."""
    instances = state.instances
    if instances[m].failed_s < math.inf:
        return
    if instances[m].running == 1:
        block.account(state, m, now)
        instances[m].running = 0
    instances[m].failed_s = now
    cancel(state.heap, len(state.requests) + m)
    routing.withdraw(state, m)


@jit
def _has_arrived(state: State, r: int) -> bool:
    """Whether a request's KV-cache is at the token machine, after its prompt."""
    request = state.requests[r]
    away = request.phase in (network.AWAITING, network.SENDING, network.SETTLING)
    return bool(request.first_token_s < math.inf and not away)


@jit
def _is_lost(state: State, r: int) -> bool:
    request = state.requests[r]
    at = request.token_at if _has_arrived(state, r) else request.prompt_at
    return bool(state.instances[at].failed_s < math.inf)


@jit
def _let_go(state: State, r: int, now: float) -> None:
    """Give back what a request holds or is promised where it was to generate."""
    instances, requests = state.instances, state.requests
    phase, dst = requests[r].phase, requests[r].token_at
    if phase in (network.OVERLAPPED, network.SENDING):
        network.finish_sending(state, r, now)
    cancel(state.heap, r)
    requests[r].phase = 0
    if instances[dst].failed_s < math.inf:
        return
    instances[dst].assigned -= 1
    instances[dst].promised_tokens -= requests[r].prompt_tokens + 1
    if phase == network.AWAITING:
        queues.drop(instances, requests, dst, INCOMING, r)
    elif phase != 0:
        instances[dst].used_tokens -= block.held_tokens(requests, r)
    _notice(state, dst, now)


@jit
def _notice(state: State, m: int, now: float) -> None:
    """Let an instance look at its work at the next boundary."""
    if state.instances[m].running == 1:
        block.cut(state, m, now)
    else:
        schedule(state.heap, len(state.requests) + m, now)


@jit
def _forget(state: State, r: int) -> None:
    requests = state.requests
    requests[r].prompt_start_s, requests[r].first_token_s = math.inf, math.inf
    requests[r].ready_s, requests[r].token_start_s = math.inf, math.inf
    requests[r].made, requests[r].done_tokens, requests[r].updated_s = 0, 0, 0.0
    requests[r].restarts += 1
    requests[r].next = NONE
    requests[r].prompt_at, requests[r].token_at = NONE, NONE
    state.counters[RESTARTS] += 1


@jit
def _empty(state: State, m: int) -> None:
    instances = state.instances
    for queue in range(5):
        instances[m].head[queue], instances[m].tail[queue] = NONE, NONE
    instances[m].used_tokens, instances[m].count, instances[m].kv_tokens = 0, 0, 0
    instances[m].planned, instances[m].decoding, instances[m].prompt_tokens = 0, 0, 0
    instances[m].fresh, instances[m].stalled = 0, 0
    instances[m].chunked, instances[m].returning = NONE, NONE
    instances[m].backlog_ns, instances[m].prompts, instances[m].pending_tokens = 0, 0, 0
    instances[m].assigned, instances[m].promised_tokens = 0, 0


@jit
def _is_headed_nowhere(state: State, r: int) -> bool:
    request = state.requests[r]
    if request.token_at == NONE or request.finish_s < math.inf:
        return False
    return bool(state.instances[request.token_at].failed_s < math.inf)


@jit
def _redirect(state: State, r: int, now: float) -> None:
    """Find another token machine for a request whose KV-cache is not there yet."""
    instances, requests = state.instances, state.requests
    sent = requests[r].first_token_s < math.inf
    src = requests[r].prompt_at
    _let_go(state, r, now)
    target = NONE
    for pool in (TOKEN, MIXED):
        if target == NONE and (pool == TOKEN or state.rules[0].scheduler == MIXED_POOL):
            target = routing.choose(state, r, pool, True, now)
    if target == NONE:
        target = src
        if instances[src].mixed == 0:
            routing.move(state, src, 1)
    state.counters[REDIRECTS] += 1
    requests[r].token_at = target
    instances[target].assigned += 1
    instances[target].promised_tokens += requests[r].prompt_tokens + 1
    if sent and target == src:
        requests[r].ready_s, requests[r].updated_s = now, requests[r].first_token_s
        queues.push(instances, requests, target, JOINING, r)
    elif sent:
        requests[r].ready_s, requests[r].phase = now, network.AWAITING
        queues.push(instances, requests, target, INCOMING, r)
    if sent:
        _notice(state, target, now)
    routing.refresh(state, target)
