"""What the proof rests on, and how long it takes."""

import itertools
import time

from rich.console import Console
from rich.table import Table

from provisioner.api import plan
from provisioner.domain.scenario import Scenario
from provisioner.search import best, certainty
from provisioner.search.run import run
from tests.search.judged import Bill, Judge, case_of, kinds_of
from tests.search.test_best import values

TEN = {
    "model": "llama2-70b",
    "tensor_parallel": [2, 4, 8],
    "hardware": ["dgx-a100", "dgx-h100", "dgx-h100-cap70"],
    "slo": "interactive",
}
PLANS = {
    "default example": {},
    "mixed-pool over split": {"designs": ["split"], "scheduler": "mixed-pool"},
    "hybrid": {"designs": ["hybrid"]},
    "nine deployments per role (llama2-70b)": TEN,
    "most throughput within 400 kW": {
        "maximize": "throughput",
        "limits": {"power_w": 400_000.0},
    },
    "throughput per dollar within 400 kW": {
        "maximize": "throughput_per_usd",
        "limits": {"power_w": 400_000.0},
    },
}
RANDOM = range(1000, 1200)


def plans(console: Console) -> None:
    """Time and proof of plans for the built-in example, changed a little."""
    table = Table("plan", "s", "proof", "gap", "simulations", "machines", box=None)
    for name, fields in PLANS.items():
        scenario = Scenario.model_validate(
            {"workloads": [{"name": "azure-conv", "rate_per_s": 70.0}], **fields}
        )
        started = time.perf_counter()
        result = plan(scenario).result
        seconds = time.perf_counter() - started
        assert result.plan is not None
        gap = "-" if result.gap is None else f"{result.gap:.2%}"
        numbers = f"{result.simulations:,}", f"{result.plan.machines}"
        table.add_row(name, f"{seconds:.1f}", result.proof, gap, *numbers)
    console.print("Plans", style="bold")
    console.print(table)


def maximal_vectors(console: Console, workload: str) -> None:
    """Simulate every maximal vector of counts that costs less than the plan: all have to fail."""
    case = case_of(
        workloads=[{"name": workload, "rate_per_s": 70.0}],
        hardware=["dgx-a100", "dgx-h100"],
        designs=["split"],
        simulation={"duration_s": 120.0, "warmup_s": 10.0, "seeds": 3},
    )
    result = run(case)
    assert result.plan is not None
    cost = result.plan.usd_per_hour
    kinds = kinds_of(case, "split")
    judge, bill = Judge(case, kinds), Bill(case, kinds)
    prices = [deployment.machine.price_usd_per_hour for _, deployment in kinds]
    tried = failed = 0
    for head in itertools.product(*(range(int(cost / p) + 1) for p in prices[:-1])):
        left = cost * (1 - 1e-9) - sum(n * p for n, p in zip(head, prices, strict=False))
        if left < 0:
            continue
        counts = (*head, int(left / prices[-1]))
        if any(bill.value(_more(counts, j), "cost") < cost * (1 - 1e-9) for j in range(len(kinds))):
            continue
        tried += 1
        failed += not judge.passes(counts)
    console.print(
        f"{workload} at 70/s, split, A100 and H100: plan {cost:,.2f} $/h ({result.proof}); of "
        f"{tried:,} maximal vectors below it {failed:,} fail"
    )


def _more(counts: tuple[int, ...], j: int) -> tuple[int, ...]:
    return (*counts[:j], counts[j] + 1, *counts[j + 1 :])


def agreement(console: Console) -> None:
    """How often cuts alone find the best of all clusters, on random small instances."""
    former = best.MOST_BETTER, certainty._MOST_LOOKED_AT
    best.MOST_BETTER, certainty._MOST_LOOKED_AT = -1, 0
    compared = agreed = monotone = right = 0
    for seed in RANDOM:
        value, _, proof, listed = values(seed)
        if value is None or listed is None:
            continue
        compared += 1
        same = abs(value - listed) <= 1e-6 * listed
        agreed += same
        monotone += proof == "monotone"
        right += same and proof == "monotone"
    best.MOST_BETTER, certainty._MOST_LOOKED_AT = former
    console.print(
        f"cuts alone find the best of all clusters in {agreed} of {compared} random small "
        f"instances ({agreed / compared:.1%}); of the {monotone} that are called monotone {right} "
        f"({right / monotone:.1%})"
    )


def main(console: Console) -> None:
    """Print everything."""
    plans(console)
    for workload in ("azure-conv", "azure-code"):
        maximal_vectors(console, workload)
    agreement(console)
