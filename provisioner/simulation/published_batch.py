"""Requests of the compatible mode, and a batch being picked from them.

What limits a batch: 512 tasks, 2048 tokens (a prompt counts whole, a token task as one), and the
machine's KV-cache memory, all of which a task claims when it first enters. Outputs are known in
advance; there is no growth and no paging.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provisioner.simulation.published_machine import Machine

BATCH_TASKS = 512
BATCH_TOKENS = 2048


class Task:
    """Prompt or token work of one request.

    Attributes
    ----------
    size_tokens : int
        What it takes of a batch's token limit: the whole prompt, or one.
    memory_tokens : int
        KV-cache tokens that it claims when it first enters a batch.
    left : int
        Iterations until it is done.
    """

    __slots__ = (
        "blocked",
        "is_prompt",
        "left",
        "memory_tokens",
        "request",
        "size_tokens",
        "start_s",
    )

    def __init__(
        self, request: Request, is_prompt: bool, size_tokens: int, memory_tokens: int, left: int
    ) -> None:
        self.request = request
        self.is_prompt = is_prompt
        self.size_tokens = size_tokens
        self.memory_tokens = memory_tokens
        self.left = left
        self.blocked = False
        self.start_s = math.nan


class Request:
    """One request on its way through the cluster; `index` is its rank by arrival.

    Attributes
    ----------
    task : Task
        What is to be done next: the prompt, then the tokens.
    missed : int
        Batches that left it out, where it is not waiting; see `Machine.missed`.
    prompt_machine, token_machine : Machine
        Chosen at arrival.
    """

    __slots__ = (
        "finish_s",
        "first_token_s",
        "index",
        "missed",
        "prompt",
        "prompt_machine",
        "prompt_tokens",
        "task",
        "token",
        "token_machine",
        "waiting",
    )

    prompt_machine: Machine
    token_machine: Machine

    def __init__(self, index: int, prompt_tokens: int, output_tokens: int) -> None:
        self.index = index
        self.prompt_tokens = prompt_tokens
        self.prompt = Task(self, True, prompt_tokens, prompt_tokens + 1, 1)
        self.token = Task(self, False, 1, output_tokens - 1, output_tokens - 1)
        self.task = self.prompt
        self.first_token_s = self.finish_s = math.nan
        self.missed = 0
        self.waiting = False

    @property
    def memory_tokens(self) -> int:
        """KV-cache tokens of the whole request."""
        return self.prompt.memory_tokens + self.token.memory_tokens


class Selection:
    """A batch being picked: what it holds, and whether one more task fits.

    Attributes
    ----------
    tasks : list of Task
        The batch, in order of entry.
    entered : list of Task
        Those that did not run in the batch before.
    kept : int
        How many of the tasks that run go on: the first so many of the batch before.
    tokens : int
        What the batch takes of the token limit.
    memory_tokens : int
        KV-cache tokens held on the machine once the batch has started.
    """

    def __init__(self, used_tokens: int, room_tokens: float) -> None:
        self.tasks: list[Task] = []
        self.entered: list[Task] = []
        self.kept = 0
        self.tokens = 0
        self.memory_tokens = used_tokens
        self._room_tokens = room_tokens
        self._taken: set[Task] = set()

    def fits_tokens(self, task: Task) -> bool:
        """Whether the limits on tasks and tokens allow it; any task may run alone."""
        if not self.tasks:
            return True
        return len(self.tasks) < BATCH_TASKS and self.tokens + task.size_tokens <= BATCH_TOKENS

    def fits_memory(self, task: Task) -> bool:
        """Whether what the task claims fits the machine's memory."""
        return self.memory_tokens + task.memory_tokens <= self._room_tokens

    def take(self, task: Task) -> None:
        """Add a task that has not been running; a blocked one still has its memory."""
        self.tasks.append(task)
        self.entered.append(task)
        self._taken.add(task)
        self.tokens += task.size_tokens
        if not task.blocked:
            self.memory_tokens += task.memory_tokens

    def take_first(self, prompts: Iterable[Task]) -> None:
        """Take prompts until one does not fit: none overtakes another."""
        for task in prompts:
            if task not in self._taken:
                if not self.fits_tokens(task) or not self.fits_memory(task):
                    break
                self.take(task)

    def take_blocked(self, blocked: Iterable[Task]) -> None:
        """Take pre-empted tasks until the batch is full."""
        for task in blocked:
            if task not in self._taken:
                if not self.fits_tokens(task):
                    break
                self.take(task)

    def take_running(self, running: list[Task]) -> None:
        """Let the tasks that run go on until the batch is full."""
        if not running:
            return
        room = min(BATCH_TASKS - len(self.tasks), BATCH_TOKENS - self.tokens)
        going_on = running[: max(room, 0)]
        self.kept = len(going_on)
        self.tasks += going_on
        self.tokens += self.kept

    def take_waiting(self, waiting: Iterable[tuple[int, Request]]) -> None:
        """Fill up with what waits, by arrival in the cluster, until one does not fit."""
        for _, request in waiting:
            task = request.task
            if task not in self._taken:
                if not self.fits_tokens(task):
                    break
                if not task.blocked and not self.fits_memory(task):
                    break
                self.take(task)
