"""The page of a reproduction that a reader of the paper can follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from provisioner.domain.reproduction import Reproduction
from provisioner.reporting.reproduction_tables import (
    COMPATIBLE,
    MEASURED,
    headings,
    ratio_cells,
    rows_of,
)
from provisioner.reproduction.characterisation import PAPER_ALONE, alone, phases, transfers
from provisioner.reproduction.conclusions import conclusions
from provisioner.reproduction.headlines import Judged, holds, judged
from provisioner.reproduction.published import MODEL, QUESTIONS
from provisioner.units import MS_PER_S, WATTS_PER_KW

_INTRODUCTION = """# The Splitwise evaluation, made again

Made by `{command}`. The paper: Patel et al., *Splitwise: Efficient Generative LLM Inference
Using Phase Splitting*, ISCA 2024 (arXiv 2311.18677v2). BLOOM-176B; nine latency limits relative to
a request alone on a DGX-A100 (TTFT 2x, 3x, 6x, TBT and E2E 1.25x, 1.5x, 5x at P50, P90, P99);
prices and power budgets of its simulator (`--prices splitwise-paper`). Budgets are those of 40
DGX-H100.

Four things stand side by side:

- *paper*: the highest rate that the paper's figures show;
- *simulator*: that of the published simulator (commit 8f99e7d, steps of 10 requests/s);
- *compatible*: ours by that simulator's rules (`--compatible splitwise-sim`), one two-minute trace
  of seed 0, steps of 10 requests/s: one step is its noise;
- *measured*: ours with token times that grow with batch and context as they were measured, 120 s
  for each of seeds 0 to 2, found to 0.1 %; fixed pools, requests to where they finish first.

*Published* are the machines of the paper (prompt + token, or mixed), *best* our own choice of the
same design under the same budget. *Proved*: every better cluster was simulated, or has no more
machines of any kind than one that failed. In compatible mode nothing is proved: `best.csv` says how
many clusters were tried. *Optimum* is the best over all designs and types.

## The three questions
"""
_HEADLINES = """## The headlines

Each with the clusters that fit it best; the paper's text, tables and figures contradict each other
in places, and no single configuration of it has both halves of the first. *Holds*: whether the best
cluster of the design is within 5 % of what is claimed, or better.
"""


_SURVIVES = """## What survives measured token times

In the published simulator token time does not grow with the batch, so its token pools are never
the bottleneck. With measured times they are: pools of token machines have to grow, and the type
with the faster tokens gains, since the limits are relative to an A100. The best clusters of each
design by measured times:
"""


_ROBUST = """## Other traffic, another model

Published clusters at equal power under conversations: those chosen for coding, relative to those
chosen for conversations; and those chosen for BLOOM-176B with Llama2-70B. Both pools help each
other out (`mixed-pool`) in both physics. The paper: no loss for AA and HH, 7 % for HA and HHcap;
with the other model every split design beats both baselines. A pool asks for help when its memory
or its queue is full, which by measured times is long after its tokens are late.
"""
_ALONE = """## One request alone

The paper's table IV: Llama2-70B, the median request of each service, nothing else on the machine.
In brackets what the paper prints. Cost is of 100 requests, at the paper's prices; energy by the
power of each phase (estimated on H100s), where the paper has nearly the machine's full power.
"""
_PHASES = """## The phases against their load

BLOOM-176B on a whole machine (`phases.csv` has Llama2-70B too). Prompt throughput saturates at
about 2,048 tokens a batch, token throughput grows with the batch; the cap slows prompts alone.
"""
_TRANSFER = """## The KV-cache on its way

The paper's figure 14 and its overheads: BLOOM-176B between two machines of a type; a request of 13
output tokens, as in coding. The paper: serialised sending takes 42.5 ms (A100) and 21 ms (H100) at
2,048 tokens and adds 64 % to the second token and up to 3 % to E2E; the shorter way 16.5 % and
0.8 %.
"""


def page_text(found: Reproduction, command: str) -> str:
    """The page."""
    return "\n".join(_page(found, command)) + "\n"


def _page(found: Reproduction, command: str) -> Iterator[str]:
    yield _INTRODUCTION.format(command=command)
    for question, workload in found.optima:
        yield f"### {QUESTIONS[question].capitalize()}, {workload}\n"
        yield from _markdown(
            [h.lstrip(">") for h in headings()], rows_of(found, question, workload)
        )
        yield ""
    yield _HEADLINES
    rows = [[*ratio_cells(one), _verdict(one)] for one in judged(found)]
    titles = ["headline", "paper's figures", COMPATIBLE, "best", MEASURED, "best", "holds"]
    yield from _markdown(titles, rows)
    yield ""
    yield _SURVIVES
    yield from _conclusions(found)
    yield ""
    yield _ROBUST
    yield from _changed(found)
    yield ""
    yield _ALONE
    yield from _alone()
    yield ""
    yield _PHASES
    yield from _phases()
    yield ""
    yield _TRANSFER
    yield from _transfers()


def _verdict(one: Judged) -> str:
    """In which of the two physics the best of the designs does what is claimed."""
    able = [
        name
        for name, ratios in ((COMPATIBLE, one.best_compatible), (MEASURED, one.best))
        if holds(one.headline, ratios)
    ]
    return "in both" if len(able) == 2 else f"{able[0]} only" if able else "in neither"


def _markdown(titles: list[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield "| " + " | ".join(titles) + " |"
    yield "| " + " | ".join(["---"] * len(titles)) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _conclusions(found: Reproduction) -> Iterator[str]:
    words = {True: "survives", False: "does not survive", None: "survives in part"}
    for conclusion in conclusions(found):
        yield f"- **{conclusion.text}**: {words[conclusion.survives]}. {conclusion.numbers}."


def _changed(found: Reproduction) -> Iterator[str]:
    rows = [
        (
            row.design,
            str(row.prompt_machines) + (f" + {row.token_machines}" if row.token_machines else ""),
            row.chosen_for,
            row.model,
            _against(row.compatible_rate_per_s, row.own_compatible_rate_per_s, "g"),
            _against(row.measured_rate_per_s, row.own_measured_rate_per_s, ".1f"),
        )
        for row in found.changed
    ]
    titles = ["design", "machines", "chosen for", "serves", COMPATIBLE, MEASURED]
    yield from _markdown(titles, rows)


def _against(rate: float | None, own: float | None, form: str) -> str:
    text = "-" if rate is None else format(rate, form)
    return f"{text} ({rate / own - 1:+.0%})" if rate is not None and own else text


def _alone() -> Iterator[str]:
    rows = []
    for row in alone():
        paper = PAPER_ALONE[row.service, row.machine]
        rows.append(
            (
                row.service,
                row.machine,
                f"{row.ttft_s * MS_PER_S:.0f} ms ({paper['ttft_s'] * MS_PER_S:.0f})",
                f"{row.tbt_s * MS_PER_S:.1f} ms ({paper['tbt_s'] * MS_PER_S:.0f})",
                f"{row.e2e_s:.2f} s ({paper['e2e_s']:.2f})",
                f"{row.usd:.2f} $ ({paper['usd']:.2f})",
                f"{row.wh:.2f} Wh ({paper['wh']:.2f})",
            )
        )
    yield from _markdown(["service", "machine", "TTFT", "TBT", "E2E", "cost", "energy"], rows)


def _phases() -> Iterator[str]:
    rows = [
        (
            point.machine,
            point.phase,
            f"{point.load:,}",
            f"{point.time_s * MS_PER_S:.1f} ms",
            f"{point.tokens_per_s:,.0f}",
            f"{point.power_w / WATTS_PER_KW:.2f} kW",
        )
        for point in phases()
        if point.model == MODEL
    ]
    yield from _markdown(["machine", "phase", "load", "time", "tokens/s", "power"], rows)


def _transfers() -> Iterator[str]:
    rows = [
        (
            row.machine,
            f"{row.prompt_tokens:,}",
            f"{row.serialised_s * MS_PER_S:.1f} ms",
            f"{row.layered_s * MS_PER_S:.1f} ms",
            f"{row.second_token_overhead_serialised:.0%}",
            f"{row.second_token_overhead:.0%}",
            f"{row.e2e_overhead_serialised:.1%}",
            f"{row.e2e_overhead:.1%}",
        )
        for row in transfers()
    ]
    titles = ["machine", "prompt tokens", "serialised", "layer by layer"]
    titles += ["second token, serialised", "the shorter", "E2E, serialised", "the shorter"]
    yield from _markdown(titles, rows)
