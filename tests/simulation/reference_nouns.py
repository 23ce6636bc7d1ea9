"""Requests and instances of the obvious engine, with the times of `provisioner.performance`."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from provisioner.domain.base import Phase

INF = math.inf


@dataclass(eq=False)
class Request:
    number: int
    arrival_s: float
    prompt: int
    output: int
    kind: int
    made: int = 0  # tokens after the first
    chunked: int = 0
    stalls: int = 0
    times: dict = field(default_factory=dict)
    source: Instance | None = None
    target: Instance | None = None
    flow: str = ""  # "", "early", "late", "sent", "settling", "returning"
    left_bytes: float = 0.0
    rate: float = 0.0
    due_s: float = INF
    out_s: float = 0.0

    @property
    def held(self) -> int:
        return self.prompt + 1 + self.made

    @property
    def bytes(self) -> float:
        return self.prompt * self.target.deployment.model.kv_bytes_per_token

    @property
    def floor_s(self) -> float:
        ends = self.source.deployment.machine, self.target.deployment.machine
        return max(machine.transfer_floor_s for machine in ends)


@dataclass(eq=False)
class Instance:
    number: int
    group: int
    role: str
    deployment: object
    foreign: bool = False  # in the mixed pool at the moment, though its home is another
    used: int = 0
    waiting: list = field(default_factory=list)
    joining: list = field(default_factory=list)
    incoming: list = field(default_factory=list)
    paused: list = field(default_factory=list)
    residents: list = field(default_factory=list)
    returning: Request | None = None
    batch: list = field(default_factory=list)
    deciding: list = field(default_factory=list)  # residents that generate in this iteration
    part: int = 0
    prompt_tokens: int = 0
    start_s: float = 0.0
    end_s: float = INF
    prompts: int = 0
    pending: int = 0
    assigned: int = 0
    promised: int = 0
    backlog_ns: int = 0
    totals: Counter = field(default_factory=Counter)

    @property
    def running(self) -> bool:
        return self.end_s < INF

    @property
    def room(self) -> int:
        return math.floor(self.deployment.kv_room_tokens)

    @property
    def bandwidth(self) -> float:
        return self.deployment.transfer_bytes_per_s

    def fits(self, tokens: int) -> bool:
        growth = len(self.deciding) if self.running else len(self.residents)
        return self.used + growth + tokens <= self.room

    def in_pool(self, pool: str) -> bool:
        if pool == "mixed":
            return self.role == "mixed" or self.foreign
        return self.role == pool and not self.foreign

    def iteration_s(self, squared: float) -> float:
        d, batch, kv = self.deployment, len(self.deciding), sum(r.held for r in self.deciding)
        if not self.prompt_tokens:
            return float(d.token_s(batch, kv))
        if not batch:
            return float(d.prompt.time_s(self.prompt_tokens, squared))
        return float(d.mixed_s(self.prompt_tokens, squared, batch, kv))

    def alone_ns(self, r: Request) -> int:
        return round(float(self.deployment.prompt_s(r.prompt)) * 1e9)

    def host_s(self, r: Request) -> float:
        rate = self.deployment.machine.host_link_bytes_per_s / self.deployment.instances_per_machine
        return r.held * self.deployment.model.kv_bytes_per_token / rate

    def power_w(self) -> float:
        power, share = self.deployment.power, self.deployment.instances_per_machine
        if self.prompt_tokens:
            tokens = min(self.prompt_tokens + len(self.deciding), 4096)
            return float(power.machine_w(Phase.PROMPT, tokens)) / share
        return float(power.machine_w(Phase.TOKEN, len(self.deciding))) / share

    def account(self, now: float) -> None:
        spent = now - self.start_s
        self.totals["prompt_busy_s" if self.prompt_tokens else "token_busy_s"] += spent
        self.totals["batch_s"] += spent * len(self.deciding)
        self.totals["energy_j"] += spent * self.power_w()
