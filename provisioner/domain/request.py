"""What metrics need to know of requests: their lengths, and their times once they were served."""

from __future__ import annotations

from typing import Protocol

from provisioner.domain.workload import FloatArray, IntArray


class Lengths(Protocol):
    """Lengths per request or per cell of a histogram [tokens]."""

    @property
    def prompt_tokens(self) -> FloatArray | IntArray:
        """Prompt length, or its mean."""
        ...

    @property
    def prompt_sq(self) -> FloatArray | IntArray:
        """Squared prompt length, or its mean."""
        ...

    @property
    def output_tokens(self) -> FloatArray | IntArray:
        """Output length, the first token included, or its mean."""
        ...


class Times(Protocol):
    """Times per request [s]; infinite where something never happened."""

    @property
    def arrival_s(self) -> FloatArray:
        """Arrival."""
        ...

    @property
    def first_token_s(self) -> FloatArray:
        """First output token."""
        ...

    @property
    def finish_s(self) -> FloatArray:
        """Last output token."""
        ...

    @property
    def output_tokens(self) -> IntArray:
        """Output length, the first token included."""
        ...
