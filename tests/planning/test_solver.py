import _thread
import os
import subprocess
import sys
import threading
import time

import pulp
import pytest

from provisioner.planning import solver

UNHURRIED_S = 30.0
SENSES = [pulp.LpMinimize, pulp.LpMaximize]

FIRST_SOLVE = """
import pulp
from provisioner.planning import solver
model = pulp.LpProblem("first", pulp.LpMaximize)
x = model.add_variable("x", 0, 3, "Integer")
model.setObjective(2 * x)
assert solver.solve(model, 30).bound == 6
"""


def knapsack(sense):
    """Optimise x + y with 2 <= 2x + 2y <= 7 in whole numbers: 1 at least, 3 at most."""
    model = pulp.LpProblem("knapsack", sense)
    x, y = (model.add_variable(name, 0, 5, "Integer") for name in "xy")
    model.setObjective(x + y)
    model.addConstraint(2 * x + 2 * y <= 7, "most")
    model.addConstraint(2 * x + 2 * y >= 2, "least")
    return model, x, y


@pytest.mark.parametrize(("sense", "value"), [(pulp.LpMinimize, 1), (pulp.LpMaximize, 3)])
def test_optimum_and_bound_have_the_models_own_sign(sense, value):
    model, x, y = knapsack(sense)
    outcome = solver.solve(model, UNHURRIED_S)
    assert (outcome.status, outcome.found) == ("optimal", True)
    assert outcome.bound == pytest.approx(value)
    assert x.value() + y.value() == pytest.approx(value)


@pytest.mark.parametrize("sense", SENSES)
def test_infeasible(sense):
    model, x, _ = knapsack(sense)
    model.addConstraint(x >= 4, "impossible")
    outcome = solver.solve(model, UNHURRIED_S)
    assert (outcome.status, outcome.found, outcome.bound) == ("infeasible", False, None)


def test_unbounded():
    model, x, _ = knapsack(pulp.LpMaximize)
    model.setObjective(x + model.add_variable("free", 0))
    outcome = solver.solve(model, UNHURRIED_S)
    assert (outcome.status, outcome.found, outcome.bound) == ("unbounded", False, None)


def test_the_same_model_gives_the_same_answer():
    def values():
        model, x, y = knapsack(pulp.LpMaximize)
        solver.solve(model, UNHURRIED_S)
        return x.value(), y.value()

    assert values() == values()


def test_written_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = solver.written(knapsack(pulp.LpMinimize)[0])
    assert "least: 2 x + 2 y >= 2" in text
    assert list(tmp_path.iterdir()) == []


def _run(script: str, **options) -> subprocess.CompletedProcess[bytes]:
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(command, env=environment, timeout=60, check=False, **options)


def test_the_first_solve_of_a_process_prints_nothing():
    # HiGHS writes its banner to the file descriptor, whatever sys.stdout is.
    done = _run(FIRST_SOLVE, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_is_printed_before_and_after_a_solve_is_kept():
    script = f"print('before'){FIRST_SOLVE}print('after')"
    assert _run(script, capture_output=True).stdout.split() == [b"before", b"after"]


@pytest.mark.skipif(os.name == "nt", reason="closes a file descriptor before Python starts")
def test_a_process_without_standard_output_can_solve():
    done = _run(FIRST_SOLVE, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, b"")


def test_threads_may_solve_at_once():
    bounds = []

    def one():
        bounds.append(solver.solve(knapsack(pulp.LpMaximize)[0], UNHURRIED_S).bound)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bounds == pytest.approx([3.0] * 4)


def market_split():
    """Four sums of thirty numbers to halve exactly: hours of enumeration, no bound to help."""
    model = pulp.LpProblem("market", pulp.LpMinimize)
    parts = [model.add_variable(f"x{i}", 0, 1, "Integer") for i in range(30)]
    misses = []
    for row in range(4):
        weights = [(37 * i * i + 61 * row * i + 17 * row + 11) % 101 for i in range(30)]
        over, under = (model.add_variable(f"{side}{row}", 0) for side in ("over", "under"))
        halved = pulp.lpSum(w * x for w, x in zip(weights, parts, strict=True))
        model.addConstraint(halved + under - over == sum(weights) // 2, f"half{row}")
        misses += [over, under]
    model.setObjective(pulp.lpSum(misses))
    return model


def test_an_interrupt_ends_a_long_solve():
    model = market_split()
    timer = threading.Timer(0.5, _thread.interrupt_main)
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        solver.solve(model, UNHURRIED_S)
    assert time.monotonic() - started < UNHURRIED_S / 2
