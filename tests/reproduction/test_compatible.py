"""The search on the grid, against a judge that is made up, so that the answer is known."""

from types import SimpleNamespace

import pytest

from provisioner.reproduction import compatible
from provisioner.reproduction.budgets import budget_of, largest, spent, spent_each
from provisioner.reproduction.compatible import (
    CompatibleJudge,
    best_within_budget,
    least_at_fixed_rate,
)
from provisioner.reproduction.published import ISO_POWER, LEAST_COST, published_clusters

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
        ok = 5 * prompt >= rate_per_s and 3.75 * token >= rate_per_s
        return SimpleNamespace(verdict=SimpleNamespace(slo=SimpleNamespace(ok=ok)))

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
    line = largest(spent_each(ISO_POWER, "splitwise-hh"), budget_of(ISO_POWER))
    every = {split: min(5 * split[0], 3.75 * split[1]) // 10 * 10 for split in line}
    assert rate == max(every.values()) == 80
    assert every[counts] == rate


def test_few_clusters_are_tried(made_up):
    judge = CompatibleJudge("azure-conv", "splitwise-hh")
    best_within_budget(judge, HH, judge.highest((25, 15), 120))
    assert judge.tried == len({counts for counts, _ in made_up}) < 39  # of the whole line


def test_the_least_cluster_at_the_fixed_rate_is_found(made_up):
    """70 requests/s need 14 prompt and 19 token machines, however many the paper has."""
    for published in (c for c in published_clusters() if c.question == LEAST_COST):
        if published.design == "splitwise-hh":
            judge = CompatibleJudge("azure-conv", "splitwise-hh")
            assert least_at_fixed_rate(judge, published) == (14, 19)


@pytest.mark.parametrize("each", [(1.0, 1.0), (2.0, 1.0), (1.0, 3.0), (44.0, 30.8)])
@pytest.mark.parametrize("budget", [0.5, 2.0, 7.0, 1760.0])
def test_every_cluster_within_a_budget_is_within_one_of_the_largest(each, budget):
    most = int(min(budget / min(each), 60))
    line = largest(each, budget)
    assert all(spent(counts, each) <= budget * (1 + 1e-9) for counts in line)
    for p in range(1, most + 1):
        for t in range(1, most + 1):
            if spent((p, t), each) <= budget:
                assert any(p <= one[0] and t <= one[1] for one in line), (p, t)


def test_one_role_is_one_cluster():
    assert largest((44.0,), 1760.0) == [(40,)]
    assert largest((44.0,), 40.0) == []
