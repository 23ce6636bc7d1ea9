"""Flags that several commands share, one per field of a scenario; text until it is validated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from provisioner.cli.app import path

TRAFFIC, SUPPLY = "Traffic", "Machines"
GOAL, JUDGE, RUN = "Objective and limits", "Judging", "Run"


def option(panel: str, help_: str, metavar: str, *names: str, **how: Any) -> Any:
    """A flag with its help, in a panel of the command's help."""
    return typer.Option(*names, help=help_, rich_help_panel=panel, metavar=metavar, **how)


Text = str | None
Texts = list[str] | None

ScenarioFile = Annotated[
    Path | None,
    typer.Argument(
        help="A scenario file, or a saved run's inputs.yaml.",
        metavar="SCENARIO.yaml",
        parser=path,
        show_default=False,
    ),
]
ModelName = Annotated[Text, option(TRAFFIC, "The model to serve.", "NAME")]
Workloads = Annotated[Texts, option(TRAFFIC, "A stored workload; may be repeated.", "NAME[=RATE]")]
Traces = Annotated[Texts, option(TRAFFIC, "A request trace; may be repeated.", "FILE")]
Rate = Annotated[Text, option(TRAFFIC, "Requests per second, or peak_60s of a trace.", "RATE")]
Speedup = Annotated[Text, option(TRAFFIC, "Times the trace's own rate.", "NUMBER")]
PromptTokens = Annotated[Text, option(TRAFFIC, "Fixed prompt length.", "COUNT")]
OutputTokens = Annotated[
    Text, option(TRAFFIC, "Fixed output length, first token included.", "COUNT")
]
Growth = Annotated[Text, option(TRAFFIC, "Multiplies all demand.", "NUMBER")]
Slos = Annotated[
    Texts, option(TRAFFIC, "Named latency limits, of all or of one workload.", "[WORKLOAD=]NAME")
]
Hardware = Annotated[Texts, option(SUPPLY, "Machine types, separated by commas.", "NAMES")]
TensorParallel = Annotated[Texts, option(SUPPLY, "auto, or sizes separated by commas.", "SIZES")]
Prices = Annotated[Text, option(SUPPLY, "A price list.", "NAME")]
Existing = Annotated[Texts, option(SUPPLY, "All machines already owned.", "NAME=COUNT")]
Available = Annotated[
    Texts,
    option(SUPPLY, "Most machines to be had of a kind, owned ones included.", "NAME=COUNT"),
]
Spares = Annotated[
    Texts, option(SUPPLY, "Spare machines of a role, of its cheapest type.", "ROLE=COUNT")
]
MaxTypesPerRole = Annotated[Text, option(SUPPLY, "Most machine types in one role.", "COUNT")]
Designs = Annotated[
    Texts,
    option(
        SUPPLY,
        "split, mixed, hybrid, or a named one such as splitwise-ha; separated by commas.",
        "NAMES",
        "--designs",
        "--design",
    ),
]
Minimize = Annotated[Text, option(GOAL, "cost, power (provisioned) or machines.", "OBJECTIVE")]
Maximize = Annotated[
    Text, option(GOAL, "throughput, throughput_per_usd or throughput_per_watt.", "OBJECTIVE")
]
UsdPerHour = Annotated[Text, option(GOAL, "Most rent, in USD/h.", "NUMBER")]
PowerW = Annotated[Text, option(GOAL, "Most provisioned power, in W.", "NUMBER")]
Machines = Annotated[Text, option(GOAL, "Most machines.", "COUNT")]
RackUnits = Annotated[Text, option(GOAL, "Most rack units.", "NUMBER")]
Scheduler = Annotated[Text, option(JUDGE, "auto, colocated, split or mixed-pool.", "NAME")]
Router = Annotated[
    Text,
    option(JUDGE, "expected-finish, shortest-queue, or plan-shares of a plan.", "NAME"),
]
Duration = Annotated[Text, option(JUDGE, "Length of a judged run, in s.", "NUMBER", "--duration")]
Warmup = Annotated[Text, option(JUDGE, "Cut from its start, in s.", "NUMBER", "--warmup")]
Seeds = Annotated[Text, option(JUDGE, "Number of judged runs.", "COUNT")]
Arrivals = Annotated[Text, option(JUDGE, "poisson, or replay of a trace.", "NAME")]
TimeLimit = Annotated[Text, option(RUN, "Most time for a search, in s.", "NUMBER", "--time-limit")]
Out = Annotated[
    Path | None,
    option(RUN, "Write the run's files into a new folder.", "FOLDER", "--out", parser=path),
]
