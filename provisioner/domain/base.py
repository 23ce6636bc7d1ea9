"""What every validated noun shares: frozen, unknown keys refused, only finite numbers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field


class Noun(BaseModel):
    """A frozen record whose unknown keys are refused; vary it with ``model_copy(update=...)``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is needed, not true or false")
    return value


_number = BeforeValidator(_refuse_bool)
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Positive = Annotated[float, _number, Field(gt=0)]
NonNegative = Annotated[float, _number, Field(ge=0)]
Count = Annotated[int, _number, Field(gt=0)]
CountOrZero = Annotated[int, _number, Field(ge=0)]


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
