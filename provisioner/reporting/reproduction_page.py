"""The page of a reproduction that a reader of the paper can follow."""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.domain.reproduction import COMPATIBLE, MEASURED, Reproduction
from provisioner.reporting.reproduction_sections import markdown, pictures, rest_of_evaluation
from provisioner.reporting.reproduction_tables import (
    headings,
    ratio_cells,
    ratio_text,
    rows_of,
)
from provisioner.reproduction.conclusions import conclusions
from provisioner.reproduction.headlines import Judged, Ratios, holds, judged
from provisioner.reproduction.published import CONVERSATION, QUESTIONS

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
machines of any kind than one that failed; in compatible mode every best is proved so, on the grid.
*Optimum* is the best over all designs, in the measured physics over all mixes of types too.

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


def page_text(found: Reproduction, command: str) -> str:
    """The page."""
    return "\n".join(_page(found, command)) + "\n"


def _page(found: Reproduction, command: str) -> Iterator[str]:
    yield _INTRODUCTION.format(command=command)
    for question, workload in found.optima:
        yield f"### {QUESTIONS[question].capitalize()}, {workload}\n"
        yield from markdown([h.lstrip(">") for h in headings()], rows_of(found, question, workload))
        yield ""
    yield from pictures("equal_power.svg", "equal_cost.svg", "fixed_rate.svg")
    yield _HEADLINES
    every = list(judged(found))
    rows = [[*ratio_cells(one), _verdict(one)] for one in every]
    titles = ["headline", "paper's figures", COMPATIBLE, "best", MEASURED, "best", "holds"]
    yield from markdown(titles, rows)
    yield ""
    yield from (f"- {sentence(one)}" for one in every)
    yield ""
    yield _SURVIVES
    yield from _conclusions(found)
    yield from rest_of_evaluation(found)


def _verdict(one: Judged) -> str:
    """In which of the two physics the best of the designs does what is claimed."""
    able = [name for name, ratios in _of_rules(one) if holds(one.headline, ratios)]
    return "in both" if len(able) == 2 else f"{able[0]} only" if able else "in neither"


def _of_rules(one: Judged) -> tuple[tuple[str, Ratios], tuple[str, Ratios]]:
    return (COMPATIBLE, one.best_compatible), (MEASURED, one.best)


def sentence(one: Judged) -> str:
    """Whether a headline holds, and what that depends on."""
    headline = one.headline
    words = {
        "in both": "holds by both rules: it does not depend on how token times grow",
        "compatible only": "holds only if token times do not grow with batch and context",
        "measured only": "holds only if token times grow as measured, for both designs",
        "in neither": "holds by neither rule, whatever the machine counts",
    }[_verdict(one)]
    theirs, ours = (ratio_text(ratios) for _, ratios in _of_rules(one))
    return (
        f"**{headline.text}** ({headline.design} against {headline.baseline}, {CONVERSATION}, "
        f"{QUESTIONS[headline.question]}) {words}. Compatible {theirs}; measured {ours}. "
        f"{headline.note}"
    )


def _conclusions(found: Reproduction) -> Iterator[str]:
    words = {True: "survives", False: "does not survive", None: "survives in part"}
    for conclusion in conclusions(found):
        yield f"- **{conclusion.text}**: {words[conclusion.survives]}. {conclusion.numbers}."
