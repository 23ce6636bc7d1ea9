import pytest

from provisioner.planning import solver
from provisioner.planning.objectives import OBJECTIVES, cost, machines, power, throughput
from provisioner.planning.solve import build, most_machines, solve, violations
from tests.planning.builders import (
    CLOSE,
    MIXED,
    PROMPT,
    TOKEN,
    UNHURRIED_S,
    best,
    candidate,
    demand,
    machine,
    problem,
    solution,
)

BOX = machine("box")
ONCE = demand(2.0)


def mixed(rate_per_s, *types, **changes):
    """Prompts of 1 s on mixed machines: as many machines as requests per second."""
    once = demand(rate_per_s)
    return problem(once, *(candidate(MIXED, m, once, prompt_s=1.0) for m in types), **changes)


# --- ties, cut-offs and what there is not ---


COOL = machine("cool", provisioned_power_w=500, rack_units=2)
LARGE = machine("large", usd_per_hour=2.0, accelerators=2)


@pytest.mark.parametrize("types", [(BOX, COOL), (COOL, BOX)])
def test_among_equal_optima_the_preferred_one(types):
    # Two machines at 1 USD/h each, of either kind: by power both are cool ones.
    stated = mixed(2.0, *types)
    answer = solve(stated, cost, UNHURRIED_S, prefer=(power,))
    named = {m.name: n for m, n in zip(types, answer.solution.machines, strict=True)}
    assert named == {"box": 0, "cool": 2}
    assert answer.bound == pytest.approx(2.0)


def test_preferences_count_in_order():
    # For 2 USD/h: two boxes (2000 W, two machines), two cool (1000 W) or one large (1000 W, one).
    stated = mixed(2.0, BOX, COOL, LARGE)
    by_power = solve(stated, cost, UNHURRIED_S, prefer=(power, machines)).solution
    assert by_power.machines == (0, 0, 1)
    # One large is the best by number; without it power decides again.
    two = mixed(2.0, BOX, COOL, LARGE, limits={"available": {"large": 0}})
    assert solve(two, cost, UNHURRIED_S, prefer=(machines, power)).solution.machines == (0, 2, 0)


def test_a_preference_never_costs_anything():
    dear = machine("dear", usd_per_hour=1.001, provisioned_power_w=1)
    answer = solve(mixed(2.0, BOX, dear), cost, UNHURRIED_S, prefer=(power,))
    assert answer.solution.machines == (2, 0)


def test_a_preference_among_the_largest_throughputs():
    # Four machines of either kind do 4 requests/s; by cost four boxes.
    dear = machine("dear", usd_per_hour=2.0)
    stated = mixed(1e-6, BOX, dear, limits={"machines": 4}, scale_demand=True)
    answer = solve(stated, throughput, UNHURRIED_S, prefer=(cost,))
    assert answer.solution.machines == (4, 0)
    assert throughput.value(stated, answer.solution) == pytest.approx(4.0, rel=CLOSE)


@pytest.mark.parametrize(("no_worse_than", "found"), [(2.0, True), (3.0, True), (1.9, False)])
def test_only_what_is_no_worse_is_looked_for_in_a_minimum(no_worse_than, found):
    answer = solve(mixed(2.0, BOX), cost, UNHURRIED_S, no_worse_than=no_worse_than)
    assert answer.feasible is found
    assert answer.optimal


@pytest.mark.parametrize(("no_worse_than", "found"), [(4.0, True), (3.0, True), (4.1, False)])
def test_only_what_is_no_worse_is_looked_for_in_a_maximum(no_worse_than, found):
    stated = mixed(0.25, BOX, limits={"machines": 4}, scale_demand=True)
    answer = solve(stated, throughput, UNHURRIED_S, no_worse_than=no_worse_than)
    assert answer.feasible is found


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.NAME)
def test_without_candidates_there_is_no_solution(objective):
    answer = solve(problem(ONCE), objective, UNHURRIED_S)
    assert answer.solution is None
    assert answer.optimal


def test_infeasible_has_neither_solution_nor_bound_and_is_certain():
    answer = solve(mixed(2.0, BOX, limits={"machines": 1}), cost, UNHURRIED_S)
    assert (answer.solution, answer.bound, answer.optimal) == (None, None, True)


# --- very small and very large ---


@pytest.mark.parametrize("rate_per_s", [1e6, 1e9])
def test_a_very_large_demand_stays_exact(rate_per_s):
    # 0.3 s at a headroom of 0.75 are 0.4 prompt machines per request/s, 8 x 1/80 s are 0.1 token
    # machines.
    once = demand(rate_per_s)
    stated = problem(
        once,
        candidate(PROMPT, BOX, once, prompt_s=0.3, tiers=((1, 0.5), (10, 0.75))),
        candidate(TOKEN, BOX, once, segments=((0.0, 1 / 80),)),
        spares={PROMPT: 1},
        max_types_per_role=1,
    )
    assert best(stated).machines == (round(0.4 * rate_per_s), round(0.1 * rate_per_s))


def test_a_large_and_a_small_workload_together():
    # The large one fills 2 x 10^5 boxes; the small one, which only dear machines may serve, one.
    both = demand(1e6, 1e-3)
    stated = problem(
        both,
        candidate(MIXED, BOX, both, prompt_s=0.2, serves=[True, False]),
        candidate(MIXED, machine("dear", usd_per_hour=9.0), both, prompt_s=0.2),
    )
    assert best(stated).machines == (200_000, 1)


# --- how many machines there can be ---


def test_most_machines_is_enough_to_serve_all_alone_and_one():
    # Prompts: 2/s x 0.75 s / 0.5 = 3. Tokens: 0.5 L = 8 of 1 - 0.2/0.4 of the time = 16; M a / room
    # = 1096 x 0.2 / 100 = 2.192 and L a / limit = 16 x 0.2 / 8 = 0.4 besides 8.
    stated = problem(
        ONCE,
        candidate(PROMPT, BOX, ONCE, prompt_s=0.75, tiers=((1, 0.5), (9, 1.0))),
        candidate(TOKEN, BOX, ONCE, segments=((0.2, 0.5),), target_s=0.4),
        candidate(TOKEN, BOX, ONCE, segments=((0.2, 0.5),), kv_room_tokens=100, batch_limit=8),
        candidate(PROMPT, BOX, ONCE, tiers=((7, 1.0),)),
        candidate(PROMPT, machine("slow", network_bytes_per_s=32), ONCE),
        candidate(PROMPT, BOX, ONCE, prompt_s=0.75, serves=[False]),
    )
    assert most_machines(stated) == (4, 17, 12, 7, 5, 1)


def test_most_machines_within_limits_of_a_free_demand():
    # 40 USD/h at 4 = 10 and the two that exist; 9.5 kW at 1 kW; 20 units at 2; 8; the least counts.
    box = machine("box", usd_per_hour=4.0, rack_units=2)

    def most(**limits):
        stated = mixed(1.0, box, limits=limits, existing={"box": 2}, scale_demand=True)
        return most_machines(stated)[0]

    money, watts, units = {"usd_per_hour": 40}, {"power_w": 9500}, {"rack_units": 20}
    assert [most(**money), most(**watts), most(**units), most(machines=8)] == [12, 9, 10, 8]
    assert most(**money, **watts, **units, machines=8, available={"box": 0}) == 0


# --- the clock ---


def a_hard_problem(**changes):
    """Many types of odd prices: minutes of work to prove."""
    odd = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
    shares = demand(*(1 + n % 5 / 7 for n in odd * 2))
    classes = len(shares.names)
    candidates = []
    for j, n in enumerate(odd):
        box = machine(f"m{j}", usd_per_hour=20 + n**0.5, provisioned_power_w=600 + n)
        seconds = [1.0 + (n * k % 11) / 17 for k in range(classes)]
        tiers = ((1, 0.5), (4, 0.6), (9, 0.7))
        candidates.append(candidate(PROMPT, box, shares, prompt_s=seconds, tiers=tiers))
        candidates.append(candidate(TOKEN, box, shares, segments=((0.0, (60 + n % 9) / 1e4),)))
    return problem(shares, *candidates, max_types_per_role=5, spares={PROMPT: 1}, **changes)


@pytest.mark.parametrize("time_limit_s", [-1.0, 0.0, 0.05, 0.5])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.NAME)
def test_at_the_time_limit_there_is_a_solution_or_none_and_a_true_bound(objective, time_limit_s):
    limits = {"usd_per_hour": 700, "power_w": 30_000} if objective.MAXIMIZE else {}
    stated = a_hard_problem(limits=limits, scale_demand=objective.MAXIMIZE)
    answer = solve(stated, objective, time_limit_s, prefer=(cost, power))
    if answer.solution is None:
        assert not answer.optimal
        return
    assert violations(stated, answer.solution) == []
    value = objective.value(stated, answer.solution)
    if answer.bound is not None and objective.MAXIMIZE:
        assert value <= answer.bound * (1 + CLOSE)
    elif answer.bound is not None:
        assert value >= answer.bound * (1 - CLOSE)


# --- the model ---


def test_the_written_model_reads_like_the_formulation():
    text = solver.written(build(mixed(2.0, BOX, limits={"power_w": 5000}), cost)[0])
    assert "prompt_time__mixed__box__tp1:" in text
    assert "power_budget: 1000 machines__mixed__box__tp1 <= 5000" in text
    assert "serve__mixed__box__tp1__w0__p1_255_o1_15 <= 1" in text


def test_violations_name_the_constraint():
    stated = mixed(2.0, BOX, limits={"machines": 2})
    assert violations(stated, solution(stated, [3], [1.0])) == ["machine_limit: 3 machines of 2"]
    assert violations(stated, solution(stated, [2], [1.0])) == []
