"""Sections of a reproduction's page on the rest of the evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from provisioner.domain.reproduction import COMPATIBLE, MEASURED, HeatPoint, Reproduction
from provisioner.reproduction.characterisation import PAPER_ALONE, alone, phases, transfers
from provisioner.reproduction.heat_map import PAPER
from provisioner.reproduction.high_load import PAPER_FEW, PAPER_SHARE
from provisioner.reproduction.published import MODEL, counts_text
from provisioner.units import MS_PER_S, WATTS_PER_KW

_HEAT = """## Which numbers of machines keep the SLO

The paper's figure 12: Splitwise-HH, coding at 70 requests/s. Each cell is the most that any of the
nine percentiles takes of its limit.
"""
_LOAD = """## Latency and work against the load

The paper's figures 16 and 17: its clusters for conversations at equal power; pools help each other
out (`mixed-pool`) in both physics. *Borrowed* machines did the other pool's work, so often;
*taken* is the most that any percentile takes of its limit.
"""
_BATCH = """## Batch jobs

20,000 conversations that are all there at the start and have no SLO, on the clusters for equal
power: requests/s per USD/h of one accelerator in every machine, as in the paper, while the middle
80 % of them finish.
"""
_FAILURES = """## A machine fails

The best cluster of each design (conversation, equal power, measured token times, seeds 0 to 2) at
90 % of its highest rate; one machine is lost 60 s into each run and does not come back. Its
requests start again elsewhere. *Taken* is the most that any percentile takes of its limit: above 1
the SLO is missed.
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


def rest_of_evaluation(found: Reproduction) -> Iterator[str]:
    """Everything but the questions and the headlines."""
    for section in (
        _heat(found),
        _load(found),
        _robust(found),
        _batch(found),
        _failures(found),
        _alone(),
        _phases(),
        _transfers(),
    ):
        yield ""
        yield from section


def pictures(*names: str) -> Iterator[str]:
    """Figures of the same folder."""
    for name in names:
        yield f"![{name.removesuffix('.svg').replace('_', ' ').capitalize()}]({name})\n"


def markdown(titles: list[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table."""
    yield "| " + " | ".join(titles) + " |"
    yield "| " + " | ".join(["---"] * len(titles)) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _heat(found: Reproduction) -> Iterator[str]:
    yield _HEAT
    yield from pictures("heat_map.svg")
    paper = next(p for p in found.heat if (p.prompt_machines, p.token_machines) == PAPER)
    yield (
        f"The paper's cheapest that keeps it is {_named(paper)}. Here that cluster takes "
        f"{paper.compatible:.2f} of its limits by compatible rules and {paper.measured:.2f} by "
        "measured token times."
    )
    for rule, kept in (
        (COMPATIBLE, [point for point in found.heat if point.compatible < 1]),
        (MEASURED, [point for point in found.heat if point.measured <= 1]),
    ):
        if not kept:
            yield f"No cluster of the map keeps the SLO by {rule} rules."
            continue
        least = min(kept, key=lambda p: p.usd_per_hour)
        yield (
            f"The cheapest of the map by {rule} rules: {_named(least)}, "
            f"{least.usd_per_hour:,.2f} USD/h."
        )


def _named(point: HeatPoint) -> str:
    return counts_text((point.prompt_machines, point.token_machines))


def _load(found: Reproduction) -> Iterator[str]:
    yield _LOAD
    yield from pictures("latency.svg", "active_tokens.svg")
    own = next(
        row
        for row in found.loaded
        if (row.design, row.rule, row.rate_per_s) == ("baseline-h100", COMPATIBLE, 70)
    )
    few = own.share_up_to(PAPER_FEW)
    yield (
        f"The paper: at 70 requests/s Baseline-H100 has at most {PAPER_FEW} active tokens "
        f"{PAPER_SHARE:.0%} of the time; by compatible rules it has {few:.0%} "
        "of it (times without work count). At 130 requests/s the paper has its split designs do "
        "what the baseline does, since the pools borrow from each other.\n"
    )
    rows = [
        (
            row.design,
            row.rule,
            f"{row.rate_per_s:g}",
            f"{row.share_up_to(PAPER_FEW):.0%}",
            f"{row.borrowed_prompt:,}",
            f"{row.borrowed_token:,}",
            f"{row.most_taken:.2f}",
        )
        for row in found.loaded
    ]
    titles = ["design", "rule", "requests/s", f"time with at most {PAPER_FEW} tokens"]
    titles += ["prompt machines borrowed", "token machines borrowed", "taken"]
    yield from markdown(titles, rows)


def _batch(found: Reproduction) -> Iterator[str]:
    yield _BATCH
    rows = [
        (
            row.design,
            counts_text((row.prompt_machines, row.token_machines)),
            "-" if row.paper_per_usd is None else f"{row.paper_per_usd:.2f}",
            f"{row.compatible_per_usd:.2f}",
            f"{row.measured_per_usd:.2f}",
        )
        for row in found.batch
    ]
    yield from markdown(["design", "machines", "paper", COMPATIBLE, MEASURED], rows)


def _failures(found: Reproduction) -> Iterator[str]:
    yield _FAILURES
    rows = [
        (
            row.design,
            row.machines,
            f"{row.rate_per_s:.1f}",
            row.fails,
            f"{row.restarted:,} of {row.judged:,}",
            f"{row.taken_without:.2f}",
            f"{row.taken:.2f} ({row.limit})",
            f"{row.e2e_p99_without_s:.2f} s",
            f"{row.e2e_p99_s:.2f} s",
        )
        for row in found.lost
    ]
    titles = ["design", "machines", "requests/s", "fails", "restarted", "taken before"]
    titles += ["taken after", "E2E P99 before", "after"]
    yield from markdown(titles, rows)
    kept, failures = sum(row.taken <= 1 for row in found.lost), len(found.lost)
    yield f"\nThe SLO is kept after {kept} of {failures} failures: the headroom takes the load."


def _robust(found: Reproduction) -> Iterator[str]:
    yield _ROBUST
    rows = [
        (
            row.design,
            counts_text((row.prompt_machines, row.token_machines)),
            row.chosen_for,
            row.model,
            _against(row.compatible_rate_per_s, row.own_compatible_rate_per_s, "g"),
            _against(row.measured_rate_per_s, row.own_measured_rate_per_s, ".1f"),
        )
        for row in found.changed
    ]
    titles = ["design", "machines", "chosen for", "serves", COMPATIBLE, MEASURED]
    yield from markdown(titles, rows)


def _against(rate: float | None, own: float | None, form: str) -> str:
    text = "-" if rate is None else format(rate, form)
    return f"{text} ({rate / own - 1:+.0%})" if rate is not None and own else text


def _alone() -> Iterator[str]:
    yield _ALONE
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
    yield from markdown(["service", "machine", "TTFT", "TBT", "E2E", "cost", "energy"], rows)


def _phases() -> Iterator[str]:
    yield _PHASES
    yield from pictures("phases.svg")
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
    yield from markdown(["machine", "phase", "load", "time", "tokens/s", "power"], rows)


def _transfers() -> Iterator[str]:
    yield _TRANSFER
    yield from pictures("transfer.svg")
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
    yield from markdown(titles, rows)
