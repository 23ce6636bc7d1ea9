"""Deployments of a case: every machine type and tensor parallelism that the model fits."""

from __future__ import annotations

from provisioner.domain.case import Case
from provisioner.errors import InputError
from provisioner.performance.deployment import Deployment, deploy
from provisioner.performance.memory import shortfall


def deployments_of(case: Case) -> tuple[tuple[Deployment, ...], tuple[str, ...]]:
    """Fit every usable profile.

    Returns
    -------
    deployments : tuple of Deployment
    notes : tuple of str
        One sentence per deployment that was left out because the model does not fit.

    Raises
    ------
    InputError
        Where the model fits none of the machines; the message gives the bytes.
    """
    found, notes = [], []
    for machine in case.machines:
        for (name, size), profile in case.profiles.items():
            if name != machine.name:
                continue
            problem = shortfall(case.model, machine, size)
            if problem:
                notes.append(problem)
            else:
                found.append(deploy(case.model, machine, profile))
    if not found:
        raise InputError("\n".join(notes))
    return tuple(found), tuple(notes)
