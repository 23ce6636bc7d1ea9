"""Measured points of one model on one accelerator at one tensor parallelism.

A profile is data: times per cell of the measured grid with their repeats, power per load, and
the points that were dropped with the reason. Curves are fitted in `provisioner.performance`.
"""

from __future__ import annotations

from dataclasses import dataclass

from provisioner.domain.base import Quality


@dataclass(frozen=True)
class PromptPoint:
    """Prompt phase of ``batch`` prompts of ``prompt_tokens`` each.

    ``time_s`` is the median of the single runs ``repeats_s``, both in seconds.
    """

    prompt_tokens: int
    batch: int
    time_s: float
    repeats_s: tuple[float, ...]
    quality: Quality
    source: str

    @property
    def tokens(self) -> int:
        """Total prompt tokens T in the batch."""
        return self.prompt_tokens * self.batch

    @property
    def squared_tokens(self) -> int:
        """Sum Q of the squared prompt lengths in the batch."""
        return self.prompt_tokens**2 * self.batch


@dataclass(frozen=True)
class TokenPoint:
    """Mean time of one token iteration of ``batch`` requests.

    ``output_tokens`` is the length asked for, ``generated_tokens`` what a median run made.
    """

    prompt_tokens: int
    batch: int
    output_tokens: int
    generated_tokens: int
    time_s: float
    repeats_s: tuple[float, ...]
    quality: Quality
    source: str

    @property
    def kv_tokens(self) -> float:
        """KV-cache tokens held on average during the run: ``batch * (prompt + generated / 2)``."""
        return self.batch * (self.prompt_tokens + self.generated_tokens / 2)


@dataclass(frozen=True)
class PowerPoint:
    """Power of one accelerator [W] at a load: batch tokens (prompt) or requests (token)."""

    load: float
    power_w: float
    quality: Quality
    source: str


@dataclass(frozen=True)
class Profile:
    """All measured points of (model, accelerator, tensor parallelism)."""

    model: str
    accelerator: str
    tensor_parallel: int
    prompt: tuple[PromptPoint, ...]
    token: tuple[TokenPoint, ...]
    prompt_power: tuple[PowerPoint, ...]
    token_power: tuple[PowerPoint, ...]
    dropped: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name on the command line and in reports, ``model/accelerator/tpN``."""
        return f"{self.model}/{self.accelerator}/tp{self.tensor_parallel}"
