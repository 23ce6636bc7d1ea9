"""Results made by hand: reports must show what they are given, wherever it came from."""

import dataclasses
import io
import math
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from provisioner.domain.base import Phase, Role
from provisioner.domain.case import Case
from provisioner.domain.plan import Plan, Pool, RoutingShare
from provisioner.domain.result import (
    Binding,
    MetricValue,
    PlanResult,
    Reason,
    SloVerdict,
    UnitCost,
)
from provisioner.domain.scenario import Scenario
from provisioner.inputs.resolve import resolve


def _pool(**fields: Any) -> Pool:
    defaults = {
        "role": Role.PROMPT,
        "machine": "big-box",
        "hardware": "big-box",
        "tensor_parallel": 8,
        "instances_per_machine": 1,
        "machines": 14,
        "spares": 1,
        "existing": 3,
        "utilization": 0.8565539824464402,
        "usd_per_hour": 1770.56,
        "provisioned_power_w": 142800.0,
        "rack_units": 112.0,
        "mean_power_w": 98765.4,
    }
    return Pool(**defaults | fields)


@pytest.fixture(scope="session")
def pool() -> Callable[..., Pool]:
    """One pool with figures that are told apart at sight."""
    return _pool


@pytest.fixture(scope="session")
def result() -> PlanResult:
    """Two pools, one metric in each unit, one missed limit, and a type that meets no SLO."""
    pools = (
        _pool(),
        _pool(
            role=Role.TOKEN,
            machine="small-box",
            machines=7,
            spares=0,
            existing=0,
            utilization=1 / 3,
            usd_per_hour=0.1 + 0.2,
            provisioned_power_w=1234.5,
            rack_units=6.5,
            mean_power_w=None,
        ),
    )
    share = RoutingShare("chat", "p1-255_o1-15", Role.PROMPT, "big-box", 8, 1.0)
    metrics = (
        MetricValue("chat", "ttft", 99.0, "slowdown", 6.0, 2.863451667051869, 2.5, 3.25),
        MetricValue("chat", "tbt", 99.9, "s", 0.04, 0.05, None, None),
    )
    return PlanResult(
        status="ok",
        exit_code=0,
        model="a-model",
        objective="cost",
        prices="a-list",
        scheduler="split",
        router="expected-finish",
        workloads=(("chat", 12345.678),),
        plan=Plan("split", 12345.678, pools, (share,)),
        slo=SloVerdict("strict", "big-box", "simulated", metrics),
        bound=741.15,
        gap=0.5856557445785557,
        seeds=(0, 1),
        holdout_pass_fraction=0.7,
        simulations=4321,
        points=((12345.678, True), (12358.1, False)),
        wall_s=1.5,
        binding=(Binding("prompt big-box/tp8", "", 0.99), Binding("cluster", "limits.a", 0.5)),
        unit_costs=(
            UnitCost("big-box", 8, Phase.PROMPT, 5830.4, 2.6226, 0.3702, 14, ""),
            UnitCost("small-box", 4, Phase.TOKEN, None, None, None, None, "too slow"),
        ),
        estimated=("routing", "unit_costs"),
        warnings=("something was assumed",),
        model_lp="Minimize\nEnd\n",
    )


@pytest.fixture(scope="session")
def infinite(result: PlanResult) -> PlanResult:
    """A pool that cannot keep up: an infinite latency, and shares that are no number."""
    missed = MetricValue("chat", "e2e", 50.0, "s", 1.0, math.inf, -math.inf, math.nan)
    return dataclasses.replace(
        result,
        plan=dataclasses.replace(result.plan, pools=(_pool(utilization=math.nan),)),
        slo=dataclasses.replace(result.slo, metrics=(missed,)),
        binding=(Binding("cluster", "limits.a", math.inf),),
        gap=math.inf,
    )


@pytest.fixture(scope="session")
def infeasible(result: PlanResult) -> PlanResult:
    """No plan, two limits to move, one of them to no value at all."""
    reasons = (
        Reason("limits.machines", 1.0, 31.0, True, "limits.machines of 1 is too small"),
        Reason("chat: ttft p99", 0.1, None, False, "ttft p99 cannot be met"),
    )
    return dataclasses.replace(
        result, status="infeasible", exit_code=3, plan=None, slo=None, reasons=reasons, bound=None
    )


@pytest.fixture(scope="session")
def case() -> Case:
    """A resolved question; files of a run say where its data came from."""
    entry = {"name": "fixed", "prompt_tokens": 9, "output_tokens": 9, "rate_per_s": 1}
    return resolve(Scenario.model_validate({"workloads": [entry], "hardware": ["dgx-a100"]}))


@pytest.fixture(scope="session")
def drawn() -> Callable[..., str]:
    """What a view looks like at some width, as the command line prints it."""

    def draw(view: Any, width: int = 132) -> str:
        paper = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
        paper.print(view, crop=False)
        return paper.file.getvalue()

    return draw
