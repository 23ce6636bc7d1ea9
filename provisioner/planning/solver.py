"""HiGHS through PuLP: options, status, rounding and silence, the same on PuLP 3.3 and 4.x.

Not used: PuLP's own status codes and ``solve()``'s return value, which differ between versions;
what HiGHS itself reports is read instead.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import highspy
import pulp

Status = Literal["optimal", "stopped", "infeasible", "unbounded"]

_GAP = 1e-9
_POLL_S = 0.2
_STATUS: dict[highspy.HighsModelStatus, Status] = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "unbounded",
}
_banner_lock = threading.Lock()
_engine_lock = threading.Lock()
"""highspy runs one engine at a time in the background, in the whole process."""


@dataclass(frozen=True)
class Solved:
    """How a solve ended.

    ``found`` tells whether the variables hold a feasible point, ``bound`` is a value of the
    objective that no point beats (None where the solver has none).
    """

    status: Status
    found: bool
    bound: float | None


class _Interruptible(pulp.HiGHS):  # type: ignore[misc]
    """HiGHS beside the calling thread: inside its ``run()``, Ctrl-C would wait for its end."""

    def callSolver(self, lp: pulp.LpProblem) -> None:  # noqa: N802 - PuLP's name
        """Run; at Ctrl-C stop the engine first and then pass the interrupt on."""
        engine = lp.solverModel
        engine.HandleUserInterrupt = True
        with _engine_lock:
            running = engine.startSolve()
            try:
                while not engine.wait(_POLL_S)[0]:
                    pass
            except KeyboardInterrupt:
                engine.cancelSolve()
                running.join()
                raise


def solve(model: pulp.LpProblem, time_limit_s: float) -> Solved:
    """Solve a model to optimality or until the time limit; deterministic, on one thread.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C, at once.
    """
    _silence_banner()
    solver = _Interruptible(
        msg=False,
        timeLimit=max(time_limit_s, 0.0),
        gapRel=_GAP,
        gapAbs=_GAP,
        threads=1,
        random_seed=0,
        mip_allow_restart=False,  # halves the time of these programs, whose trees stay small
        mip_feasibility_tolerance=1e-7,
    )
    model.solve(solver)
    engine = model.solverModel
    info = engine.getInfo()
    status = _STATUS.get(engine.getModelStatus(), "stopped")
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    found = status in ("optimal", "stopped") and feasible
    return Solved(status, found, _bound(model, engine, info, status))


def _bound(
    model: pulp.LpProblem, engine: highspy.Highs, info: highspy.HighsInfo, status: Status
) -> float | None:
    """Best bound in the model's own sense; PuLP 3.3 hands HiGHS a maximum as a minimum."""
    if status not in ("optimal", "stopped"):
        return None
    bound = info.mip_dual_bound
    if abs(bound) >= highspy.kHighsInf:
        return None
    _, sense = engine.getObjectiveSense()
    flipped = model.sense == pulp.LpMaximize and sense == highspy.ObjSense.kMinimize
    return -bound if flipped else float(bound)


def written(model: pulp.LpProblem) -> str:
    """The model as LP text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        model.writeLP(str(path))
        return path.read_text(encoding="utf-8")


@cache
def _silence_banner() -> None:
    """Spend HiGHS' banner, printed by the first engine of a process whatever its options say."""
    with _banner_lock, _standard_output_discarded():
        highspy.Highs()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _standard_output_discarded() -> Iterator[None]:
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # closed: there is nothing to keep clean
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
