"""A cluster of the compatible mode: routing, transfers of KV-cache, and the events.

Two routings, as in the simulator published with Splitwise (commit 8f99e7d): mixed machines only,
each request on the machine with the shortest queue; or prompt and token machines, chosen
together at arrival, where a machine of the other kind is borrowed when none has room.

Not modelled, because it is not there: contention between transfers, work that goes on during one,
the network's speed at either end.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter

from provisioner.simulation.published_batch import Request, Task
from provisioner.simulation.published_machine import Kind, Machine, PublishedMachine

BACKLOG_TOKENS = 8192
"""Longest queue that a prompt joins on a machine where something waits."""
RETRY_S = 1.0
"""Wait of a transfer that found no memory."""
END_S = 86_400.0
"""Nothing happens from here on: requests that are not done stay so."""

backlog = attrgetter("backlog_tokens")
promised = attrgetter("promised_tokens")


@dataclass(frozen=True)
class PublishedPools:
    """Which machine has which role, by its place in the list of machines.

    Attributes
    ----------
    prompt, token : tuple of int
        Home pools; both empty where all machines are mixed.
    mixed : tuple of int
        Machines that do both; empty where there are prompt and token machines: the mixed pool
        of the published design starts empty and holds what is borrowed.
    transfer_s_per_token : float
        Time [s] to move the KV-cache of one prompt token to another machine.
    """

    prompt: tuple[int, ...] = ()
    token: tuple[int, ...] = ()
    mixed: tuple[int, ...] = ()
    transfer_s_per_token: float = 0.0


@dataclass
class Counters:
    """What happened in a run.

    Attributes
    ----------
    preemptions : int
        Token tasks that ran and were left out of the next batch.
    borrowed : Counter
        Machines borrowed for the mixed pool, by the pool that they are of.
    retries : int
        Times that a transfer waited for memory.
    iterations : Counter
        Iterations by what was in the batch: ``prompt``, ``token`` or ``mixed``.
    active_s : dict
        Time that machines spent with so many tokens in the batch [s]; not that without any.
    """

    preemptions: int = 0
    borrowed: Counter[Kind] = field(default_factory=Counter)
    retries: int = 0
    iterations: Counter[Kind] = field(default_factory=Counter)
    active_s: dict[int, float] = field(default_factory=lambda: defaultdict(float))


@dataclass
class Cluster:
    """Machines, pools, and the heap of what is to come: (time, sequence, action)."""

    kinds: Sequence[PublishedMachine]
    roles: PublishedPools
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        """Make the machines, each in its pool."""
        self.prompt_pool: list[Machine] = []
        self.token_pool: list[Machine] = []
        self.mixed_pool: list[Machine] = []
        for pool, numbers in (
            (self.prompt_pool, self.roles.prompt),
            (self.token_pool, self.roles.token),
            (self.mixed_pool, self.roles.mixed),
        ):
            pool.extend(Machine(number, self.kinds[number], pool) for number in numbers)
        self._is_split = bool(self.prompt_pool or self.token_pool)
        self._heap: list[tuple[float, int, Callable[[float], None]]] = []
        self._sequence = 0

    def run(self, arrivals: Iterable[tuple[float, Request]]) -> None:
        """Play all arrivals, in order of time, and drain the queues."""
        for arrival_s, request in arrivals:
            self._play_until(arrival_s)
            self._arrive(request, arrival_s)
        self._play_until(END_S)

    def _play_until(self, end_s: float) -> None:
        heap = self._heap
        while heap and heap[0][0] < end_s:
            now_s, _, action = heapq.heappop(heap)
            action(now_s)

    def _at(self, time_s: float, action: Callable[[float], None]) -> None:
        heapq.heappush(self._heap, (time_s, self._sequence, action))
        self._sequence += 1

    def _arrive(self, request: Request, now_s: float) -> None:
        prompt_machine, token_machine = self._route(request)
        request.prompt_machine = prompt_machine
        request.token_machine = token_machine
        self._task_arrives(prompt_machine, request.prompt, now_s)
        if token_machine is prompt_machine:
            self._task_arrives(token_machine, request.token, now_s)

    # Routing

    def _route(self, request: Request) -> tuple[Machine, Machine]:
        if self._is_split:
            prompt_machine, token_machine = self._pair(request)
            prompt_machine.promised_tokens += request.prompt.memory_tokens
            token_machine.promised_tokens += request.token.memory_tokens
            if token_machine is not prompt_machine:
                token_machine.promised_tokens += request.prompt.memory_tokens
        else:
            prompt_machine = token_machine = min(self.mixed_pool, key=backlog)
        prompt_machine.backlog_tokens += request.prompt_tokens
        token_machine.backlog_tokens += 1
        return prompt_machine, token_machine

    def _pair(self, request: Request) -> tuple[Machine, Machine]:
        prompt_machine = self._prompt_machine(request)
        token_machine = self._token_machine(request)
        if prompt_machine is None and self.token_pool:
            prompt_machine = self._borrow(min(self.token_pool, key=backlog))
        if token_machine is None and self.prompt_pool:
            token_machine = self._borrow(min(self.prompt_pool, key=promised))
        if prompt_machine is None or token_machine is None:
            everyone = chain(self.prompt_pool, self.mixed_pool, self.token_pool)
            prompt_machine = token_machine = min(everyone, key=backlog)
        return prompt_machine, token_machine

    def _prompt_machine(self, request: Request) -> Machine | None:
        for pool in (self.prompt_pool, self.mixed_pool):
            if pool:
                machine = min(pool, key=backlog)
                queue_tokens = machine.backlog_tokens + request.prompt_tokens
                if not machine.has_pending or queue_tokens <= BACKLOG_TOKENS:
                    return machine
        return None

    def _token_machine(self, request: Request) -> Machine | None:
        for pool in (self.token_pool, self.mixed_pool):
            if pool:
                machine = min(pool, key=promised)
                if machine.promised_tokens + request.memory_tokens < machine.room_tokens:
                    return machine
        return None

    def _borrow(self, machine: Machine) -> Machine:
        self.counters.borrowed["prompt" if machine.home is self.prompt_pool else "token"] += 1
        machine.home.remove(machine)
        self.mixed_pool.append(machine)
        return machine

    def _send_home(self, machine: Machine) -> None:
        if machine.home is not self.mixed_pool and machine in self.mixed_pool:
            self.mixed_pool.remove(machine)
            machine.home.append(machine)

    # Work on a machine

    def _task_arrives(self, machine: Machine, task: Task, now_s: float) -> None:
        machine.enqueue(task)
        if not machine.batch:
            if machine.fits_memory(task.memory_tokens):
                self._start_block(machine, now_s)
        elif machine.may_join(task):
            self._pause(machine, now_s)

    def _start_block(self, machine: Machine, now_s: float) -> None:
        self.counters.preemptions += machine.start_block(now_s)
        if machine.batch:
            self._expect_end(machine)
        elif machine.is_empty:
            self._send_home(machine)

    def _pause(self, machine: Machine, now_s: float) -> None:
        if machine.pause(now_s):
            self._expect_end(machine)

    def _expect_end(self, machine: Machine) -> None:
        self._at(machine.block_end_s, partial(self._end_block, machine))

    def _end_block(self, machine: Machine, now_s: float) -> None:
        # A pause leaves the later end behind in the heap; the machine's own time tells.
        if now_s != machine.block_end_s:
            return
        self.counters.iterations[machine.block_kind] += machine.block_iterations
        self.counters.active_s[machine.batch_tokens] += now_s - machine.block_start_s
        for task in machine.end_block():
            if task.is_prompt:
                self._end_prompt(task.request, now_s)
            else:
                self._end_tokens(task.request, now_s)
        self._start_block(machine, now_s)

    def _end_prompt(self, request: Request, now_s: float) -> None:
        source = request.prompt_machine
        source.backlog_tokens -= request.prompt_tokens
        request.first_token_s = now_s
        if source is request.token_machine:
            source.chain(request)
        else:
            self._send(request, now_s)

    def _end_tokens(self, request: Request, now_s: float) -> None:
        machine = request.token_machine
        machine.backlog_tokens -= 1
        machine.used_tokens -= request.memory_tokens
        machine.promised_tokens -= request.memory_tokens
        request.finish_s = now_s

    # Transfers

    def _send(self, request: Request, now_s: float) -> None:
        if not request.token_machine.fits_memory(request.prompt.memory_tokens):
            self.counters.retries += 1
            self._at(now_s + RETRY_S, partial(self._send, request))
            return
        request.token_machine.used_tokens += request.prompt.memory_tokens
        duration_s = self.roles.transfer_s_per_token * request.prompt_tokens
        self._at(now_s + duration_s, partial(self._receive, request))

    def _receive(self, request: Request, now_s: float) -> None:
        source = request.prompt_machine
        source.used_tokens -= request.prompt.memory_tokens
        source.promised_tokens -= request.prompt.memory_tokens
        request.task = request.token
        self._task_arrives(request.token_machine, request.token, now_s)
        if not source.has_pending:
            return
        if not source.batch:
            if source.fits_memory(source.head.memory_tokens):
                self._start_block(source, now_s)
        elif source.has_batch_room():
            self._pause(source, now_s)
