"""Power of one machine (DESIGN 3): idle, and per phase as a function of its load.

The rest of the server (processors, fans, network) scales between its idle power and what remains
of the provisioned power, along with the accelerators' load between their idle and highest power.

Not modelled: power that depends on temperature, and losses outside the server.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from provisioner.domain.base import Phase
from provisioner.domain.machine import Machine
from provisioner.domain.profile import PowerPoint
from provisioner.performance.piecewise import Curve, FloatArray


@dataclass(frozen=True)
class PowerCurve:
    """Power of a machine type running one model at one tensor parallelism."""

    machine: Machine
    prompt: Curve
    token: Curve

    def accelerator_w(self, phase: Phase, load: ArrayLike) -> FloatArray:
        """Power of one accelerator [W] at a load: batch tokens (prompt) or requests (token).

        Constant beyond the measured loads, and never above the accelerator's highest power.
        """
        curve = self.prompt if phase is Phase.PROMPT else self.token
        inside = np.interp(np.asarray(load, dtype=float), curve.x, curve.y)
        idle, top = self.machine.accelerator_idle_power_w, self.machine.accelerator_max_power_w
        return np.asarray(np.clip(inside, idle, top))

    def machine_w(self, phase: Phase, load: ArrayLike) -> FloatArray:
        """Power of the whole machine [W] while all its accelerators work at this load."""
        return self._whole(self.accelerator_w(phase, load))

    @property
    def idle_w(self) -> float:
        """Power of the machine with nothing to do [W]."""
        return float(self._whole(np.asarray(self.machine.accelerator_idle_power_w)))

    def _whole(self, accelerator_w: FloatArray) -> FloatArray:
        machine = self.machine
        idle, top = machine.accelerator_idle_power_w, machine.accelerator_max_power_w
        load = (accelerator_w - idle) / (top - idle) if top > idle else np.ones_like(accelerator_w)
        rest_top = machine.provisioned_power_w - machine.accelerators * top
        rest = machine.server_idle_power_w + load * (rest_top - machine.server_idle_power_w)
        return np.asarray(machine.accelerators * accelerator_w + rest)


def fit_power(
    machine: Machine, prompt: tuple[PowerPoint, ...], token: tuple[PowerPoint, ...]
) -> PowerCurve:
    """Make the power curves of a machine from its accelerator's points."""
    return PowerCurve(machine, _curve(prompt), _curve(token))


def _curve(points: tuple[PowerPoint, ...]) -> Curve:
    return Curve(
        np.array([point.load for point in points]), np.array([point.power_w for point in points])
    )
