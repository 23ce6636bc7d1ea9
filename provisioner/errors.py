"""Errors that the package raises on purpose.

::

    ProvisionerError
    ├── InputError     a file, key or value is wrong        exit code 1
    ├── UsageError     the command or call is contradictory exit code 2
    └── StoppedError   stopped before any plan was found    exit code 5

An infeasible problem is a result with reasons (`domain.result.PlanResult`), never an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ProvisionerError(Exception):
    """Base of every error that the package raises on purpose."""

    exit_code = 1


class InputError(ProvisionerError):
    """Input is wrong; the message names the place, what was found and what is allowed."""


class UsageError(ProvisionerError):
    """The question itself is contradictory, for example two traces for one workload."""

    exit_code = 2


class StoppedError(ProvisionerError):
    """The search was stopped before any plan was found; more time may find one."""

    exit_code = 5


def unknown_name(kind: str, found: object, allowed: Iterable[str], where: str = "") -> InputError:
    """Make the error for a name that does not exist, with the nearest one that does.

    Parameters
    ----------
    kind : str
        What the name should have been, for example ``"machine type"``.
    found : object
        What was given.
    allowed : iterable of str
        The names that exist.
    where : str
        File or key that holds the name; left out of the message when empty.
    """
    names = sorted(allowed)
    nearest = difflib.get_close_matches(str(found).lower(), names, n=1, cutoff=0.5)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    place = f"{where}: " if where else ""
    return InputError(
        f"{place}unknown {kind} {found!r}{hint} (allowed: {', '.join(names) or 'none'})"
    )
