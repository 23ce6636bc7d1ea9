"""Figure 12 of the paper: which numbers of prompt and token machines keep the SLO, and how nearly.

Splitwise-HH, BLOOM-176B, coding at 70 requests/s, by both rules; the paper's cheapest cluster that
keeps it is 27 + 3. Pools help each other out in compatible mode, as there, and not by measured
token times.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.domain.reproduction import HeatPoint
from provisioner.reproduction.published import CODING, FIXED_RATE_PER_S, pools_of
from provisioner.reproduction.questions import judged, judged_compatibly, taken

DESIGN = "splitwise-hh"
PAPER = (27, 3)
PROMPT_MACHINES = (18, 20, 22, 24, 25, 26, 27, 28, 29, 30, 32)
TOKEN_MACHINES = (1, 2, 3, 4, 5, 6, 8)


def heat_rows() -> Iterator[tuple[int, int]]:
    """Every cluster of the map."""
    for prompt in PROMPT_MACHINES:
        for token in TOKEN_MACHINES:
            yield prompt, token


def heat_point(prompt_machines: int, token_machines: int) -> HeatPoint:
    """Judge one cluster by both rules."""
    pools = pools_of(DESIGN, (prompt_machines, token_machines))
    compatible = judged_compatibly(CODING, pools, FIXED_RATE_PER_S)
    measured = judged(CODING, pools, FIXED_RATE_PER_S)
    theirs, ours = taken(compatible), taken(measured)
    return HeatPoint(
        prompt_machines=prompt_machines,
        token_machines=token_machines,
        usd_per_hour=measured.usd_per_hour,
        compatible_ttft=theirs["ttft"],
        compatible_tbt=theirs["tbt"],
        compatible_e2e=theirs["e2e"],
        measured_ttft=ours["ttft"],
        measured_tbt=ours["tbt"],
        measured_e2e=ours["e2e"],
    )
