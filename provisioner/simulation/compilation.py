"""Compilation of the engine: whether it is still to come, and having it done.

Importing this does not compile anything; the first simulation does, once per state of the source.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from provisioner.simulation.cluster import Requests, SimulatedPool
from provisioner.simulation.engine import loop
from provisioner.simulation.rules import Rules
from provisioner.simulation.simulate import simulate

COMPILING = "compiling the simulator, once; takes about a minute"


def compiled() -> bool:
    """Whether the engine is compiled already, by this process or an earlier one."""
    run = loop.run
    if getattr(run, "signatures", True):
        return True
    source = Path(loop.__file__).stat().st_mtime
    found = Path(run.stats.cache_path).glob("loop.run-*.nbi")  # type: ignore[attr-defined]
    return any(path.stat().st_mtime >= source for path in found)


def warm_up(pools: tuple[SimulatedPool, ...], rules: Rules) -> None:
    """Simulate one request, so that what follows is measured without compilation or loading."""
    one = np.ones(1, dtype=np.int64)
    simulate(pools, Requests(np.zeros(1), one, one, 0 * one), rules)
