"""KV-cache transfer from a prompt to a token machine (DESIGN 3).

*Serialised* sends everything after the prompt. *Layer by layer* overlaps with the prompt and
leaves what the prompt is too short to hide, at least a floor. The shorter one is used per request
(Splitwise paper, section on KV-cache transfer).

Not modelled here: transfers that share a link; the simulator shares it, the planner limits its
load.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from provisioner.performance.piecewise import FloatArray


def transfer_s(
    kv_bytes: ArrayLike, prompt_s: ArrayLike, bandwidth_bytes_per_s: float, floor_s: float
) -> FloatArray:
    """Time [s] that a transfer adds after the prompt phase.

    Parameters
    ----------
    kv_bytes : array
        Size of the prompt's KV-cache.
    prompt_s : array
        Duration of its prompt phase.
    bandwidth_bytes_per_s : float
        Network of the slower side.
    floor_s : float
        What layer-by-layer sending cannot hide; the larger one of the two machines.
    """
    serialised = np.asarray(kv_bytes, dtype=float) / bandwidth_bytes_per_s
    rest = np.maximum(serialised - np.asarray(prompt_s, dtype=float), floor_s)
    return np.asarray(np.minimum(serialised, rest))
