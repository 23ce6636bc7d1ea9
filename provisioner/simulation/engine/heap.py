"""Indexed binary heap: at most one event per entity, moved in place; ties go to the lower one."""

from __future__ import annotations

from provisioner.simulation.engine.jit import jit
from provisioner.simulation.engine.state import NONE, Heap


@jit
def _before(time_a: float, entity_a: int, time_b: float, entity_b: int) -> bool:
    return time_a < time_b or (time_a == time_b and entity_a < entity_b)


@jit
def _put(heap: Heap, at: int, time_s: float, entity: int) -> None:
    heap.nodes[at].time_s = time_s
    heap.nodes[at].entity = entity
    heap.position[entity] = at


@jit
def _up(heap: Heap, at: int, time_s: float, entity: int) -> None:
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(time_s, entity, heap.nodes[parent].time_s, heap.nodes[parent].entity):
            break
        _put(heap, at, heap.nodes[parent].time_s, heap.nodes[parent].entity)
        at = parent
    _put(heap, at, time_s, entity)


@jit
def _down(heap: Heap, at: int, time_s: float, entity: int) -> None:
    size = heap.size[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and _before(
            heap.nodes[other].time_s,
            heap.nodes[other].entity,
            heap.nodes[child].time_s,
            heap.nodes[child].entity,
        ):
            child = other
        if not _before(heap.nodes[child].time_s, heap.nodes[child].entity, time_s, entity):
            break
        _put(heap, at, heap.nodes[child].time_s, heap.nodes[child].entity)
        at = child
    _put(heap, at, time_s, entity)


@jit
def schedule(heap: Heap, entity: int, time_s: float) -> None:
    """Set the time of an entity's event, whether it has one or not."""
    at = heap.position[entity]
    if at == NONE:
        at = heap.size[0]
        heap.size[0] = at + 1
        _up(heap, at, time_s, entity)
    elif _before(time_s, entity, heap.nodes[at].time_s, entity):
        _up(heap, at, time_s, entity)
    else:
        _down(heap, at, time_s, entity)


@jit
def cancel(heap: Heap, entity: int) -> None:
    """Drop an entity's event, if it has one."""
    at = heap.position[entity]
    if at == NONE:
        return
    heap.position[entity] = NONE
    last = heap.size[0] - 1
    heap.size[0] = last
    if at == last:
        return
    time_s, moved = heap.nodes[last].time_s, heap.nodes[last].entity
    parent = (at - 1) >> 1
    if at > 0 and _before(time_s, moved, heap.nodes[parent].time_s, heap.nodes[parent].entity):
        _up(heap, at, time_s, moved)
    else:
        _down(heap, at, time_s, moved)
