"""Batch selection at an iteration boundary, and what the end of a block brings.

In this order: token work that has arrived joins; where the next token of everybody does not fit,
the youngest request pauses; prompts are taken first come first served; token work fills the batch.
Requests that missed `MOST_STALLS` iterations in a row go ahead of prompts. In chunked instances
token work comes first and prompts fill the rest of the chunk.

Not modelled: scheduling overhead, and KV-cache pages.
"""

from __future__ import annotations

import math

from provisioner.performance.prompt import BATCH_TOKENS
from provisioner.performance.token import MAX_BATCH
from provisioner.simulation.engine import block, queues
from provisioner.simulation.engine.heap import cancel
from provisioner.simulation.engine.jit import jit
from provisioner.simulation.engine.physics import host_s, mixed_s, prompt_s, token_s
from provisioner.simulation.engine.state import (
    BATCH,
    BLOCKS,
    CHUNKS,
    GAP_BINS,
    GAP_LOW_S,
    GAP_PER_DECADE,
    ITERATIONS,
    JOINING,
    MOST_STALLS,
    NONE,
    PAUSED,
    PAUSES,
    ROOM_WAITS,
    STALLS,
    WAITING,
    State,
)


@jit
def join(state: State, m: int) -> None:
    """Let token work that waits at the instance become resident."""
    instances, requests = state.instances, state.requests
    while instances[m].head[JOINING] != NONE and instances[m].count < MAX_BATCH:
        r = queues.pop(instances, requests, m, JOINING)
        slot = instances[m].count
        instances[m].count = slot + 1
        state.slots[m, slot].resident = r
        left = requests[r].output_tokens - 1 - requests[r].made
        finish_at = instances[m].iteration + left
        state.slots[m, slot].finish_at = finish_at
        if slot == 0 or finish_at < instances[m].next_finish:
            instances[m].next_finish = finish_at
        state.slots[m, slot].stalls = 0
        state.slots[m, slot].last_s = requests[r].updated_s
        instances[m].fresh += 1
        instances[m].kv_tokens += block.held_tokens(requests, r)


@jit
def make_room(state: State, m: int, now: float) -> bool:
    """Pause the youngest residents until the next token of all others fits; whether any had to."""
    instances = state.instances
    before = instances[m].count
    while instances[m].count > 0 and not block.has_room(state, m, 0, now):
        youngest = 0
        for slot in range(1, instances[m].count):
            if state.slots[m, slot].resident > state.slots[m, youngest].resident:
                youngest = slot
        pause(state, m, youngest, now)
    return bool(instances[m].count < before)


@jit
def pause(state: State, m: int, slot: int, now: float) -> None:
    """Move a resident's KV-cache to host memory."""
    instances, requests = state.instances, state.requests
    r = state.slots[m, slot].resident
    left = state.slots[m, slot].finish_at - instances[m].iteration
    requests[r].made = requests[r].output_tokens - 1 - left
    held = block.held_tokens(requests, r)
    last = state.slots[m, slot].last_s
    requests[r].updated_s = now if last < 0 else last
    requests[r].left_bytes = now + host_s(state.deployments, instances[m].deployment, held)
    instances[m].used_tokens -= held
    instances[m].kv_tokens -= held
    remove(state, m, slot)
    queues.push(instances, requests, m, PAUSED, r)
    state.counters[PAUSES] += 1


@jit
def remove(state: State, m: int, slot: int) -> None:
    """Take a resident out; the others keep their order."""
    instances = state.instances
    if state.slots[m, slot].last_s >= 0:
        instances[m].fresh -= 1
    if state.slots[m, slot].stalls != 0:
        instances[m].stalled -= 1
    last = instances[m].count - 1
    for i in range(slot, last):
        state.slots[m, i] = state.slots[m, i + 1]
    instances[m].count = last
    find_next_finish(state, m)


@jit
def find_next_finish(state: State, m: int) -> None:
    """Look for the first resident to be done."""
    instances = state.instances
    for slot in range(instances[m].count):
        finish_at = state.slots[m, slot].finish_at
        if slot == 0 or finish_at < instances[m].next_finish:
            instances[m].next_finish = finish_at


@jit
def aged(state: State, m: int) -> int:
    """Residents that go ahead of prompts."""
    instances, number = state.instances, 0
    if instances[m].stalled == 0:
        return 0
    for slot in range(instances[m].count):
        if state.slots[m, slot].stalls >= MOST_STALLS:
            number += 1
    return number


@jit
def admit(state: State, m: int, r: int, now: float) -> bool:
    """Take room for a prompt and its first token, if there is any."""
    instances, requests = state.instances, state.requests
    held = block.held_tokens(requests, r)
    if not block.has_room(state, m, held, now):
        state.counters[ROOM_WAITS] += 1
        return False
    instances[m].used_tokens += held
    requests[r].prompt_start_s = now
    return True


@jit
def take(state: State, m: int) -> None:
    """Move the first waiting prompt into the batch."""
    instances, requests = state.instances, state.requests
    r = queues.pop(instances, requests, m, WAITING)
    queues.push(instances, requests, m, BATCH, r)
    d = instances[m].deployment
    instances[m].backlog_ns -= alone_ns(state, d, requests[r].prompt_tokens)


@jit
def alone_ns(state: State, d: int, tokens: int) -> int:
    """Prompt time of one request in whole nanoseconds, so that sums are exact."""
    squared = float(tokens) * float(tokens)
    return round(prompt_s(state.deployments, d, tokens, squared) * 1e9)


@jit
def take_prompts(state: State, m: int, ahead: int, now: float) -> tuple[int, float, int]:
    """Fill the batch with whole prompts; return their tokens, squared tokens and number."""
    instances, requests = state.instances, state.requests
    tokens, squared, number = 0, 0.0, 0
    if instances[m].head[PAUSED] != NONE or instances[m].returning != NONE:
        return tokens, squared, number
    while instances[m].head[WAITING] != NONE and number + ahead < MAX_BATCH:
        r = instances[m].head[WAITING]
        length = int(requests[r].prompt_tokens)
        alone = number == 0 and ahead == 0
        if not alone and tokens + length > BATCH_TOKENS - ahead:
            break
        if not admit(state, m, r, now):
            break
        take(state, m)
        tokens, number = tokens + length, number + 1
        squared += float(length) * float(length)
    return tokens, squared, number


@jit
def take_chunks(state: State, m: int, now: float) -> tuple[int, float]:
    """Fill the batch with the next tokens of prompts; return their tokens and squared tokens.

    A chunk from a to b adds ``b^2 - a^2``: the chunks of a prompt add up to its square.
    """
    instances, requests = state.instances, state.requests
    tokens, squared = 0, 0.0
    budget = state.rules[0].chunk_tokens - instances[m].count
    paused = instances[m].head[PAUSED] != NONE or instances[m].returning != NONE
    while instances[m].head[WAITING] != NONE and budget > 0:
        r = instances[m].head[WAITING]
        done = int(requests[r].done_tokens)
        if done == 0 and (paused or not admit(state, m, r, now)):
            break
        part = min(int(requests[r].prompt_tokens) - done, budget)
        tokens, budget = tokens + part, budget - part
        squared += float(done + part) ** 2 - float(done) ** 2
        state.counters[CHUNKS] += 1
        if done + part < requests[r].prompt_tokens:
            instances[m].chunked, instances[m].chunk_tokens = r, part
            break
        take(state, m)
    return tokens, squared


@jit
def stall(state: State, m: int, running: int, now: float) -> int:
    """Let all but so many residents miss an iteration; return the KV tokens of those that run."""
    instances, requests = state.instances, state.requests
    early = aged(state, m)
    late, kv = running - early, 0
    for slot in range(instances[m].count):
        if state.slots[m, slot].stalls >= MOST_STALLS:
            runs = True
        else:
            runs = late > 0
            late -= 1
        left = state.slots[m, slot].finish_at - instances[m].iteration
        if runs:
            r = state.slots[m, slot].resident
            kv += requests[r].prompt_tokens + requests[r].output_tokens - left
            continue
        state.counters[STALLS] += 1
        state.slots[m, slot].finish_at += 1
        if state.slots[m, slot].stalls == 0:
            instances[m].stalled += 1
        state.slots[m, slot].stalls = -1 - state.slots[m, slot].stalls
        if state.slots[m, slot].last_s < 0:
            state.slots[m, slot].last_s = now
            instances[m].fresh += 1
    find_next_finish(state, m)
    return kv


@jit
def start(state: State, m: int, now: float) -> None:
    """Choose a batch and start a block; an instance without work stays idle."""
    instances = state.instances
    d = instances[m].deployment
    join(state, m)
    paused = make_room(state, m, now)
    squared, running, ahead = 0.0, int(instances[m].count), 0
    if state.rules[0].chunk_tokens > 0:
        tokens, squared = take_chunks(state, m, now)
    else:
        ahead = aged(state, m)
        tokens, squared, number = take_prompts(state, m, ahead, now)
        if number > 0:
            running = min(running, max(BATCH_TOKENS - tokens, 0), MAX_BATCH - number)
    instances[m].prompt_tokens, instances[m].decoding = tokens, running
    instances[m].start_s, instances[m].step_s, instances[m].planned = now, 0.0, 1
    instances[m].running = 1 if tokens > 0 or running > 0 else 0
    if instances[m].running == 0:
        cancel(state.heap, len(state.requests) + m)
        return
    kv = int(instances[m].kv_tokens)
    if running < instances[m].count:
        kv = stall(state, m, running, now)
    if tokens == 0:
        instances[m].first_s = token_s(state.deployments, d, running, kv)
        instances[m].step_s = state.deployments[d].context_s * running
        # Prompts that aged requests went ahead of come next, and what fits where another paused.
        held_back = ahead > 0 and instances[m].head[WAITING] != NONE
        instances[m].planned = 1 if held_back or paused else uninterrupted(state, m)
    elif running == 0:
        instances[m].first_s = prompt_s(state.deployments, d, tokens, squared)
    else:
        instances[m].first_s = mixed_s(state.deployments, d, tokens, squared, running, kv)
    block.expect_end(state, m)


@jit
def uninterrupted(state: State, m: int) -> int:
    """Iterations until a resident finishes or the KV room is full."""
    instances = state.instances
    room = block.room_tokens(state, m) - instances[m].used_tokens
    left = instances[m].next_finish - instances[m].iteration
    return int(min(left, room // instances[m].count))


@jit
def note_gap(state: State, m: int, gap_s: float, weight: int) -> None:
    """Count gaps between tokens of requests in the group's histogram."""
    start = state.instances[m].start_s
    if start < state.rules[0].from_s or start >= state.rules[0].until_s:
        return
    at = math.floor(math.log10(max(gap_s, GAP_LOW_S) / GAP_LOW_S) * GAP_PER_DECADE)
    state.groups[state.instances[m].home].gaps[min(at, GAP_BINS - 1)] += weight


@jit
def note_gaps(state: State, m: int) -> None:
    """Count the gaps of a block: of residents that came from elsewhere or stalled, one by one."""
    instances, requests = state.instances, state.requests
    decoding, planned = instances[m].decoding, instances[m].planned
    regular = decoding
    if instances[m].fresh > 0:
        end = block.end_s(instances, m, 1)
        # Without stalls those that came last are the fresh ones.
        first = 0 if instances[m].stalled > 0 else instances[m].count - instances[m].fresh
        for slot in range(first, instances[m].count):
            if state.slots[m, slot].stalls < 0:
                state.slots[m, slot].stalls = -state.slots[m, slot].stalls
            elif state.slots[m, slot].last_s >= 0:
                r = state.slots[m, slot].resident
                if requests[r].token_start_s == math.inf:
                    requests[r].token_start_s = instances[m].start_s
                note_gap(state, m, end - state.slots[m, slot].last_s, 1)
                regular -= 1
                state.slots[m, slot].last_s = -1.0
                if state.slots[m, slot].stalls != 0:
                    state.slots[m, slot].stalls = 0
                    instances[m].stalled -= 1
                instances[m].fresh -= 1
    if regular > 0:
        note_gap(state, m, instances[m].first_s, regular)
    if planned > 1 and decoding > 0:
        middle = instances[m].first_s + 0.5 * instances[m].step_s * planned
        note_gap(state, m, middle, decoding * (planned - 1))


@jit
def end_tokens(state: State, m: int, now: float) -> None:
    """Advance the residents by the block; those that are done leave."""
    instances, requests = state.instances, state.requests
    planned, decoding = instances[m].planned, instances[m].decoding
    state.counters[ITERATIONS] += planned
    state.counters[BLOCKS] += 1
    if instances[m].count == 0:
        return
    note_gaps(state, m)
    instances[m].iteration += planned
    instances[m].used_tokens += decoding * planned
    instances[m].kv_tokens += decoding * planned
    if instances[m].iteration < instances[m].next_finish:
        return
    kept = 0
    for slot in range(instances[m].count):
        r = state.slots[m, slot].resident
        if state.slots[m, slot].finish_at > instances[m].iteration:
            if kept < slot:
                state.slots[m, kept] = state.slots[m, slot]
            kept += 1
            continue
        held = requests[r].prompt_tokens + requests[r].output_tokens
        instances[m].used_tokens -= held
        instances[m].kv_tokens -= held
        instances[m].assigned -= 1
        instances[m].promised_tokens -= requests[r].prompt_tokens + 1
        requests[r].finish_s = now
    instances[m].count = kept
    find_next_finish(state, m)
