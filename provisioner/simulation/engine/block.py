"""Blocks: iterations of an unchanged batch, in closed form.

Iteration i of a block lasts ``first + i step``: its context grows by one token per request. A
block ends early, at the next boundary, when work arrives that may join. Work that arrives exactly
at a boundary is in time for it.
"""

from __future__ import annotations

import math

from provisioner.simulation.engine.heap import schedule
from provisioner.simulation.engine.jit import jit
from provisioner.simulation.engine.physics import power_w
from provisioner.simulation.engine.state import MOST_ACTIVE, Array, State


@jit
def end_s(instances: Array, m: int, iterations: int) -> float:
    """Time at which this many iterations of the block have run."""
    growth = 0.5 * instances[m].step_s * iterations * (iterations - 1)
    return instances[m].start_s + iterations * instances[m].first_s + growth


@jit
def boundary(instances: Array, m: int, now: float) -> int:
    """Iterations that have run at the first boundary that is not before ``now``; at least 1."""
    elapsed = now - instances[m].start_s
    first, step = instances[m].first_s, instances[m].step_s
    if step > 0:
        slope = first - 0.5 * step
        guess = (math.sqrt(slope * slope + 2 * step * elapsed) - slope) / step
    else:
        guess = elapsed / first
    k = max(1, int(guess))
    while end_s(instances, m, k) < now:
        k += 1
    while k > 1 and end_s(instances, m, k - 1) >= now:
        k -= 1
    return min(k, instances[m].planned)


@jit
def expect_end(state: State, m: int) -> None:
    """Schedule the end of a block after its planned iterations."""
    entity = len(state.requests) + m
    schedule(state.heap, entity, end_s(state.instances, m, state.instances[m].planned))


@jit
def shorten(state: State, m: int, iterations: int) -> None:
    """Let a running block end after fewer iterations."""
    instances = state.instances
    if iterations < instances[m].planned:
        instances[m].planned = iterations
        expect_end(state, m)


@jit
def cut(state: State, m: int, now: float) -> None:
    """Let a running block end at the next boundary."""
    if state.instances[m].planned > 1:
        shorten(state, m, boundary(state.instances, m, now))


@jit
def room_tokens(state: State, m: int) -> int:
    """KV tokens that an instance has room for."""
    return state.deployments[state.instances[m].deployment].room_tokens


@jit
def held_tokens(requests: Array, r: int) -> int:
    """KV tokens of a request that is not generating: its prompt and the tokens made so far."""
    return requests[r].prompt_tokens + 1 + requests[r].made


@jit
def has_room(state: State, m: int, tokens: int, now: float) -> bool:
    """Whether so many KV tokens more fit an instance.

    So do those that its residents add up to the end of the iteration in progress, or in the next.
    """
    instances = state.instances
    left = room_tokens(state, m) - instances[m].used_tokens - tokens
    if instances[m].running == 0:
        return bool(left >= instances[m].count)
    growing = instances[m].decoding
    if growing == 0 or left < growing or left >= growing * instances[m].planned:
        return bool(left >= growing)
    return bool(left >= growing * boundary(instances, m, now))


@jit
def reserve(state: State, m: int, tokens: int) -> None:
    """Take room; a running block ends before its growth would need what was taken."""
    instances = state.instances
    instances[m].used_tokens += tokens
    if instances[m].running == 1 and instances[m].decoding > 0:
        left = (room_tokens(state, m) - instances[m].used_tokens) // instances[m].decoding
        shorten(state, m, max(left, 1))


@jit
def account(state: State, m: int, now: float) -> None:
    """Add an ended block to the instance's totals, as far as it lies in the measured window."""
    instances, rules = state.instances, state.rules[0]
    start = instances[m].start_s
    inside = min(now, rules.until_s) - max(start, rules.from_s)
    if inside <= 0:
        return
    tokens, batch = instances[m].prompt_tokens, instances[m].decoding
    if tokens > 0:
        instances[m].prompt_busy_s += inside
    else:
        instances[m].token_busy_s += inside
    state.groups[instances[m].home].active_s[min(tokens + batch, MOST_ACTIVE)] += inside
    instances[m].batch_s += inside * batch
    grown = 0.5 * batch * (instances[m].planned - 1)
    instances[m].kv_token_s += inside * (instances[m].used_tokens + grown)
    watts = power_w(state.deployments, instances[m].deployment, tokens, batch)
    instances[m].energy_j += inside * watts
