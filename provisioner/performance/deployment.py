"""A deployment: a model on a machine type at a tensor parallelism, with its fitted curves.

Times are of one *instance*; a machine holds ``instances_per_machine`` of them side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from provisioner.domain.base import Phase, Quality
from provisioner.domain.machine import Machine, PowerCap
from provisioner.domain.model import Model
from provisioner.domain.profile import Profile
from provisioner.performance.memory import kv_room_tokens
from provisioner.performance.piecewise import Curve, FloatArray
from provisioner.performance.power import PowerCurve, fit_power
from provisioner.performance.prompt import PromptCurve, fit_prompt
from provisioner.performance.token import TokenCurve, fit_token

MIXED_FACTOR = 1.1
"""An iteration with prompt and token work takes this many prompt times (published simulator)."""


@dataclass(frozen=True)
class Deployment:
    """Physics of one (model, machine type, tensor parallelism)."""

    machine: Machine
    model: Model
    tensor_parallel: int
    prompt: PromptCurve
    token: TokenCurve
    power: PowerCurve
    assumptions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name on the command line and in reports, ``machine/tpN``."""
        return f"{self.machine.name}/tp{self.tensor_parallel}"

    @property
    def instances_per_machine(self) -> int:
        """Instances that a machine holds side by side."""
        return self.machine.accelerators // self.tensor_parallel

    @cached_property
    def kv_room_tokens(self) -> float:
        """KV-cache tokens that one instance has room for."""
        return kv_room_tokens(self.model, self.machine, self.tensor_parallel)

    @property
    def transfer_bytes_per_s(self) -> float:
        """Network bandwidth of one instance: its share of the machine's."""
        return self.machine.network_bytes_per_s / self.instances_per_machine

    def prompt_s(self, prompt_tokens: ArrayLike, prompt_sq: ArrayLike | None = None) -> FloatArray:
        """Time [s] of a prompt in a batch of its own; ``prompt_sq`` is its mean square."""
        lengths = np.asarray(prompt_tokens, dtype=float)
        return self.prompt.time_s(lengths, lengths**2 if prompt_sq is None else prompt_sq)

    def token_s(self, batch: ArrayLike, kv_tokens: ArrayLike) -> FloatArray:
        """Time [s] of a token iteration of ``batch`` requests with ``kv_tokens`` together."""
        return self.token.time_s(batch, kv_tokens)

    def mixed_s(
        self, tokens: ArrayLike, squared_tokens: ArrayLike, batch: ArrayLike, kv_tokens: ArrayLike
    ) -> FloatArray:
        """Time [s] of an iteration with both: ``max(1.1 t_p(T + B, Q), t_t(B, K))``."""
        together = np.asarray(tokens, dtype=float) + np.asarray(batch, dtype=float)
        prompt = MIXED_FACTOR * self.prompt.time_s(together, squared_tokens)
        return np.maximum(prompt, self.token_s(batch, kv_tokens))

    def alone_ttft_s(
        self, prompt_tokens: ArrayLike, prompt_sq: ArrayLike | None = None
    ) -> FloatArray:
        """TTFT [s] of a request alone: its prompt time."""
        return self.prompt_s(prompt_tokens, prompt_sq)

    def alone_tbt_s(self, prompt_tokens: ArrayLike, output_tokens: ArrayLike) -> FloatArray:
        """TBT [s] of a request alone: ``t_t(1, p + o/2)``, o counting the first token."""
        context = np.asarray(prompt_tokens, dtype=float) + np.asarray(output_tokens) / 2
        return self.token_s(1.0, context)

    def alone_e2e_s(
        self,
        prompt_tokens: ArrayLike,
        output_tokens: ArrayLike,
        prompt_sq: ArrayLike | None = None,
    ) -> FloatArray:
        """E2E [s] of a request alone: ``TTFT + (o - 1) t_t(1, p + o/2)`` (DESIGN 3)."""
        iterations = np.asarray(output_tokens, dtype=float) - 1
        tbt = self.alone_tbt_s(prompt_tokens, output_tokens)
        return self.alone_ttft_s(prompt_tokens, prompt_sq) + iterations * tbt


def deploy(model: Model, machine: Machine, profile: Profile) -> Deployment:
    """Fit a profile's points and apply the machine's power cap."""
    prompt, token = fit_prompt(profile.prompt), fit_token(profile.token)
    if machine.cap is not None:
        prompt = _stretched_prompt(prompt, machine.cap)
        token = _stretched_token(token, machine.cap)
    return Deployment(
        machine=machine,
        model=model,
        tensor_parallel=profile.tensor_parallel,
        prompt=prompt,
        token=token,
        power=fit_power(machine, profile.prompt_power, profile.token_power),
        assumptions=tuple(_assumptions(machine, profile)),
    )


def _factor(cap: PowerCap, phase: Phase) -> Curve:
    points = sorted((p for p in cap.stretch if p.phase is phase), key=lambda p: p.load)
    if not points:
        return Curve(np.array([1.0]), np.array([1.0]))
    return Curve(np.array([p.load for p in points]), np.array([p.factor for p in points]))


def _stretch(curve: Curve, factor: Curve) -> Curve:
    """Multiply a curve at its own knots and the factor's, and keep it from falling.

    A factor is held beyond its ends; the last slope of the product continues.
    """
    knots = np.union1d(curve.x, factor.x[(factor.x > curve.x[0]) & (factor.x < curve.x[-1])])
    stretched = curve(knots) * np.interp(knots, factor.x, factor.y)
    return Curve(knots, np.maximum.accumulate(stretched))


def _stretched_prompt(curve: PromptCurve, cap: PowerCap) -> PromptCurve:
    factor = _factor(cap, Phase.PROMPT)
    quadratic = curve.quadratic_s * float(factor.y[-1])
    return replace(curve, base=_stretch(curve.base, factor), quadratic_s=quadratic)


def _stretched_token(curve: TokenCurve, cap: PowerCap) -> TokenCurve:
    factor = _factor(cap, Phase.TOKEN)
    context = curve.context_s * float(factor.y[-1])
    base = _stretch(curve.base, factor)
    return replace(curve, base=base, context_s=context)


def _assumptions(machine: Machine, profile: Profile) -> Iterator[str]:
    """Say which figures of a deployment nobody measured."""
    weak = {Quality.ESTIMATED, Quality.SYNTHETIC}
    if machine.cap is not None:
        phases = [p.phase.value for p in machine.cap.stretch if p.quality in weak]
        if phases:
            yield f"{machine.name}: the slow-down by its power cap is estimated, not measured"
    times = {p.quality for p in profile.prompt} | {p.quality for p in profile.token}
    times &= weak
    if times:
        yield f"{profile.name}: times are {', '.join(sorted(times))}"
    powers = {point.quality for point in (*profile.prompt_power, *profile.token_power)} & weak
    if powers:
        yield f"{profile.name}: power per phase is {', '.join(sorted(powers))}"
    fields = sorted(key for key, origin in machine.origins.items() if origin.quality in weak)
    if fields:
        yield f"{machine.name}: {', '.join(fields)} estimated or synthetic"
