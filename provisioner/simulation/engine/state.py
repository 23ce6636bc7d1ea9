"""State of the engine: arrays of records, one per deployment, instance, resident or request.

An *instance* is what runs one copy of the model; a machine holds one or several. Token counts are
whole numbers. Queues of requests are linked lists: a request waits in one queue at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provisioner.performance.token import MAX_BATCH

NONE = -1
"""No request, no instance, no event."""
MOST_STALLS = 4
"""Iterations that a request may miss in a row before it goes ahead of prompts."""
GAP_BINS, GAP_LOW_S, GAP_PER_DECADE = 300, 1e-3, 50
"""Histogram of gaps between tokens: logarithmic bins upwards from 1 ms."""

WAITING, JOINING, INCOMING, PAUSED, BATCH = range(5)
"""Queues of an instance: prompts; token work that joins at the next boundary; prompts done
elsewhere that wait for room here; paused token work; prompts of the running iteration."""

MOST_KNOTS = 32
MOST_ACTIVE = 4096
"""Active tokens of a batch are told apart up to here."""
POWER_TOKENS = 4096
"""Prompt power is tabulated up to here and constant beyond."""


def _fields(kind: str, *names: str) -> list[tuple[str, str]]:
    return [(name, kind) for name in names]


DEPLOYMENT = np.dtype(
    [
        *_fields("i8", "knots", "room_tokens"),
        ("prompt_x", "f8", (MOST_KNOTS,)),
        ("prompt_y", "f8", (MOST_KNOTS,)),
        *_fields("f8", "prompt_slope_s", "quadratic_s", "context_s", "kv_bytes"),
        *_fields("f8", "network_bytes_per_s", "host_bytes_per_s", "floor_s"),
        ("base_s", "f8", (MAX_BATCH + 1,)),
        ("token_w", "f8", (MAX_BATCH + 1,)),
        ("prompt_w", "f8", (POWER_TOKENS + 1,)),
    ],
    align=True,
)
"""Physics of a deployment (DESIGN 3); the first ``knots`` entries of the prompt curve count."""
INSTANCE = np.dtype(
    [
        *_fields("i8", "deployment", "home", "place", "mixed"),
        ("head", "i8", (5,)),
        ("tail", "i8", (5,)),
        *_fields("i8", "used_tokens", "count", "kv_tokens", "iteration", "running", "planned"),
        *_fields("i8", "decoding", "prompt_tokens", "chunked", "chunk_tokens", "fresh"),
        *_fields("i8", "stalled", "next_finish"),
        *_fields("i8", "backlog_ns", "prompts", "pending_tokens", "assigned", "promised_tokens"),
        ("returning", "i8"),
        ("flow_head", "i8", (2,)),
        ("flow_count", "i8", (2,)),
        *_fields("f8", "start_s", "first_s", "step_s", "prompt_busy_s", "token_busy_s"),
        *_fields("f8", "batch_s", "kv_token_s", "energy_j", "failed_s"),
    ],
    align=True,
)
"""``home`` is the instance's group, ``mixed`` whether it is in the mixed pool at the moment, and
``failed_s`` when it was gone, infinite as long as it is not.

``fresh`` residents have no gap of one iteration next, ``stalled`` ones missed the last iteration;
``next_finish`` is the iteration after which the first resident is done.
"""
SLOT = np.dtype(
    [("finish_at", "i8"), ("last_s", "f8"), ("resident", "i4"), ("stalls", "i4")], align=True
)
"""A resident: a request that is generating here; ``last_s`` is negative where its last token came
with the iteration before."""
REQUEST = np.dtype(
    [
        *_fields("f8", "arrival_s", "prompt_start_s", "first_token_s", "ready_s"),
        *_fields("f8", "token_start_s", "finish_s", "left_bytes", "rate_bytes_per_s", "updated_s"),
        *_fields("i4", "prompt_tokens", "output_tokens", "request_class", "prompt_at", "token_at"),
        *_fields("i4", "next", "made", "done_tokens", "phase", "restarts"),
        ("flow_next", "i4", (2,)),
        ("flow_last", "i4", (2,)),
    ],
    align=True,
)
"""Times [s] are infinite until they happen."""
GROUP = np.dtype(
    [
        *_fields("i8", "role", "deployment", "first", "living"),
        ("gaps", "f8", (GAP_BINS,)),
        ("active_s", "f8", (MOST_ACTIVE + 1,)),
    ],
    align=True,
)
"""Instances of one deployment and home role; ``active_s`` is the time that they spent with so many
prompt tokens and generating requests in the batch."""
FAILURE = np.dtype([("time_s", "f8"), ("instance", "i8")], align=True)
NODE = np.dtype([("time_s", "f8"), ("entity", "i8")], align=True)
RULES = np.dtype(
    [
        *_fields("i8", "scheduler", "router", "chunk_tokens", "most_waiting_tokens"),
        *_fields("f8", "mean_iterations", "from_s", "until_s"),
    ],
    align=True,
)
Array = NDArray[Any]


class Heap(NamedTuple):
    """Indexed heap of the next event of every request and instance."""

    nodes: Array
    position: Array
    size: Array


class State(NamedTuple):
    """Everything the engine works on.

    ``trees`` finds the least loaded member of a group (group x tree x nodes); ``share`` and
    ``given`` are per group and request class, the last row of ``given`` being the total;
    ``failures`` are in order of time.
    """

    deployments: Array
    instances: Array
    slots: Array
    requests: Array
    groups: Array
    trees: Array
    share: Array
    given: Array
    heap: Heap
    rules: Array
    failures: Array
    counters: Array


COUNTERS = (
    "iterations",
    "blocks",
    "stalls",
    "pauses",
    "borrowed_prompt",
    "borrowed_token",
    "returned",
    "shared_transfers",
    "layered_transfers",
    "serial_transfers",
    "waits_for_room",
    "chunks",
    "restarts",
    "redirects",
)
(
    ITERATIONS,
    BLOCKS,
    STALLS,
    PAUSES,
    BORROWED_PROMPT,
    BORROWED_TOKEN,
    RETURNED,
    SHARED,
    LAYERED,
    SERIAL,
    ROOM_WAITS,
    CHUNKS,
    RESTARTS,
    REDIRECTS,
) = range(len(COUNTERS))
PROMPT, TOKEN, MIXED = range(3)
COLOCATED, SPLIT, MIXED_POOL = range(3)
EXPECTED_FINISH, SHORTEST_QUEUE, PLAN_SHARES = range(3)
SENDER, RECEIVER = range(2)
"""Ends of a transfer: lists of the transfers out of an instance, and into it."""
IDLE, BUSY, GENERATING = range(3)
"""Trees of a group, per pool that its instances are in."""


def new_instances(home: Array, place: Array, deployment: Array, mixed: Array) -> Array:
    """Instances with nothing to do."""
    instances = np.zeros(len(home), dtype=INSTANCE)
    instances["home"], instances["place"] = home, place
    instances["deployment"], instances["mixed"] = deployment, mixed
    for name in ("head", "tail", "chunked", "returning", "flow_head"):
        instances[name] = NONE
    instances["failed_s"] = np.inf
    return instances


def new_heap(requests: int, instances: int) -> Heap:
    """An empty heap; an event of request r is entity r, of instance m entity requests + m."""
    most = requests + instances
    return Heap(
        nodes=np.empty(most + 1, dtype=NODE),
        position=np.full(most, NONE, dtype=np.int32),
        size=np.zeros(1, dtype=np.int64),
    )
