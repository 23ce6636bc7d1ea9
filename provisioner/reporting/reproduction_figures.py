"""Figures of a reproduction, each drawn from tables of the same folder.

The description of a figure's file names its tables and the hash of their text, so that a figure
that is older than a table is noticed.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from provisioner.reporting import reproduction_plots as plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Plot = Callable[[dict[str, plots.Rows]], Figure]

FIGURES: dict[str, tuple[Plot, tuple[str, ...]]] = {
    "equal_power.svg": (plots.equal_power, ("clusters", "best")),
    "equal_cost.svg": (plots.equal_cost, ("clusters", "best")),
    "fixed_rate.svg": (plots.fixed_rate, ("clusters", "best")),
    "latency.svg": (plots.latency, ("high_load",)),
    "active_tokens.svg": (plots.active_tokens, ("high_load",)),
    "heat_map.svg": (plots.heat_map, ("heat_map",)),
    "phases.svg": (plots.phases, ("phases",)),
    "transfer.svg": (plots.transfer, ("transfer",)),
}
"""How each figure is drawn, and from which tables."""
_STYLE: Any = {
    "svg.hashsalt": "provisioner",
    "svg.fonttype": "none",
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


def figure_texts(tables: dict[str, str]) -> dict[str, str]:
    """Name and content of every figure, from the text of the tables."""
    from matplotlib import rc_context  # noqa: PLC0415

    texts = {}
    for name, (plot, sources) in FIGURES.items():
        rows = {table: list(csv.DictReader(io.StringIO(tables[table]))) for table in sources}
        with rc_context(_STYLE):
            texts[name] = _svg(plot(rows), described(name, tables))
    return texts


def described(name: str, tables: dict[str, str]) -> str:
    """What a figure is drawn from."""
    return "; ".join(
        f"{table}.csv sha256 {hashlib.sha256(tables[table].encode()).hexdigest()}"
        for table in FIGURES[name][1]
    )


def _svg(figure: Figure, description: str) -> str:
    buffer = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Description": description}
    figure.savefig(buffer, format="svg", metadata=metadata)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"
