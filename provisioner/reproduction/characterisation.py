"""The paper's characterisation from our profiles: both phases alone, and the transfer between them.

Everything here is a formula of the profiles, nothing is simulated. Energy is by the power of each
phase, which for H100 machines is estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from provisioner.domain.base import Phase
from provisioner.inputs import hardware
from provisioner.performance.deployment import Deployment, deploy
from provisioner.performance.transfer import transfer_s
from provisioner.reproduction.published import MODEL
from provisioner.reproduction.questions import rents_usd_per_hour
from provisioner.units import JOULES_PER_WH, SECONDS_PER_HOUR

MACHINES = ("dgx-a100", "dgx-h100", "dgx-h100-cap70")
MODELS = (MODEL, "llama2-70b")
PROMPT_TOKENS = (128, 256, 512, 1024, 2048, 4096, 8192)
"""Tokens of a prompt batch."""
BATCHES = (1, 2, 4, 8, 16, 32, 64)
"""Requests of a token batch, each with a context of `CONTEXT_TOKENS`."""
CONTEXT_TOKENS = 512
MEDIANS = {"coding": (1500, 13), "conversation": (1020, 129)}
"""Median prompt and output lengths of the paper's services."""
PER_REQUESTS = 100
"""The paper's cost is that of so many requests."""
_TP = 8
PAPER_ALONE = {
    ("coding", "dgx-a100"): {
        "ttft_s": 0.185,
        "tbt_s": 0.052,
        "e2e_s": 0.856,
        "usd": 0.42,
        "wh": 1.37,
    },
    ("coding", "dgx-h100"): {
        "ttft_s": 0.095,
        "tbt_s": 0.031,
        "e2e_s": 0.493,
        "usd": 0.52,
        "wh": 1.37,
    },
    ("conversation", "dgx-a100"): {
        "ttft_s": 0.155,
        "tbt_s": 0.040,
        "e2e_s": 4.957,
        "usd": 2.4,
        "wh": 7.9,
    },
    ("conversation", "dgx-h100"): {
        "ttft_s": 0.084,
        "tbt_s": 0.028,
        "e2e_s": 3.387,
        "usd": 3.6,
        "wh": 9.4,
    },
}
"""Table IV of the paper: Llama2-70B, no batching, medians; rent of 100 requests, energy of one."""
PAPER_SERIALISED_S = {"dgx-a100": 0.0425, "dgx-h100": 0.021}
"""Figure 14 of the paper at 2,048 prompt tokens, digitised."""


@dataclass(frozen=True)
class PhasePoint:
    """One phase at a load, on a whole machine: ``load`` is prompt tokens, or requests."""

    model: str
    machine: str
    phase: str
    load: int
    time_s: float
    tokens_per_s: float
    power_w: float


@dataclass(frozen=True)
class Alone:
    """A median request alone: times [s], rent of 100 such [USD], energy of one [Wh]."""

    service: str
    machine: str
    ttft_s: float
    tbt_s: float
    e2e_s: float
    usd: float
    wh: float


@dataclass(frozen=True)
class Transfer:
    """A prompt's KV-cache on its way between two machines of a type.

    ``serialised_s`` and ``layered_s`` are what each way adds after the prompt [s]; the overheads
    are those of the shorter one, and of serialised sending, relative to a request that stays.
    """

    machine: str
    prompt_tokens: int
    prompt_s: float
    serialised_s: float
    layered_s: float
    used_s: float
    second_token_overhead: float
    second_token_overhead_serialised: float
    e2e_overhead: float
    e2e_overhead_serialised: float


@cache
def deployed(model: str, machine: str) -> Deployment:
    """A model on a whole machine."""
    stored = hardware.read_machine(machine)
    profile = hardware.read_profiles(model, stored.accelerator)[_TP]
    return deploy(hardware.read_model(model), stored, profile)


def phases() -> Iterator[PhasePoint]:
    """Latency, throughput and power of both phases against the load."""
    for model in MODELS:
        for machine in MACHINES:
            at = deployed(model, machine)
            for load in PROMPT_TOKENS:
                time_s = float(at.prompt_s(load))
                yield _point(at, Phase.PROMPT, load, time_s, load / time_s)
            for load in BATCHES:
                time_s = float(at.token_s(load, load * CONTEXT_TOKENS))
                yield _point(at, Phase.TOKEN, load, time_s, load / time_s)


def _point(
    at: Deployment, phase: Phase, load: int, time_s: float, tokens_per_s: float
) -> PhasePoint:
    power_w = float(at.power.machine_w(phase, load))
    return PhasePoint(
        at.model.name, at.machine.name, phase.value, load, time_s, tokens_per_s, power_w
    )


def alone() -> Iterator[Alone]:
    """The median request of each service alone, on machines that the paper's table IV has."""
    rents = rents_usd_per_hour()
    for service, machine in PAPER_ALONE:
        prompt, output = MEDIANS[service]
        at = deployed("llama2-70b", machine)
        ttft_s = float(at.alone_ttft_s(prompt))
        tbt_s = float(at.alone_tbt_s(prompt, output))
        generating_s = (output - 1) * tbt_s
        energy_j = ttft_s * float(at.power.machine_w(Phase.PROMPT, prompt))
        energy_j += generating_s * float(at.power.machine_w(Phase.TOKEN, 1))
        e2e_s = ttft_s + generating_s
        yield Alone(
            service=service,
            machine=machine,
            ttft_s=ttft_s,
            tbt_s=tbt_s,
            e2e_s=e2e_s,
            usd=PER_REQUESTS * e2e_s * rents[at.machine.hardware] / SECONDS_PER_HOUR,
            wh=energy_j / JOULES_PER_WH,
        )


def transfers(output_tokens: int = MEDIANS["coding"][1]) -> Iterator[Transfer]:
    """The KV-cache of BLOOM-176B between two A100 or two H100 machines, by prompt length.

    Parameters
    ----------
    output_tokens : int
        Of the request whose E2E the overhead is relative to; short ones suffer most.
    """
    for machine in MACHINES[:2]:
        at = deployed(MODEL, machine)
        for prompt in PROMPT_TOKENS:
            yield _transfer(at, prompt, output_tokens)


def _transfer(at: Deployment, prompt: int, output: int) -> Transfer:
    prompt_s = float(at.prompt_s(prompt))
    size = prompt * at.model.kv_bytes_per_token
    serialised = size / at.transfer_bytes_per_s
    floor_s = at.machine.transfer_floor_s
    used = float(transfer_s(size, prompt_s, at.transfer_bytes_per_s, floor_s))
    tbt_s, e2e_s = float(at.alone_tbt_s(prompt, output)), float(at.alone_e2e_s(prompt, output))
    return Transfer(
        machine=at.machine.name,
        prompt_tokens=prompt,
        prompt_s=prompt_s,
        serialised_s=serialised,
        layered_s=float(np.maximum(serialised - prompt_s, floor_s)),
        used_s=used,
        second_token_overhead=used / tbt_s,
        second_token_overhead_serialised=serialised / tbt_s,
        e2e_overhead=used / e2e_s,
        e2e_overhead_serialised=serialised / e2e_s,
    )
