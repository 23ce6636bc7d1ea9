"""What every validated noun shares: frozen, unknown keys refused, only finite numbers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field


def refuse_repeats(key: str, names: Sequence[object]) -> None:
    """Raise a ValueError that names what is given twice under a key."""
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{key}: {', '.join(repeated)} is given twice")


class Noun(BaseModel):
    """A frozen record whose unknown keys are refused; vary it with ``model_copy(update=...)``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is needed, not true or false")
    return value


LARGEST, LARGEST_COUNT = 1e18, 10**9
"""Bounds of every number; they keep products finite and sums exact."""
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"

Number = BeforeValidator(_refuse_bool)
"""Goes with every numeric field: pydantic takes true for 1."""
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=100)]
Positive = Annotated[float, Number, Field(gt=0, le=LARGEST)]
NonNegative = Annotated[float, Number, Field(ge=0, le=LARGEST)]
Count = Annotated[int, Number, Field(gt=0, le=LARGEST_COUNT)]
CountOrZero = Annotated[int, Number, Field(ge=0, le=LARGEST_COUNT)]


NAME_SHAPE, RECORD_SHAPE = "<name>", "<record>"


def _shape(value: Any) -> str:
    return NAME_SHAPE if isinstance(value, str) else RECORD_SHAPE


by_shape = Discriminator(_shape)
"""Tells a name from a record before either is validated, so that an error speaks of one."""


class Role(StrEnum):
    """What a machine does in the cluster."""

    PROMPT = "prompt"
    TOKEN = "token"
    MIXED = "mixed"


class Phase(StrEnum):
    """The two phases of inference: reading the input, generating the output."""

    PROMPT = "prompt"
    TOKEN = "token"


class Quality(StrEnum):
    """How sure a figure is: read off hardware, published, derived by rule, or guessed."""

    MEASURED = "measured"
    PUBLISHED = "published"
    SYNTHETIC = "synthetic"
    ESTIMATED = "estimated"
