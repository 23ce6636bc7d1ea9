"""The event loop: arrivals, ends of blocks and transfers, in order of time.

At equal times failures come first, then requests that restart, arrivals, transfers and ends of
blocks, each in order of number.
"""

from __future__ import annotations

import math

from provisioner.simulation.engine import batch, block, failure, network, queues, routing
from provisioner.simulation.engine.heap import cancel, schedule
from provisioner.simulation.engine.jit import borrowed, entry, jit
from provisioner.simulation.engine.state import (
    BATCH,
    JOINING,
    NONE,
    PLAN_SHARES,
    WAITING,
    Heap,
    State,
)


@entry
def run(state: State) -> None:
    """Run until every request is done or nothing moves any more."""
    heap = Heap(
        borrowed(state.heap.nodes), borrowed(state.heap.position), borrowed(state.heap.size)
    )
    _run(
        State(
            borrowed(state.deployments),
            borrowed(state.instances),
            borrowed(state.slots),
            borrowed(state.requests),
            borrowed(state.groups),
            borrowed(state.trees),
            borrowed(state.share),
            borrowed(state.given),
            heap,
            borrowed(state.rules),
            borrowed(state.failures),
            borrowed(state.counters),
        )
    )


@jit
def _run(state: State) -> None:
    requests, heap, failures = state.requests, state.heap, state.failures
    for m in range(len(state.instances)):
        routing.refresh(state, m)
    number = len(requests)
    coming, failed, again, failed_s = 0, 0, NONE, 0.0
    while coming < number or heap.size[0] > 0 or again != NONE:
        arrival_s = requests[coming].arrival_s if coming < number else math.inf
        event_s = heap.nodes[0].time_s if heap.size[0] > 0 else math.inf
        due_s = failures[failed].time_s if failed < len(failures) else math.inf
        if again == NONE and due_s <= min(arrival_s, event_s):
            failed_s = due_s
            failed, again = failure.fail(state, failed, coming)
            continue
        if again != NONE or (coming < number and arrival_s <= event_s):
            if again != NONE:
                r, now = again, failed_s
                again = requests[r].next
            else:
                r, now = coming, arrival_s
                coming += 1
            arrive(state, r, now)
            continue
        now, entity = heap.nodes[0].time_s, heap.nodes[0].entity
        if entity < number:
            transferred(state, entity, now)
        else:
            end(state, entity - number, now)
    for late in range(failed, len(failures)):  # nothing is left for them to disturb
        m = failures[late].instance
        state.instances[m].failed_s = min(state.instances[m].failed_s, failures[late].time_s)


@jit
def arrive(state: State, r: int, now: float) -> None:
    """Route a request and queue its prompt."""
    instances, requests = state.instances, state.requests
    prompt_at, token_at = routing.route(state, r, now)
    requests[r].prompt_at, requests[r].token_at = prompt_at, token_at
    note_given(state, r)
    length = requests[r].prompt_tokens
    instances[prompt_at].backlog_ns += batch.alone_ns(
        state, instances[prompt_at].deployment, length
    )
    instances[prompt_at].pending_tokens += length
    instances[prompt_at].prompts += 1
    instances[token_at].assigned += 1
    instances[token_at].promised_tokens += length + 1
    queues.push(instances, requests, prompt_at, WAITING, r)
    if token_at != prompt_at:
        routing.refresh(state, token_at)
    wake(state, prompt_at, now)


@jit
def note_given(state: State, r: int) -> None:
    """Remember for `plan-shares` what each group was given of a request class."""
    if state.rules[0].router != PLAN_SHARES:
        return
    instances, request, given = state.instances, state.requests[r], state.given
    k = request.request_class
    prompt_home, token_home = instances[request.prompt_at].home, instances[request.token_at].home
    given[prompt_home, k] += 1
    if token_home != prompt_home:
        given[token_home, k] += 1
    given[len(given) - 1, k] += 1


@jit
def wake(state: State, m: int, now: float) -> None:
    """Let an instance look at its work: now when it is idle, else at the next boundary."""
    if state.instances[m].running == 1:
        block.cut(state, m, now)
        routing.refresh(state, m)
    else:
        begin(state, m, now)


@jit
def begin(state: State, m: int, now: float) -> None:
    """Start a block and the transfers that overlap with its prompts."""
    instances, requests = state.instances, state.requests
    batch.start(state, m, now)
    r = instances[m].head[BATCH]
    while r != NONE:
        if requests[r].token_at != m and requests[r].output_tokens > 1:
            network.overlap(state, r, instances[m].first_s, now)
        r = requests[r].next
    routing.refresh(state, m)


@jit
def end(state: State, m: int, now: float) -> None:
    """End a block: its prompts are done, its residents further on, and the next one begins."""
    instances, requests = state.instances, state.requests
    if instances[m].running == 1:  # else it is to look at its work
        block.account(state, m, now)
        batch.end_tokens(state, m, now)
    instances[m].running = 0
    if instances[m].chunked != NONE:
        requests[instances[m].chunked].done_tokens += instances[m].chunk_tokens
        instances[m].chunked = NONE
    while instances[m].head[BATCH] != NONE:
        prompt_done(state, m, queues.pop(instances, requests, m, BATCH), now)
    network.fill(state, m, now)
    begin(state, m, now)
    routing.settle(state, m)


@jit
def prompt_done(state: State, m: int, r: int, now: float) -> None:
    """The first token is there; the others are made here or elsewhere."""
    instances, requests = state.instances, state.requests
    length = requests[r].prompt_tokens
    requests[r].first_token_s = now
    instances[m].pending_tokens -= length
    instances[m].prompts -= 1
    target = requests[r].token_at
    if requests[r].output_tokens == 1:
        requests[r].ready_s, requests[r].token_start_s, requests[r].finish_s = now, now, now
        instances[m].used_tokens -= length + 1
        instances[target].assigned -= 1
        instances[target].promised_tokens -= length + 1
        if target != m:
            routing.refresh(state, target)
            routing.settle(state, target)
    elif target == m:
        requests[r].ready_s, requests[r].updated_s = now, now
        queues.push(instances, requests, m, JOINING, r)
    else:
        network.hand_over(state, r, now)


@jit
def transferred(state: State, r: int, now: float) -> None:
    """A request's transfer has moved on."""
    instances, requests = state.instances, state.requests
    cancel(state.heap, r)
    phase = requests[r].phase
    if phase == network.RETURNING:
        returned(state, r, now)
        return
    if phase != network.SETTLING:
        network.finish_sending(state, r, now)
        if phase == network.OVERLAPPED:
            requests[r].phase = network.SENT_EARLY
            return
        if requests[r].ready_s > now:
            requests[r].phase = network.SETTLING
            schedule(state.heap, r, requests[r].ready_s)
            return
    requests[r].phase, requests[r].ready_s = 0, now
    requests[r].updated_s = requests[r].first_token_s
    src, dst = requests[r].prompt_at, requests[r].token_at
    instances[src].used_tokens -= requests[r].prompt_tokens + 1
    queues.push(instances, requests, dst, JOINING, r)
    wake(state, dst, now)
    freed(state, src, now)


@jit
def returned(state: State, r: int, now: float) -> None:
    """A paused request is back from host memory."""
    instances, requests = state.instances, state.requests
    m = requests[r].token_at
    requests[r].phase = 0
    instances[m].returning = NONE
    queues.push(instances, requests, m, JOINING, r)
    network.bring_back(state, m, now)
    wake(state, m, now)


@jit
def freed(state: State, m: int, now: float) -> None:
    """Room became free at an instance."""
    network.fill(state, m, now)
    if state.instances[m].head[WAITING] != NONE:
        wake(state, m, now)
