"""A search that is cut short: the best so far with an honest gap, or an error of its own."""

import itertools

import pytest

from provisioner.errors import StoppedError
from provisioner.search import best, climb, ratio
from provisioner.search.hunt import Hunt
from provisioner.search.run import run
from provisioner.search.trials import OutOfTimeError
from tests.search.judged import case_of

LARGE = {"workloads": [{"name": "azure-conv", "rate_per_s": 40.0}]}
MAXIMIZE = {"maximize": "throughput", "limits": {"machines": 12}}
RATIO = {"maximize": "throughput_per_usd", "limits": {"machines": 12}}


def stop_with(error, monkeypatch, owner, name, at_call):
    """Let a function raise at a call, and from then on."""
    real, calls = getattr(owner, name), itertools.count(1)

    def stopping(*arguments, **named):
        if next(calls) >= at_call:
            raise error
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, stopping)


@pytest.mark.parametrize(
    ("error", "said"), [(KeyboardInterrupt, "an interrupt"), (OutOfTimeError, "the time limit")]
)
def test_the_best_so_far_comes_with_its_gap(error, said, monkeypatch):
    stop_with(error, monkeypatch, Hunt, "run", 1)
    result = run(case_of(**LARGE))
    assert result.plan is not None
    assert (result.proof, result.proved) == ("none", False)
    assert 0 < result.bound < result.plan.usd_per_hour
    assert result.gap == pytest.approx(1 - result.bound / result.plan.usd_per_hour)
    assert f"the search was ended by {said}; a better plan may exist" in result.warnings
    assert result.slo.ok


def test_before_any_plan_an_interrupt_goes_on(monkeypatch):
    stop_with(KeyboardInterrupt, monkeypatch, best, "settle", 1)
    with pytest.raises(KeyboardInterrupt):
        run(case_of(**LARGE))


def test_before_any_plan_the_time_limit_is_an_error_of_its_own(monkeypatch):
    stop_with(OutOfTimeError, monkeypatch, best, "settle", 1)
    with pytest.raises(StoppedError, match="time limit"):
        run(case_of(**LARGE))


def test_a_time_limit_of_nothing_is_such_an_error():
    with pytest.raises(StoppedError, match="time limit"):
        run(case_of(**LARGE, time_limit_s=1e-6))


@pytest.mark.parametrize(
    ("fields", "owner", "name"),
    [(MAXIMIZE, climb.Climb, "run"), (RATIO, ratio.Ascent, "climb")],
    ids=["throughput", "ratio"],
)
def test_a_stopped_maximisation_keeps_the_first_cluster(fields, owner, name, monkeypatch):
    stop_with(KeyboardInterrupt, monkeypatch, owner, name, 1)
    result = run(case_of(**LARGE, **fields))
    assert result.plan is not None
    assert result.proof == "none"
    assert result.bound is None or result.gap > 0
    assert any("ended by an interrupt" in note for note in result.warnings)


def test_progress_is_told():
    seen = []
    run(case_of(designs=["split"]), seen.append)
    assert seen[0] == "split: a first cluster"
    assert seen[-1] == "seeds held out"
