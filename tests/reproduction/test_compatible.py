"""The search on the grid, against a judge that is made up, so that the answer is known."""

from types import SimpleNamespace

import pytest

from provisioner.reproduction import compatible
from provisioner.reproduction.compatible import CompatibleJudge, best_within_budget, within_budget
from provisioner.reproduction.published import ISO_POWER, published_clusters

HH = next(
    c
    for c in published_clusters()
    if (c.question, c.workload, c.design) == (ISO_POWER, "azure-conv", "splitwise-hh")
)


@pytest.fixture
def made_up(monkeypatch):
    """A prompt machine serves 5 requests/s, a token machine 3.75: 40 machines serve 85.7."""
    tried = []

    def judged(workload, pools, rate_per_s, model):
        prompt, token = pools["prompt", "dgx-h100"], pools["token", "dgx-h100"]
        tried.append(((prompt, token), rate_per_s))
        metrics = [
            SimpleNamespace(metric="ttft", ok=5 * prompt >= rate_per_s),
            SimpleNamespace(metric="tbt", ok=3.75 * token >= rate_per_s),
        ]
        return SimpleNamespace(verdict=SimpleNamespace(slo=SimpleNamespace(metrics=metrics)))

    monkeypatch.setattr(compatible, "judged_compatibly", judged)
    return tried


@pytest.mark.parametrize("guess", [5, 50, 70, 120, 300])
def test_the_highest_rate_of_the_grid_is_found_from_any_guess(made_up, guess):
    judge = CompatibleJudge("azure-conv", "splitwise-hh")
    assert judge.highest((25, 15), guess) == 50  # 15 x 3.75 = 56.25
    assert judge.highest((1, 39), guess) == 0  # less than one step


def test_nothing_is_simulated_twice(made_up):
    judge = CompatibleJudge("azure-conv", "splitwise-hh")
    for guess in (40, 50, 60):
        judge.highest((25, 15), guess)
    assert len(made_up) == len(set(made_up))


def test_the_best_split_of_the_budget_is_found(made_up):
    judge = CompatibleJudge("azure-conv", "splitwise-hh")
    counts, rate = best_within_budget(judge, HH, judge.highest((25, 15), 120))
    every = {
        split: min(5 * split[0], 3.75 * split[1]) // 10 * 10
        for split in within_budget(ISO_POWER, "splitwise-hh")
    }
    assert rate == max(every.values()) == 80
    assert every[counts] == rate
