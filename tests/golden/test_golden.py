"""Every constraint's rows and every objective, readable by eye in one file each.

``UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew; read the difference before keeping
it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pulp
import pytest

from provisioner.planning import solver
from provisioner.planning.constraints import CONSTRAINTS
from provisioner.planning.objectives import OBJECTIVES
from provisioner.planning.problem import Cut, Problem
from provisioner.planning.solve import build
from provisioner.planning.variables import declare
from tests.golden.lp_text import normalised
from tests.planning.builders import MIXED, PROMPT, TOKEN, candidate, demand, machine, problem

HERE = Path(__file__).parent
LONGEST = 22
"""Lines that one takes in at a glance."""
MOST = 9
"""Upper bound of every candidate's machines in the constraints' files."""
RATIO = 0.5
BY_NAME = {member.NAME: member for member in (*CONSTRAINTS, *OBJECTIVES)}

DEMAND = demand(2.0)
A100 = machine("a100", usd_per_hour=2.0, provisioned_power_w=600, rack_units=6)
H100 = machine("h100", usd_per_hour=3.0, provisioned_power_w=1000, rack_units=8)
CAPPED = machine("h100-cap70", hardware="h100", usd_per_hour=3.0, provisioned_power_w=700)


def _split(**changes) -> Problem:
    """Prompts of 0.25 s on A100; tokens on H100, in machines of two instances."""
    return problem(
        DEMAND,
        candidate(PROMPT, A100, DEMAND, prompt_s=0.25),
        candidate(TOKEN, H100, DEMAND, segments=((0.01, 0.002),), target_s=0.1),
        **changes,
    )


def _served() -> Problem:
    demands = demand(2.0, 1.0)
    return problem(
        demands,
        candidate(PROMPT, A100, demands),
        candidate(TOKEN, H100, demands, serves=[True, False]),
        candidate(MIXED, H100, demands),
    )


def _staffed() -> Problem:
    demands = demand(1000.0, 1e-9)
    return problem(demands, candidate(PROMPT, A100, demands), candidate(TOKEN, H100, demands))


def _pool_size() -> Problem:
    return problem(DEMAND, candidate(PROMPT, A100, DEMAND, tiers=((2, 0.5), (4, 0.75))))


def _prompt_time() -> Problem:
    twin = machine("a100", accelerators=2)
    return problem(
        DEMAND,
        candidate(PROMPT, twin, DEMAND, prompt_s=0.25, tiers=((2, 0.5), (4, 0.75))),
        candidate(MIXED, H100, DEMAND, prompt_s=0.125, tiers=((1, 0.5),)),
    )


def _token_time() -> Problem:
    twin = machine("h100", accelerators=2)
    return problem(
        DEMAND,
        candidate(
            TOKEN,
            twin,
            DEMAND,
            segments=((0.05, 0.001), (0.01, 0.002)),
            target_s=0.1,
            context_s=1e-5,
        ),
        candidate(MIXED, A100, DEMAND, segments=((0.05, 0.001),), target_s=0.1, prompt_s=0.25),
    )


def _kv_room() -> Problem:
    return problem(
        DEMAND,
        candidate(TOKEN, H100, DEMAND, segments=((0.05, 0.001),), kv_room_tokens=1000),
        candidate(
            MIXED, A100, DEMAND, segments=((0.05, 0.001),), kv_room_tokens=500, prompt_s=0.25
        ),
    )


def _batch_limit() -> Problem:
    return problem(
        DEMAND,
        candidate(TOKEN, H100, DEMAND, segments=((0.05, 0.001),), batch_limit=16),
        candidate(
            MIXED,
            A100,
            DEMAND,
            segments=((0.05, 0.001),),
            batch_limit=8,
            prompt_s=0.25,
            phases_share_time=False,
        ),
    )


def _network() -> Problem:
    slow = machine("a100", network_bytes_per_s=512)
    fast = machine("h100", network_bytes_per_s=1024)
    return problem(
        DEMAND,
        candidate(PROMPT, slow, DEMAND),
        candidate(TOKEN, fast, DEMAND),
        candidate(MIXED, fast, DEMAND),
    )


def _one_level() -> Problem:
    demands = demand(2.0, 1.0)
    return problem(
        demands,
        candidate(PROMPT, A100, demands, level=0),
        candidate(PROMPT, A100, demands, level=1, serves=[False, True], tiers=((2, 0.5), (4, 1.0))),
        candidate(TOKEN, H100, demands),
    )


def _ownership() -> Problem:
    return problem(
        DEMAND,
        candidate(PROMPT, H100, DEMAND),
        candidate(TOKEN, CAPPED, DEMAND),
        candidate(TOKEN, A100, DEMAND),
        existing={"h100": 4},
        spares={PROMPT: 1},
    )


def _spare_machines() -> Problem:
    return problem(
        DEMAND,
        candidate(PROMPT, A100, DEMAND),
        candidate(PROMPT, H100, DEMAND),
        candidate(TOKEN, H100, DEMAND),
        spares={PROMPT: 2},
    )


def _types_per_role() -> Problem:
    return problem(
        DEMAND,
        candidate(PROMPT, A100, DEMAND, tiers=((1, 0.5), (4, 0.75))),
        candidate(PROMPT, H100, DEMAND),
        candidate(TOKEN, H100, DEMAND),
        max_types_per_role=1,
    )


def _availability() -> Problem:
    return problem(
        DEMAND,
        candidate(PROMPT, A100, DEMAND),
        candidate(TOKEN, H100, DEMAND),
        candidate(TOKEN, CAPPED, DEMAND),
        limits={"available": {"h100": 5, "a100": 0, "other": 3}},
        spares={TOKEN: 1},
    )


def _failed_before() -> Problem:
    return problem(
        DEMAND,
        candidate(PROMPT, A100, DEMAND),
        candidate(PROMPT, H100, DEMAND),
        candidate(TOKEN, H100, DEMAND),
        cuts=(Cut(((0, 3), (1, 2))), Cut(((0, 5), (1, 1)))),
        most=(MOST,) * 3,
    )


SITE = {"usd_per_hour": 100, "power_w": 20000, "machines": 12, "rack_units": 84}
CONSTRAINT_CASES: dict[str, tuple[str, Callable[[], Problem]]] = {
    "served": ("two classes; the token pool may serve the first only", _served),
    "staffed": ("two classes, one of them very rare", _staffed),
    "pool_size": ("headroom for pools of 2 and of 4 machines", _pool_size),
    "prompt_time": ("2/s x 0.25 s in machines of two instances, 2/s x 0.125 s mixed", _prompt_time),
    "token_time": ("L = 16/s, M = 1096/s; two segments; mixed with prompts", _token_time),
    "kv_room": ("L = 16/s, M = 1096/s; a/room = 0.05/1000, mixed 0.05/500", _kv_room),
    "batch_limit": ("L = 16/s; a/limit = 0.05/16, mixed 0.05/8 beside its prompts", _batch_limit),
    "network": ("2/s x 64 tokens of 1 byte over 512 and 1024 bytes/s", _network),
    "one_level": ("one deployment at two SLO levels", _one_level),
    "ownership": ("four h100, capped or not; spares may be owned", _ownership),
    "spare_machines": ("two spare prompt machines, a100 being cheaper", _spare_machines),
    "types_per_role": ("one type per role", _types_per_role),
    "money": ("at most 100 USD/h", lambda: _split(limits=SITE, existing={"h100": 1})),
    "power_budget": ("at most 20 kW", lambda: _split(limits=SITE, spares={PROMPT: 1})),
    "machine_limit": ("at most 12 machines", lambda: _split(limits=SITE, spares={TOKEN: 1})),
    "rack_space": ("at most 84 rack units", lambda: _split(limits=SITE, spares={PROMPT: 1})),
    "availability": ("5 h100, capped or not; no a100", _availability),
    "failed_before": (
        "3 a100 and 2 h100 failed for prompts, 5 and 1 too",
        _failed_before,
    ),
}
OBJECTIVE_CASES: dict[str, tuple[str, dict]] = {
    "cost": ("rent less that of existing machines", {"existing": {"h100": 1}}),
    "power": ("watts reserved, existing machines and spares included", {"spares": {TOKEN: 1}}),
    "machines": ("machines, spares included", {"spares": {TOKEN: 1}}),
    "throughput": ("2 requests/s times theta", {"limits": SITE, "scale_demand": True}),
    "throughput_per_usd": (
        f"throughput less {RATIO} x cost",
        {"limits": SITE, "scale_demand": True, "existing": {"h100": 1}},
    ),
    "throughput_per_watt": (
        f"throughput less {RATIO} x power",
        {"limits": SITE, "scale_demand": True},
    ),
}


def _constraint_text(name: str) -> str:
    heading, case = CONSTRAINT_CASES[name]
    stated = case()
    model = pulp.LpProblem("golden", pulp.LpMinimize)
    variables = declare(model, stated, (MOST,) * len(stated.candidates))
    model.setObjective(pulp.lpSum([]))
    for row_name, row in BY_NAME[name].rows(stated, variables):
        model.addConstraint(row, row_name)
    return normalised(solver.written(model), heading)


def _objective_text(name: str) -> str:
    heading, changes = OBJECTIVE_CASES[name]
    objective = BY_NAME[name]
    ratio = RATIO if hasattr(objective, "PER") else 0.0
    model, _ = build(_split(**changes), objective, ratio)
    return normalised(solver.written(model), heading, rows=False)


def _compare(path: Path, text: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST


@pytest.mark.parametrize("name", CONSTRAINT_CASES)
def test_rows_of_a_constraint(name):
    _compare(HERE / "constraints" / f"{name}.lp", _constraint_text(name))


@pytest.mark.parametrize("name", OBJECTIVE_CASES)
def test_expression_of_an_objective(name):
    _compare(HERE / "objectives" / f"{name}.lp", _objective_text(name))


@pytest.mark.parametrize(
    ("family", "members"), [("constraints", CONSTRAINTS), ("objectives", OBJECTIVES)]
)
def test_every_member_has_a_golden_file_and_none_is_orphaned(family, members):
    found = {path.stem for path in (HERE / family).iterdir()}
    assert found == {member.NAME for member in members}
