"""Machines of the compatible mode, made from our measured profiles.

Tables are medians over all single runs with the same prompt_size * batch_size, and KV-cache ignores
grouped heads and any reserve of memory, as in the published simulator.

Its table lists the runs of one cell three times, ours has each once: counted thrice here where they
can be told from others, for tokens. Its prompt time at 512 tokens differs from ours by up to
0.15 %, all other times by what four digits leave out. That simulator is chaotic where prompts
queue: one part in 100,000 in its prompt times moves TTFT percentiles by up to 15 % and most others
by 1 %, so that its runs of busy clusters are not repeated by these tables.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from provisioner.domain.base import Phase
from provisioner.domain.machine import Machine
from provisioner.domain.model import Model
from provisioner.domain.profile import Profile, PromptPoint, TokenPoint
from provisioner.simulation.published_machine import PublishedMachine, TimeTable

LINK_BYTES_PER_S = 200 * 2**30
"""Speed of every transfer there, whatever the machines."""
_LISTED_THRICE = (512, 1, 128)
"""Prompt tokens, batch and output tokens of the cell whose runs are listed three times there."""


def published_machine(model: Model, machine: Machine, profile: Profile) -> PublishedMachine:
    """A machine as the published simulator sees it, one instance on all its accelerators."""
    memory_bytes = machine.accelerators * machine.accelerator_memory_bytes
    return PublishedMachine(
        prompt_time_s=_table(machine, Phase.PROMPT, profile.prompt),
        token_time_s=_table(machine, Phase.TOKEN, profile.token),
        kv_room_tokens=(memory_bytes - model.weight_bytes) / kv_bytes_per_token(model),
    )


def kv_bytes_per_token(model: Model) -> float:
    """KV-cache of one token there: as if every head had its own [bytes]."""
    return 2 * model.layers * model.hidden_size * model.bytes_per_value


def transfer_s_per_token(model: Model) -> float:
    """Time to move the KV-cache of one prompt token there [s]."""
    return kv_bytes_per_token(model) / LINK_BYTES_PER_S


def _table(
    machine: Machine, phase: Phase, points: Sequence[PromptPoint] | Sequence[TokenPoint]
) -> TimeTable:
    runs: dict[int, list[float]] = defaultdict(list)
    for point in points:
        runs[point.prompt_tokens * point.batch] += point.repeats_s * _times_listed(point)
    return tuple(
        (float(x), statistics.median(times_s) * _stretch(machine, phase, x))
        for x, times_s in sorted(runs.items())
    )


def _times_listed(point: PromptPoint | TokenPoint) -> int:
    if isinstance(point, PromptPoint):
        return 1
    cell = (point.prompt_tokens, point.batch, point.output_tokens)
    return 3 if cell == _LISTED_THRICE else 1


def _stretch(machine: Machine, phase: Phase, load: float) -> float:
    """How much slower the machine's power cap makes a phase."""
    points = machine.cap.stretch if machine.cap is not None else ()
    own = sorted((p for p in points if p.phase is phase), key=lambda p: p.load)
    if not own:
        return 1.0
    return float(np.interp(load, [p.load for p in own], [p.factor for p in own]))
