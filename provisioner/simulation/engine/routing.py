"""Which instance serves a request: the routers within a role, and the three schedulers.

Every group of like instances has trees over its members' loads, so that the least loaded one is
found in logarithmic time; the lowest numbered one wins ties. Routers see prompt lengths and how
many requests each instance has been given, not how long an output will become.

- ``expected-finish``: the prompt that would end first; the token machine whose iteration would be
  shortest; in a colocated cluster the sum of both over the mean output.
- ``shortest-queue``: fewest prompt tokens pending; least KV-cache promised.
- ``plan-shares``: groups in the proportions of the plan, ``expected-finish`` within.
"""

from __future__ import annotations

import math

from provisioner.performance.token import MAX_BATCH
from provisioner.simulation.engine import block
from provisioner.simulation.engine.batch import alone_ns
from provisioner.simulation.engine.jit import jit
from provisioner.simulation.engine.physics import token_s
from provisioner.simulation.engine.state import (
    BORROWED_PROMPT,
    BORROWED_TOKEN,
    BUSY,
    COLOCATED,
    GENERATING,
    IDLE,
    MIXED,
    MIXED_POOL,
    NONE,
    PLAN_SHARES,
    PROMPT,
    RETURNED,
    SHORTEST_QUEUE,
    TOKEN,
    WAITING,
    State,
)


@jit
def _set(state: State, g: int, mixed: int, kind: int, place: int, key: float) -> None:
    tree = state.trees[g, 3 * mixed + kind]
    at = len(tree) // 2 + place
    if tree[at] == key:
        return
    tree[at] = key
    at >>= 1
    while at > 0:
        least = min(tree[2 * at], tree[2 * at + 1])
        if tree[at] == least:
            return
        tree[at] = least
        at >>= 1


@jit
def _least(state: State, g: int, mixed: int, kind: int) -> int:
    """Place of the first member with the least key."""
    tree = state.trees[g, 3 * mixed + kind]
    at, half = 1, len(tree) // 2
    while at < half:
        at = 2 * at if tree[2 * at] <= tree[2 * at + 1] else 2 * at + 1
    return at - half


@jit
def gap_s(state: State, m: int) -> float:
    """Token iteration time of all that an instance has been given, at the start of its output."""
    instances = state.instances
    batch = min(max(instances[m].assigned, 1), MAX_BATCH)
    d = instances[m].deployment
    return token_s(state.deployments, d, batch, instances[m].promised_tokens)


@jit
def token_key(state: State, m: int) -> float:
    """Load of an instance as a token machine; one that has no room left comes last."""
    instances = state.instances
    promised = float(instances[m].promised_tokens)
    if state.rules[0].router == SHORTEST_QUEUE:
        return promised
    room = float(block.room_tokens(state, m))
    full = 1e6 * promised / room if promised > room else 0.0
    return gap_s(state, m) + full


@jit
def refresh(state: State, m: int) -> None:
    """Bring the trees up to date with an instance's load."""
    instances, rules = state.instances, state.rules[0]
    if instances[m].failed_s < math.inf:
        return
    g, place, mixed = instances[m].home, instances[m].place, instances[m].mixed
    role = state.groups[g].role
    if mixed == 1 or role != TOKEN:
        idle, busy = math.inf, math.inf
        if rules.router == SHORTEST_QUEUE:
            pending = instances[m].pending_tokens
            if rules.scheduler == COLOCATED:
                pending += instances[m].assigned
            idle = float(pending)
        else:
            load = instances[m].backlog_ns * 1e-9
            if rules.scheduler == COLOCATED:
                load += rules.mean_iterations * token_key(state, m)
            if instances[m].running == 1 and instances[m].prompt_tokens > 0:
                busy = block.end_s(instances, m, 1) + load
            else:
                idle = load
        _set(state, g, mixed, IDLE, place, idle)
        _set(state, g, mixed, BUSY, place, busy)
    if rules.scheduler != COLOCATED and (mixed == 1 or role != PROMPT):
        _set(state, g, mixed, GENERATING, place, token_key(state, m))


@jit
def move(state: State, m: int, mixed: int) -> None:
    """Move an instance into the mixed pool or back home."""
    instances = state.instances
    g, place = instances[m].home, instances[m].place
    for kind in range(3):
        _set(state, g, instances[m].mixed, kind, place, math.inf)
    instances[m].mixed = mixed
    refresh(state, m)


@jit
def withdraw(state: State, m: int) -> None:
    """Let no request be routed to an instance any more."""
    instances = state.instances
    for tree in range(6):
        _set(state, instances[m].home, tree // 3, tree % 3, instances[m].place, math.inf)
    state.groups[instances[m].home].living -= 1


@jit
def settle(state: State, m: int) -> None:
    """Send a borrowed instance home once its foreign work is done."""
    instances = state.instances
    role = state.groups[instances[m].home].role
    if instances[m].mixed == 0 or role == MIXED:
        return
    foreign = instances[m].assigned if role == PROMPT else instances[m].prompts
    if foreign == 0:
        state.counters[RETURNED] += 1
        move(state, m, 0)


@jit
def _prompt_value(state: State, g: int, mixed: int, r: int, now: float) -> tuple[float, int]:
    """Expected end of a prompt at the best member of a group, and that member's place."""
    trees = state.trees[g]
    idle, busy = now + trees[3 * mixed + IDLE, 1], trees[3 * mixed + BUSY, 1]
    kind = IDLE if idle <= busy else BUSY
    value = min(idle, busy)
    if value == math.inf:
        return value, NONE
    if state.rules[0].router != SHORTEST_QUEUE:
        d = state.groups[g].deployment
        value += alone_ns(state, d, state.requests[r].prompt_tokens) * 1e-9
    return value, _least(state, g, mixed, kind)


@jit
def _wanted(state: State, r: int, role: int) -> int:
    """Group that is furthest behind its share of a request class; NONE where none has a share."""
    groups = state.groups
    k = state.requests[r].request_class
    best, furthest = NONE, -math.inf
    for g in range(len(groups)):
        if groups[g].role != role or state.share[g, k] <= 0 or groups[g].living == 0:
            continue
        behind = state.share[g, k] * (state.given[len(groups), k] + 1) - state.given[g, k]
        if behind > furthest + 1e-9:
            best, furthest = g, behind
    return best


@jit
def choose(state: State, r: int, pool: int, tokens: bool, now: float) -> int:
    """Best instance of a pool (a role's home list, or the mixed pool) for one phase, or NONE.

    For ``tokens`` the least loaded token machine, else the prompt machine.
    """
    groups = state.groups
    only, mixed = NONE, 1 if pool == MIXED else 0
    if state.rules[0].router == PLAN_SHARES:
        only = _wanted(state, r, pool)
    best, best_value = NONE, math.inf
    for g in range(len(groups)):
        if (mixed == 0 and groups[g].role != pool) or only not in (NONE, g):
            continue
        if tokens:
            value = state.trees[g, 3 * mixed + GENERATING, 1]
            place = _least(state, g, mixed, GENERATING)
        else:
            value, place = _prompt_value(state, g, mixed, r, now)
        if value < best_value:
            best, best_value = groups[g].first + place, value
    return best


@jit
def _accepts_prompt(state: State, m: int, r: int) -> bool:
    if m == NONE:
        return False
    instances = state.instances
    waiting = instances[m].head[WAITING] != NONE
    pending = instances[m].pending_tokens + state.requests[r].prompt_tokens
    return not (waiting and pending > state.rules[0].most_waiting_tokens)


@jit
def _accepts_tokens(state: State, m: int, r: int) -> bool:
    if m == NONE:
        return False
    promised = state.instances[m].promised_tokens + block.held_tokens(state.requests, r)
    return bool(promised <= block.room_tokens(state, m))


@jit
def _borrow(state: State, m: int) -> int:
    if m != NONE:
        is_prompt = state.groups[state.instances[m].home].role == PROMPT
        state.counters[BORROWED_PROMPT if is_prompt else BORROWED_TOKEN] += 1
        move(state, m, 1)
    return m


@jit
def _foreign(state: State, role: int, tokens: bool) -> int:
    """Least loaded member of the opposite home list, by the load that it is to take."""
    instances = state.instances
    best, least = NONE, math.inf
    for m in range(len(instances)):
        if instances[m].mixed == 1 or instances[m].failed_s < math.inf:
            continue
        if state.groups[instances[m].home].role != role:
            continue
        load = instances[m].promised_tokens if tokens else instances[m].pending_tokens
        if load < least:
            best, least = m, float(load)
    return best


@jit
def _least_pending(state: State) -> int:
    """Instance of any pool with the fewest prompt tokens pending."""
    instances, best = state.instances, NONE
    for m in range(len(instances)):
        if instances[m].failed_s < math.inf:
            continue
        if best == NONE or instances[m].pending_tokens < instances[best].pending_tokens:
            best = m
    return best


@jit
def route(state: State, r: int, now: float) -> tuple[int, int]:
    """Choose the prompt and the token machine of a request that arrives."""
    scheduler = state.rules[0].scheduler
    if scheduler == COLOCATED:
        m = choose(state, r, MIXED, False, now)
        return m, m
    prompt_at = choose(state, r, PROMPT, False, now)
    token_at = choose(state, r, TOKEN, True, now)
    if scheduler != MIXED_POOL:
        return prompt_at, token_at
    if not _accepts_prompt(state, prompt_at, r):
        prompt_at = choose(state, r, MIXED, False, now)
        if not _accepts_prompt(state, prompt_at, r):
            prompt_at = _borrow(state, _foreign(state, TOKEN, False))
    if not _accepts_tokens(state, token_at, r):
        token_at = choose(state, r, MIXED, True, now)
        if not _accepts_tokens(state, token_at, r):
            token_at = _borrow(state, _foreign(state, PROMPT, True))
    if NONE in (prompt_at, token_at):
        m = _least_pending(state)
        return m, m
    return prompt_at, token_at
