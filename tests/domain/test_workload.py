import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.workload import (
    HISTOGRAM_COLUMNS,
    MAX_LENGTH,
    OUTPUT_EDGES,
    PROMPT_EDGES,
    LengthHistogram,
    LengthRecord,
    histogram_of,
    merge,
)

unhurried = settings(deadline=None)
lengths = st.one_of(st.integers(1, 300), st.integers(1, 20_000), st.integers(1, MAX_LENGTH))
requests = st.lists(st.tuples(lengths, lengths), min_size=1, max_size=40)
SUMS = ("requests", "prompt_sum", "prompt_sq_sum", "output_sum", "product_sum", "output_sq_sum")


def histogram(pairs):
    p, o = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return histogram_of(p, o)


def exact_totals(pairs):
    """Python's whole numbers cannot overflow or round."""
    return {
        "requests": len(pairs),
        "prompt_sum": sum(p for p, _ in pairs),
        "prompt_sq_sum": sum(p * p for p, _ in pairs),
        "output_sum": sum(o for _, o in pairs),
        "product_sum": sum(p * o for p, o in pairs),
        "output_sq_sum": sum(o * o for _, o in pairs),
    }


def same(a: LengthHistogram, b: LengthHistogram) -> bool:
    return all(np.array_equal(getattr(a, c), getattr(b, c)) for c in HISTOGRAM_COLUMNS)


def test_one_cell_by_hand():
    # 1020 and 1030 lie between 2^(79/8) = 939.0 and 2^(81/8) = 1116.7 with the edge 1024 between:
    # two prompt cells. Outputs 129 and 140 are both from 2^(28/4) = 128 to 2^(29/4) = 152.2.
    found = histogram([(1020, 129), (1030, 140), (1030, 129)])
    assert list(found.prompt_from) == [939, 1024]
    assert list(found.output_from) == [128, 128]
    assert list(found.requests) == [1, 2]
    assert list(found.prompt_sum) == [1020, 2060]
    assert list(found.prompt_sq_sum) == [1020**2, 2 * 1030**2]
    assert list(found.output_sum) == [129, 269]
    assert list(found.product_sum) == [1020 * 129, 1030 * 269]
    assert list(found.output_sq_sum) == [129**2, 129**2 + 140**2]


def test_means_of_a_cell_by_hand():
    # Prompts 1024 and 1030, outputs 129 and 131 in one cell. (o - 1)(p + o/2):
    # 128 x 1088.5 = 139,328 and 130 x 1095.5 = 142,415; their mean is 140,871.5.
    found = histogram([(1024, 129), (1030, 131)])
    assert found.share == pytest.approx([1.0])
    assert found.prompt_tokens == pytest.approx([1027])
    assert found.prompt_sq == pytest.approx([(1024**2 + 1030**2) / 2])
    assert found.output_tokens == pytest.approx([130])
    assert found.iterations == pytest.approx([129])
    assert found.kv_token_iterations == pytest.approx([140_871.5])
    assert found.mean_prompt_tokens == 1027
    assert found.mean_output_tokens == 130


def test_edges_are_whole_and_rising_from_one_to_the_longest_length():
    for edges in (PROMPT_EDGES, OUTPUT_EDGES):
        assert edges[0] == 1
        assert edges[-1] == MAX_LENGTH == 2**24
        assert np.all(np.diff(edges) > 0)
    assert set(OUTPUT_EDGES) <= set(PROMPT_EDGES)  # every second prompt edge
    # Above the first whole steps an octave has eight prompt and four output cells.
    assert np.sum((PROMPT_EDGES >= 1024) & (PROMPT_EDGES < 2048)) == 8
    assert np.sum((OUTPUT_EDGES >= 1024) & (OUTPUT_EDGES < 2048)) == 4


@given(requests)
@unhurried
def test_totals_are_those_of_the_requests_exactly(pairs):
    found = histogram(pairs)
    for name, total in exact_totals(pairs).items():
        assert int(getattr(found, name).sum()) == total, name
    assert found.total_requests == len(pairs)
    assert found.share.sum() == pytest.approx(1)
    assert found.mean_prompt_tokens == pytest.approx(sum(p for p, _ in pairs) / len(pairs))
    assert found.mean_output_tokens == pytest.approx(sum(o for _, o in pairs) / len(pairs))


@given(requests)
@unhurried
def test_kv_token_iterations_are_the_mean_over_the_requests(pairs):
    found = histogram(pairs)
    doubled = sum((o - 1) * (2 * p + o) for p, o in pairs)  # whole numbers: no rounding
    expected = doubled / 2 / len(pairs)
    # The mean is a difference of sums that may be larger than it: as many digits as those allow.
    scale = sum(p * o + o * o / 2 + p + o / 2 for p, o in pairs) / len(pairs)
    mean = float(np.sum(found.share * found.kv_token_iterations))
    assert mean == pytest.approx(expected, rel=1e-12, abs=1e-12 * scale)


@given(requests)
@unhurried
def test_every_request_lies_in_its_cell(pairs):
    found = histogram(pairs)
    cells = {
        (int(p), int(o)): int(n)
        for p, o, n in zip(found.prompt_from, found.output_from, found.requests, strict=True)
    }
    expected: dict[tuple[int, int], int] = {}
    for p, o in pairs:
        corner = (
            max(int(edge) for edge in PROMPT_EDGES if edge <= p),
            max(int(edge) for edge in OUTPUT_EDGES if edge <= o),
        )
        expected[corner] = expected.get(corner, 0) + 1
    assert cells == expected
    assert list(cells) == sorted(cells)


@given(requests, st.randoms())
@unhurried
def test_the_order_of_requests_does_not_matter(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert same(histogram(pairs), histogram(shuffled))


@given(st.lists(requests, min_size=1, max_size=4))
@unhurried
def test_merged_parts_are_the_whole_in_any_order(parts):
    whole = histogram([pair for part in parts for pair in part])
    histograms = [histogram(part) for part in parts]
    assert same(merge(histograms), whole)
    assert same(merge(histograms[::-1]), whole)


def test_merging_leaves_the_parts_as_they_were():
    parts = [histogram([(10, 5)]), histogram([(10, 5), (700, 3)])]
    before = [dataclasses.astuple(part) for part in parts]
    merge(parts)
    after = [dataclasses.astuple(part) for part in parts]
    for old, new in zip(before, after, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))


def test_columns_are_the_fields_in_order():
    assert tuple(f.name for f in dataclasses.fields(LengthHistogram)) == HISTOGRAM_COLUMNS
    assert HISTOGRAM_COLUMNS[2:] == SUMS


def test_a_million_long_requests_do_not_overflow():
    # 10^6 x 200,000^2 = 4e16, and the largest whole number is 9.2e18.
    count = 1_000_000
    long = np.full(count, 200_000)
    found = histogram_of(long, long)
    assert int(found.prompt_sq_sum[0]) == count * 200_000**2


def test_lengths_may_be_of_any_whole_type():
    # 60,000^2 does not fit the 32 bits that the lengths came in.
    short = np.array([60_000], dtype=np.int32)
    assert int(histogram_of(short, short).product_sum[0]) == 3_600_000_000


def test_mean_rate_is_requests_over_span():
    record = LengthRecord("chat", histogram([(10, 5)] * 6), "made up", span_s=3.0)
    assert record.mean_rate_per_s == 2.0
    assert dataclasses.replace(record, span_s=None).mean_rate_per_s is None
