"""Request classes: totals over classes are the workload's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.capacity.demand import OUTPUT_BUCKETS, PROMPT_BUCKETS, classify, prompt_lengths
from provisioner.domain.slo import Slo, SloLimit
from provisioner.domain.workload import OUTPUT_EDGES, PROMPT_EDGES, Workload, histogram_of
from tests.builders import search_for

SLO = Slo(name="any", limits=(SloLimit(metric="ttft", percentile=50, at_most_s=1),))
lengths = st.lists(st.tuples(st.integers(1, 9000), st.integers(1, 1500)), min_size=1, max_size=60)


def workload(pairs, rate=3.0, name="w"):
    prompt, output = np.array(pairs).T
    return Workload(name, rate, histogram_of(prompt, output), SLO, "test")


@given(lengths)
def test_totals_over_classes_equal_the_requests(pairs):
    demand = classify((workload(pairs),))
    p, o = np.array(pairs).T
    rate = demand.rate_per_s
    assert rate.sum() == pytest.approx(3.0)
    assert rate @ demand.prompt_tokens == pytest.approx(3 * p.mean())
    assert rate @ demand.output_tokens == pytest.approx(3 * o.mean())
    assert rate @ demand.iterations == pytest.approx(3 * (o - 1).mean())
    exact = ((o - 1) * (p + o / 2)).mean()
    assert rate @ demand.kv_token_iterations == pytest.approx(3 * exact)


@given(lengths)
def test_prompt_seconds_are_means_over_cells(pairs):
    deployment = search_for().guide.deployments[0]
    stream = workload(pairs)
    demand = classify((stream,))
    cells = stream.histogram
    seconds = deployment.prompt_s(cells.prompt_tokens, cells.prompt_sq)
    assert demand.rate_per_s @ demand.prompt_s(deployment) == pytest.approx(
        3 * float(cells.share @ seconds)
    )
    assert demand.rate_per_s @ demand.prompt_sq_s(deployment) == pytest.approx(
        3 * float(cells.share @ seconds**2)
    )


def test_prompt_seconds_are_close_to_those_of_the_requests():
    # Cells are 9 % wide, so t_p at a cell's mean differs little from the mean of t_p.
    rng = np.random.default_rng(0)
    pairs = np.column_stack([rng.integers(1, 8000, 4000), np.full(4000, 50)])
    deployment = search_for().guide.deployments[0]
    demand = classify((workload(pairs),))
    mean = float(demand.rate_per_s @ demand.prompt_s(deployment)) / 3
    assert mean == pytest.approx(float(deployment.prompt_s(pairs[:, 0]).mean()), rel=1e-3)


def test_buckets_are_cells_and_classes_are_named_by_their_ranges():
    assert set(PROMPT_BUCKETS) <= set(PROMPT_EDGES)
    assert set(OUTPUT_BUCKETS) <= set(OUTPUT_EDGES)
    demand = classify((workload([(1500, 100), (9000, 2000)]),))
    assert demand.names == ("p1024-2047_o64-255", "p8192+_o1024+")


def test_workloads_keep_their_own_classes():
    demand = classify((workload([(100, 10)], 1, "a"), workload([(100, 10)], 2, "b")))
    assert list(demand.rate_per_s) == [1, 2]
    assert list(demand.of_workloads(np.array([False, True]))) == [False, True]
    assert demand.total_rate_per_s == 3


@given(lengths)
def test_prompt_lengths_keep_totals(pairs):
    stream = workload(pairs)
    found = prompt_lengths(stream.histogram)
    p, _ = np.array(pairs).T
    assert found.share.sum() == pytest.approx(1)
    assert found.share @ found.tokens == pytest.approx(p.mean())
    assert found.share @ found.squared == pytest.approx((p**2).mean())
