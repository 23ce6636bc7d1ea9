"""One machine of the compatible mode: its memory, its queues, and how it picks the next batch.

The rules are those of the simulator published with Splitwise (commit 8f99e7d), defects included,
so that its figures can be repeated: token time looked up by number of requests, prompts slowed by
a fixed factor when they share an iteration, an ageing count that also counts waiting. None of
this is the physics of `provisioner.performance`.

A batch runs for a *block* of equal iterations: one where it holds a prompt, else as many as the
request nearest its end needs. Memory is counted in KV-cache tokens.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Literal

from provisioner.simulation.published_batch import (
    BATCH_TASKS,
    BATCH_TOKENS,
    Request,
    Selection,
    Task,
)

MIXED_STRETCH = 1.1
"""Time of an iteration with prompts and token work over that of as many prompt tokens alone."""
AGED = 4
"""A request that was left out of this many batches goes first."""

Kind = Literal["prompt", "token", "mixed"]
TimeTable = tuple[tuple[float, float], ...]
"""Knots (x, seconds), x strictly increasing, at least two."""


@dataclass(frozen=True)
class PublishedMachine:
    """What the compatible mode knows of a machine.

    Attributes
    ----------
    prompt_time_s : TimeTable
        Iteration time [s] against the prompt tokens of the batch.
    token_time_s : TimeTable
        Iteration time [s] against x. The table was measured over tokens held; the compatible
        mode looks it up at the number of requests in the batch.
    kv_room_tokens : float
        KV-cache tokens that fit beside the weights.
    """

    prompt_time_s: TimeTable
    token_time_s: TimeTable
    kv_room_tokens: float


class Lookup:
    """A time table read at whole numbers; its end segments continue on both sides."""

    def __init__(self, table: TimeTable) -> None:
        self._x = [x for x, _ in table]
        self._y = [y for _, y in table]
        self._known: dict[int, float] = {}

    def __call__(self, x: int) -> float:
        """Time [s] at x."""
        time_s = self._known.get(x)
        if time_s is None:
            time_s = self._known[x] = self._interpolated(x)
        return time_s

    def _interpolated(self, x: int) -> float:
        right = min(max(bisect_left(self._x, x), 1), len(self._x) - 1)
        x0, x1 = self._x[right - 1], self._x[right]
        y0, y1 = self._y[right - 1], self._y[right]
        return y0 + (y1 - y0) / (x1 - x0) * (x - x0)


def _arrival(task: Task) -> int:
    return task.request.index


class Machine:
    """A machine's state. It knows no events: the cluster calls it at the right times.

    Attributes
    ----------
    used_tokens : int
        KV-cache tokens really held.
    promised_tokens : int
        KV-cache tokens that routing has promised; not the sum of what is held and expected.
    backlog_tokens : int
        What routing takes for the queue: prompt tokens to do, and one per token task.
    batch : list of Task
        What runs, in order of entry; empty while idle.
    batch_tokens : int
        Prompt tokens of the batch, and one per token task.
    block_start_s, block_end_s : float
        When the block that runs began and will end; NaN while idle.
    block_kind : str
        What is in the batch: ``prompt``, ``token`` or ``mixed`` work.
    block_iterations : int
        Iterations of the block.
    """

    def __init__(self, number: int, kind: PublishedMachine, home: list[Machine]) -> None:
        self.number = number
        self.home = home
        self.room_tokens = kind.kv_room_tokens
        self.prompt_time_s = Lookup(kind.prompt_time_s)
        self.token_time_s = Lookup(kind.token_time_s)
        self.used_tokens = 0
        self.promised_tokens = 0
        self.backlog_tokens = 0
        self.batch: list[Task] = []
        self.block_end_s = math.nan
        self.batch_tokens = 0
        self.block_start_s = self._iteration_s = math.nan
        self.block_iterations = 0
        self.block_kind: Kind = "token"
        self._paused = False
        self._blocks = 0
        # By arrival at this machine. Dictionaries serve as ordered sets that forget in O(1).
        self._prompts: dict[Task, None] = {}
        self._blocked: dict[Task, None] = {}
        # By the order in which the published rules insert: a plain list, because the key changes
        # after insertion and a search has to probe the positions that theirs would.
        self._pending: list[Task] = []
        # Requests here that are not in the batch, by arrival in the cluster.
        self._waiting: list[tuple[int, Request]] = []

    @property
    def is_empty(self) -> bool:
        """Whether no request has work here."""
        return not self.batch and not self._waiting

    @property
    def has_pending(self) -> bool:
        """Whether a task waits."""
        return bool(self._pending)

    @property
    def head(self) -> Task:
        """The task that waits first."""
        return self._pending[0]

    def fits_memory(self, tokens: int) -> bool:
        """Whether so many more KV-cache tokens fit."""
        return self.used_tokens + tokens <= self.room_tokens

    def missed(self, request: Request) -> int:
        """How many batches have left a request of this machine out."""
        # Counting from the number of blocks spares a pass over all that wait at every block.
        return request.missed + self._blocks if request.waiting else request.missed

    def enqueue(self, task: Task) -> None:
        """Let a task wait; the tokens of a request whose prompt is still to do wait behind it."""
        insort(self._pending, task, key=self._rank)
        if task.is_prompt:
            self._prompts[task] = None
        if task is task.request.task:
            self._wait(task.request)

    def may_join(self, task: Task) -> bool:
        """Whether a task that arrives is reason to end the block at the iteration in progress."""
        if len(self.batch) < BATCH_TASKS and self.batch_tokens + task.size_tokens <= BATCH_TOKENS:
            return True
        running = sum(not other.is_prompt for other in self.batch)
        left = self.batch_tokens - running
        return task.is_prompt and running > 0 and left + task.size_tokens <= BATCH_TOKENS

    def has_batch_room(self) -> bool:
        """Whether the batch could take one more token task."""
        return len(self.batch) < BATCH_TASKS and self.batch_tokens < BATCH_TOKENS

    def pause(self, now_s: float) -> bool:
        """End the block at the iteration in progress; say whether its end has moved."""
        if self._paused or self.block_kind != "token":
            return False
        self._paused = True
        done = int((now_s - self.block_start_s) // self._iteration_s)
        # At the very end of a block rounding may count its last iteration as done.
        self.block_iterations = min(done + 1, self.block_iterations)
        self.block_end_s = self.block_start_s + self.block_iterations * self._iteration_s
        return True

    def end_block(self) -> list[Task]:
        """Advance the batch by its block; return the tasks that are done, which leave it."""
        done = []
        for task in self.batch:
            task.left -= self.block_iterations
            if task.left <= 0:
                done.append(task)
        if done:
            self.batch = [task for task in self.batch if task.left > 0]
        return done

    def chain(self, request: Request) -> None:
        """Go on with the tokens of a request whose prompt has just been done here."""
        request.task = request.token
        self._wait(request)

    def start_block(self, now_s: float) -> int:
        """Pick the next batch and start it; return how many tasks it pre-empts.

        The batch stays empty where nothing can run.
        """
        before = self.batch
        chosen = Selection(self.used_tokens, self.room_tokens)
        self._take_aged(chosen)
        chosen.take_first(self._prompts)
        chosen.take_blocked(self._blocked)
        chosen.take_running(before)
        chosen.take_waiting(self._waiting)
        self.batch = chosen.tasks
        self.used_tokens = chosen.memory_tokens
        self.batch_tokens = chosen.tokens
        for task in chosen.entered:
            self._enter(task, now_s)
        preempted = before[chosen.kept :]
        for task in sorted(preempted, key=_arrival):
            self._preempt(task)
        self._blocks += 1
        self._time_block(now_s)
        return len(preempted)

    def _take_aged(self, chosen: Selection) -> None:
        for task in self._pending:
            if self.missed(task.request) < AGED or not chosen.fits_tokens(task):
                break
            if task is task.request.task and (task.blocked or chosen.fits_memory(task)):
                chosen.take(task)

    def _time_block(self, now_s: float) -> None:
        self.block_start_s = now_s
        self._paused = False
        if not self.batch:
            self.block_end_s = math.nan
            return
        running = sum(not task.is_prompt for task in self.batch)
        if running == len(self.batch):
            self.block_kind = "token"
            self._iteration_s = self.token_time_s(running)
            self.block_iterations = min(task.left for task in self.batch)
        else:
            self.block_kind = "mixed" if running else "prompt"
            stretch = MIXED_STRETCH if running else 1.0
            self._iteration_s = stretch * self.prompt_time_s(self.batch_tokens)
            self.block_iterations = 1
        self.block_end_s = now_s + self.block_iterations * self._iteration_s

    def _enter(self, task: Task, now_s: float) -> None:
        if math.isnan(task.start_s):
            task.start_s = now_s
        self._pending.remove(task)
        if task.is_prompt:
            del self._prompts[task]
        elif task.blocked:
            del self._blocked[task]
            task.blocked = False
        request = task.request
        del self._waiting[bisect_left(self._waiting, (request.index,))]
        request.missed += self._blocks
        request.waiting = False

    def _preempt(self, task: Task) -> None:
        task.blocked = True
        self._blocked[task] = None
        insort(self._pending, task, key=self._rank)
        self._wait(task.request)

    def _wait(self, request: Request) -> None:
        insort(self._waiting, (request.index, request))
        request.missed -= self._blocks
        request.waiting = True

    def _rank(self, task: Task) -> tuple[int, int]:
        return self.missed(task.request), task.request.index
