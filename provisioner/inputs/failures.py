"""Failures that somebody asks for: on the command line, from Python, or with a saved run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from provisioner.domain.failure import Failure
from provisioner.errors import InputError
from provisioner.inputs.clusters import parse_pools
from provisioner.inputs.explain import describe

_SHAPE = re.compile(r"(?P<pool>[^:=@]*:[^:=@]+)(?P<count>=[^@]*)?@(?P<time>[^@]*)")


def parse_failures(texts: Iterable[str], flag: str = "--fail") -> tuple[Failure, ...]:
    """Read ``ROLE:MACHINE[/tpN][=COUNT]@SECONDS`` texts, each one or several by commas.

    Raises
    ------
    InputError
        Where one has another form, or names a role, machine type, count or time that cannot be.
    """
    items = [item.strip() for text in texts for item in text.split(",")]
    return tuple(_parsed(item, flag) for item in items)


def _parsed(item: str, flag: str) -> Failure:
    match = _SHAPE.fullmatch(item)
    if match is None:
        raise InputError(
            f"{flag} {item}: ROLE:MACHINE[/tpN][=COUNT]@SECONDS is needed, such as "
            "token:dgx-h100@60 or prompt:dgx-a100=2@60"
        )
    (pool,) = parse_pools([match["pool"] + (match["count"] or "=1")], flag).pools
    return Failure(
        pool.role,
        pool.machine,
        _seconds(match["time"], f"{flag} {item}"),
        pool.machines,
        pool.tensor_parallel,
    )


def _seconds(text: str, where: str) -> float:
    try:
        time_s = float(text)
    except ValueError:
        time_s = math.nan
    if not 0 <= time_s < math.inf:
        raise InputError(
            f"{where}: seconds since the start of the run, 0 or more, are needed, found "
            f"{describe(text)}"
        )
    return time_s


def checked(failures: object) -> tuple[Failure, ...]:
    """Failures of a Python caller, held to what the command line may say.

    Raises
    ------
    InputError
        Where they are no failures, or name what cannot be.
    """
    if isinstance(failures, (str, bytes)) or not isinstance(failures, Iterable):
        raise InputError(f"failures: a list of Failure is needed, found {describe(failures)}")
    given = tuple(failures)
    for failure in given:
        if not isinstance(failure, Failure):
            raise InputError(f"failures: a Failure is needed, found {describe(failure)}")
    return parse_failures(map(str, given), "failures")
