import dataclasses

import pulp
import pytest

from provisioner.capacity.demand import classify
from provisioner.planning import solver
from provisioner.planning.objectives import cost
from provisioner.planning.solve import build
from provisioner.planning.variables import declare, read_solution
from tests.planning.builders import (
    MIXED,
    PROMPT,
    TOKEN,
    best,
    candidate,
    demand,
    machine,
    problem,
    workload,
)

BOX = machine("dgx-h100", accelerators=8)
ONCE = demand(1.0)


@pytest.fixture
def declared():
    """Variables of a problem; in PuLP 4 they live as long as their model, hence a fixture."""
    model = pulp.LpProblem("declared", pulp.LpMinimize)
    return lambda stated: declare(model, stated, (9,) * len(stated.candidates))


def test_every_variable_has_a_readable_name(declared):
    chat = classify((workload(2.0, "azure-conv", ((1024, 100), (9000, 2000))),))
    stated = problem(
        chat,
        candidate(PROMPT, BOX, chat, tensor_parallel=8, tiers=((2, 0.5), (4, 0.75))),
        existing={"dgx-h100": 3},
        spares={PROMPT: 1},
        max_types_per_role=2,
        scale_demand=True,
    )
    variables = declared(stated)
    (sizes,), (sized,), (serve,) = variables.size, variables.sized, variables.serve
    assert [x.name for x in (*variables.machines, *variables.spare)] == [
        "machines__prompt__dgx_h100__tp8",
        "spare__prompt__dgx_h100__tp8",
    ]
    assert [x.name for x in sizes.values()] == [
        "size__prompt__dgx_h100__tp8__2",
        "size__prompt__dgx_h100__tp8__4",
    ]
    assert [x.name for x in sized.values()] == [
        "sized__prompt__dgx_h100__tp8__2",
        "sized__prompt__dgx_h100__tp8__4",
    ]
    assert [x.name for x in serve.values()] == [
        "serve__prompt__dgx_h100__tp8__azure_conv__p1024_2047_o64_255",
        "serve__prompt__dgx_h100__tp8__azure_conv__p8192up_o1024up",
    ]
    assert variables.owned["dgx-h100"].name == "owned__dgx_h100"
    assert variables.uses[PROMPT, "dgx-h100"].name == "uses__prompt__dgx_h100"
    assert variables.theta.name == "theta"


def test_workloads_that_differ_in_punctuation_have_variables_of_their_own():
    # PuLP refuses to write a model in which a name occurs twice.
    chats = classify(tuple(workload(1.0, name) for name in ("chat-1", "chat_1", "chat.1", "code")))
    stated = problem(chats, candidate(MIXED, BOX, chats))
    text = solver.written(build(stated, cost)[0])
    for name in ("chat_1__p1_255_o1_15__0", "chat_1__p1_255_o1_15__2", "code__p1_255_o1_15 "):
        assert f"serve__mixed__dgx_h100__tp1__{name}" in text


def test_only_what_a_problem_asks_for_is_declared(declared):
    variables = declared(problem(ONCE, candidate(PROMPT, BOX, ONCE), candidate(TOKEN, BOX, ONCE)))
    assert variables.size == variables.sized == ({}, {})
    assert variables.spare == (None, None)
    assert (variables.owned, variables.uses, variables.theta) == ({}, {}, None)


def test_a_class_that_a_pool_may_not_serve_has_no_variable(declared):
    twice = demand(1.0, 1.0)
    (serve,) = declared(problem(twice, candidate(MIXED, BOX, twice, serves=[False, True]))).serve
    assert list(serve) == [1]


def test_a_deployment_made_twice_is_one():
    # The rule of one SLO level goes by the deployment's name, not by the object.
    twice = demand(1.0, 1.0)
    strict = candidate(PROMPT, BOX, twice, level=0)
    again = dataclasses.replace(strict.deployment)
    loose = candidate(PROMPT, BOX, twice, level=1, serves=[False, True], deployment=again)
    tokens = candidate(TOKEN, BOX, twice)
    assert best(problem(twice, strict, loose, tokens)).machines == (1, 0, 1)


def test_read_solution_rounds_whole_numbers_and_drops_dust(declared):
    # What solvers hand back: -0.0 and 2.999999 for whole numbers, 1e-12 for no share at all.
    stated = problem(
        ONCE,
        candidate(PROMPT, BOX, ONCE),
        candidate(TOKEN, BOX, ONCE),
        existing={"dgx-h100": 2},
        spares={TOKEN: 1},
    )
    variables = declared(stated)
    for variable, value in zip(variables.machines, (2.999999, -0.0), strict=True):
        variable.varValue = value
    variables.spare[1].varValue = 1.0000001
    variables.serve[0][0].varValue = 1e-12
    variables.serve[1][0].varValue = 0.25
    found = read_solution(stated, variables)
    assert (found.machines, found.spares) == ((3, 0), (0, 1))
    assert found.owned == {"dgx-h100": 2}
    assert found.serve[:, 0] == pytest.approx([0.0, 0.25], abs=0)
    assert found.theta == 1.0
