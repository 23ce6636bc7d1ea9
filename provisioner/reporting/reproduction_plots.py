"""What is drawn of a reproduction: a figure per figure of the paper.

Colours are those of Okabe and Ito, which people with colour blindness can tell apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from provisioner.domain.designs import NAMED_DESIGNS
from provisioner.domain.reproduction import COMPATIBLE, MEASURED
from provisioner.domain.verdict import ACTIVE_LEVELS
from provisioner.reproduction.heat_map import PAPER
from provisioner.reproduction.published import ISO_COST, ISO_POWER, LEAST_COST, LEAST_POWER, MODEL
from provisioner.units import MS_PER_S, WATTS_PER_KW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, str]
Rows = list[Row]
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_OF_DESIGN = dict(zip(NAMED_DESIGNS, _COLOURS, strict=True))
_RULES = (COMPATIBLE, MEASURED)
_METRICS = ("ttft", "tbt", "e2e")
_TITLE = {
    COMPATIBLE: "compatible: token times that do not grow",
    MEASURED: "measured token times",
}


def _panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def _where(rows: Rows, **cells: str) -> Rows:
    return [row for row in rows if all(row[name] == cell for name, cell in cells.items())]


def _number(row: Row, name: str) -> float:
    return float(row[name] or "nan")


def equal_power(tables: dict[str, Rows]) -> Figure:
    """Figure 18, equal power."""
    return _throughput(tables, ISO_POWER)


def equal_cost(tables: dict[str, Rows]) -> Figure:
    """Figure 18, equal cost."""
    return _throughput(tables, ISO_COST)


def _throughput(tables: dict[str, Rows], question: str) -> Figure:
    """Highest rate of the published clusters and of the best, by both rules."""
    figure, axes = _panels(2, 1, 8, 6)
    for ax, workload in zip(axes, ("azure-conv", "azure-code"), strict=True):
        asked = {"question": question, "workload": workload}
        clusters = _where(tables["clusters"], **asked)
        best = {
            rule: _where(tables["best"], **asked, rule=rule)[: len(clusters)] for rule in _RULES
        }
        bars = {
            "paper": [_number(row, "paper_rate_per_s") for row in clusters],
            "published counts, compatible": [
                _number(row, "compatible_rate_per_s") for row in clusters
            ],
            "best counts, compatible": [_number(row, "rate_per_s") for row in best[COMPATIBLE]],
            "published counts, measured": [_number(row, "measured_rate_per_s") for row in clusters],
            "best counts, measured": [_number(row, "rate_per_s") for row in best[MEASURED]],
        }
        _grouped(ax, [row["design"] for row in clusters], bars)
        ax.set(title=workload, ylabel="highest rate [requests/s]")
    axes[0].legend(ncols=2, fontsize=8)
    axes[0].set_ylim(0, 1.5 * axes[0].get_ylim()[1])
    return figure


def fixed_rate(tables: dict[str, Rows]) -> Figure:
    """Figure 19: cost and power at 70 requests/s, over those of Baseline-H100."""
    figure, axes = _panels(2, 1, 8, 6)
    for ax, (question, key, name) in zip(
        axes,
        (
            (LEAST_POWER, "provisioned_power_w", "power"),
            (LEAST_COST, "usd_per_hour", "cost"),
        ),
        strict=True,
    ):
        clusters = _where(tables["clusters"], question=question)
        bars = {"published counts": [_number(row, key) for row in clusters]}
        for rule in _RULES:
            rows = _where(tables["best"], question=question, rule=rule)[: len(clusters)]
            bars[f"best counts, {rule}"] = [_number(row, key) for row in rows]
        designs = [row["design"] for row in clusters]
        base = designs.index("baseline-h100")
        relative = {label: [v / values[base] for v in values] for label, values in bars.items()}
        _grouped(ax, designs, relative)
        ax.set(title=f"least {name}", ylabel=f"{name} over baseline-h100's")
    axes[0].legend(fontsize=8)
    return figure


def _grouped(ax: Axes, groups: list[str], bars: dict[str, list[float]]) -> None:
    width = 0.8 / len(bars)
    for number, (label, heights) in enumerate(bars.items()):
        places = [i + (number - (len(bars) - 1) / 2) * width for i in range(len(groups))]
        ax.bar(places, heights, width, label=label, color=_COLOURS[number])
    ax.set_xticks(range(len(groups)), groups)
    ax.grid(visible=False, axis="x")


def latency(tables: dict[str, Rows]) -> Figure:
    """Figure 16: what latencies take of their limits against the rate."""
    figure, axes = _panels(2, 3, 10, 6)
    for ax, (rule, metric) in zip(axes, [(r, m) for r in _RULES for m in _METRICS], strict=True):
        for design, colour in _OF_DESIGN.items():
            rows = _where(tables["high_load"], design=design, rule=rule)
            _line(ax, rows, "rate_per_s", partial(_number, name=metric), design, colour)
        ax.axhline(1, color="black", linewidth=0.8, linestyle="--")
        ax.set(
            yscale="log",
            title=f"{metric.upper()}, {rule}",
            xlabel="rate [requests/s]",
            ylabel="latency over its limit",
        )
    axes[0].legend(fontsize=7)
    return figure


def active_tokens(tables: dict[str, Rows]) -> Figure:
    """Figure 17: how many tokens machines work on at a time."""
    shown = [(rule, rate) for rule in _RULES for rate in (70.0, 130.0)]
    figure, axes = _panels(2, 2, 9, 6)
    for ax, (rule, rate) in zip(axes, shown, strict=True):
        for design, colour in _OF_DESIGN.items():
            for row in _where(tables["high_load"], design=design, rule=rule):
                if _number(row, "rate_per_s") == rate:
                    shares = [_number(row, f"share_up_to_{n}_tokens") for n in ACTIVE_LEVELS]
                    ax.step(ACTIVE_LEVELS, shares, where="post", label=design, color=colour)
        ax.set_xscale("symlog", linthresh=1)
        ax.set(
            ylim=(0, 1),
            title=f"{rate:g} requests/s, {rule}",
            xlabel="active tokens of a machine, at most",
            ylabel="share of machines' time",
        )
    axes[0].legend(fontsize=7)
    return figure


def heat_map(tables: dict[str, Rows]) -> Figure:
    """Figure 12: which numbers of prompt and token machines keep the SLO."""
    figure, axes = _panels(1, 2, 10, 5)
    rows = tables["heat_map"]
    prompts = sorted({int(row["prompt_machines"]) for row in rows})
    tokens = sorted({int(row["token_machines"]) for row in rows})
    images = []
    for ax, rule in zip(axes, _RULES, strict=True):
        taken = {
            (int(row["prompt_machines"]), int(row["token_machines"])): max(
                _number(row, f"{rule}_{metric}") for metric in _METRICS
            )
            for row in rows
        }
        values = [[taken[p, t] for p in prompts] for t in tokens]
        image = ax.imshow(values, origin="lower", aspect="auto", cmap="cividis", vmin=0, vmax=2)
        images.append(image)
        for (p, t), value in taken.items():
            colour = "black" if value > 1.2 else "white"
            weight = "bold" if value <= 1 else "normal"
            text = f"{value:.2f}" if value < 10 else "> 10"
            place = prompts.index(p), tokens.index(t)
            ax.text(*place, text, ha="center", va="center", fontsize=7, color=colour, weight=weight)
        ax.plot(
            prompts.index(PAPER[0]),
            tokens.index(PAPER[1]),
            marker="s",
            markersize=24,
            markerfacecolor="none",
            markeredgecolor="#D55E00",
        )
        ax.set_xticks(range(len(prompts)), [str(n) for n in prompts])
        ax.set_yticks(range(len(tokens)), [str(n) for n in tokens])
        ax.set(title=_TITLE[rule], xlabel="prompt machines", ylabel="token machines")
        ax.grid(visible=False)
    figure.colorbar(images[0], ax=axes, label="worst percentile over its limit (bold: it is kept)")
    return figure


def phases(tables: dict[str, Rows]) -> Figure:
    """Figures 5, 6, 8 and 9: throughput, latency and power of each phase against its load."""
    figure, axes = _panels(2, 3, 10, 6)
    shown: list[tuple[str, str, Callable[[Row], float]]] = [
        (phase, label, value)
        for phase in ("prompt", "token")
        for label, value in (
            ("time [ms]", lambda row: _number(row, "time_s") * MS_PER_S),
            ("throughput [tokens/s]", lambda row: _number(row, "tokens_per_s")),
            ("power [kW]", lambda row: _number(row, "power_w") / WATTS_PER_KW),
        )
    ]
    rows = _where(tables["phases"], model=MODEL)
    machines = list(dict.fromkeys(row["machine"] for row in rows))
    for ax, (phase, label, value) in zip(axes, shown, strict=True):
        for machine, colour in zip(machines, _COLOURS, strict=False):
            own = _where(rows, machine=machine, phase=phase)
            _line(ax, own, "load", value, machine, colour)
        load = "tokens of the prompts" if phase == "prompt" else "requests that generate"
        ax.set(xscale="log", ylim=(0, None), title=f"{phase} phase", xlabel=load, ylabel=label)
    axes[0].legend(fontsize=8)
    return figure


def transfer(tables: dict[str, Rows]) -> Figure:
    """Figure 14: what sending the KV-cache adds after the prompt, by both ways."""
    figure, (ax,) = _panels(1, 1, 7, 4)
    rows = tables["transfer"]
    for machine, colour in zip(
        dict.fromkeys(row["machine"] for row in rows), _COLOURS, strict=False
    ):
        own = _where(rows, machine=machine)
        for name, style in (("serialised", "--"), ("layered", "-")):
            times = [_number(row, f"{name}_s") * MS_PER_S for row in own]
            tokens = [_number(row, "prompt_tokens") for row in own]
            ax.plot(tokens, times, style, marker="o", label=f"{machine}, {name}", color=colour)
    ax.set(
        xscale="log",
        ylim=(0, None),
        xlabel="tokens of the prompt",
        ylabel="added after the prompt [ms]",
    )
    ax.legend()
    return figure


def _line(ax: Axes, rows: Rows, x: str, y: Callable[[Row], float], label: str, colour: str) -> None:
    ax.plot(
        [_number(row, x) for row in rows],
        [y(row) for row in rows],
        marker="o",
        markersize=3,
        label=label,
        color=colour,
    )
