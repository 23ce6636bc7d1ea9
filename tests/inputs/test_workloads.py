from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.workload import (
    HISTOGRAM_COLUMNS,
    MAX_LENGTH,
    LengthRecord,
    histogram_of,
)
from provisioner.errors import InputError
from provisioner.inputs import trace_files
from provisioner.inputs.trace_files import read_trace
from provisioner.inputs.workloads import (
    import_trace,
    read_length_record,
    workload_names,
    write_length_record,
)
from tests.inputs.traces import busiest, trace_text

AZURE = {  # name: (file, requests)
    "azure-conv": ("azure_llm_2023_conv.csv", 19_366),
    "azure-code": ("azure_llm_2023_code.csv", 8819),
}


def columns_of(histogram):
    return {name: getattr(histogram, name).tolist() for name in HISTOGRAM_COLUMNS}


def same(one, other):
    assert columns_of(one.histogram) == columns_of(other.histogram)
    assert (one.name, one.source, one.span_s, one.peak_60s_per_s) == (
        other.name,
        other.source,
        other.span_s,
        other.peak_60s_per_s,
    )


# The built-in workloads.


@pytest.mark.parametrize("name", AZURE)
def test_built_in_workloads_are_what_the_traces_give(reference, repository, tmp_path, name):
    file, requests = AZURE[name]
    stored = read_length_record(name)
    made = import_trace(reference / file, name)
    assert columns_of(made.histogram) == columns_of(stored.histogram)
    assert made.histogram.total_requests == requests
    assert (made.span_s, made.peak_60s_per_s) == (stored.span_s, stored.peak_60s_per_s)
    assert "CC-BY; cite Splitwise (ISCA 2024)" in stored.source
    write_length_record(made, tmp_path, force=False)
    cells = f"{name}.csv"
    assert (tmp_path / cells).read_bytes() == (repository / "workloads" / cells).read_bytes()


@pytest.mark.parametrize("name", AZURE)
def test_totals_of_a_built_in_workload_are_the_traces_own(reference, name):
    rows = (reference / AZURE[name][0]).read_text().split()[1:]
    pairs = [tuple(map(int, row.split(",")[1:])) for row in rows if "," in row]
    cells = read_length_record(name).histogram
    assert cells.requests.sum() == len(pairs)
    assert cells.prompt_sum.sum() == sum(p for p, _ in pairs)
    assert cells.prompt_sq_sum.sum() == sum(p * p for p, _ in pairs)
    assert cells.output_sum.sum() == sum(o for _, o in pairs)
    assert cells.product_sum.sum() == sum(p * o for p, o in pairs)
    assert cells.output_sq_sum.sum() == sum(o * o for _, o in pairs)


@pytest.mark.parametrize("name", AZURE)
def test_the_busiest_minute_of_a_built_in_workload(reference, name):
    arrivals = read_trace(reference / AZURE[name][0]).arrival_s
    counts = [((arrivals >= start) & (arrivals < start + 60)).sum() for start in arrivals]
    assert read_length_record(name).peak_60s_per_s == max(counts) / 60


def test_all_built_in_workloads_can_be_read(repository, monkeypatch):
    monkeypatch.chdir(repository)
    assert set(AZURE) <= set(workload_names())
    for name in workload_names():
        assert read_length_record(name).histogram.share.sum() == pytest.approx(1)


# Importing.


@pytest.mark.parametrize("chunk_rows", [1, 7, 100, 10_000])
def test_import_in_pieces_is_import_of_the_whole(write, monkeypatch, bursty, chunk_rows):
    path = write("t.csv", trace_text(bursty))
    monkeypatch.setattr(trace_files, "CHUNK_ROWS", chunk_rows)
    record = import_trace(path, "bursty")
    arrivals = [a for a, _, _ in bursty]
    lengths = np.array([pair for _, *pair in bursty])
    assert columns_of(record.histogram) == columns_of(histogram_of(*lengths.T))
    assert record.peak_60s_per_s == busiest(arrivals, 60) / 60
    assert record.span_s == pytest.approx(arrivals[-1] - arrivals[0], abs=1e-9)
    assert record.mean_rate_per_s == pytest.approx(600 / record.span_s)
    assert record.source == "imported from t.csv"


times = st.lists(st.integers(0, 300), min_size=1, max_size=30).map(sorted)


@settings(deadline=None)
@given(times=times, size=st.integers(1, 10))
def test_the_busiest_minute_is_found_wherever_pieces_end(tmp_path_factory, times, size):
    # Whole seconds, so that many windows end exactly at an arrival.
    path = tmp_path_factory.mktemp("peak") / "t.csv"
    path.write_text(trace_text([(time, 1, 1) for time in times]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_files, "CHUNK_ROWS", size)
        record = import_trace(path, "x")
    span = times[-1] - times[0]
    assert record.span_s == (span or None)
    assert record.peak_60s_per_s == (busiest(times, 60) / 60 if span >= 60 else None)


def test_requests_that_failed_are_named_in_the_source(write, monkeypatch):
    rows = "1,5,0\n2,5,0\n3,7,8\n4,5,0\n"
    path = write("b.csv", "Timestamp,Request tokens,Response tokens\n" + rows)
    for chunk_rows in (1, 100):
        monkeypatch.setattr(trace_files, "CHUNK_ROWS", chunk_rows)
        record = import_trace(path, "x")
        assert record.source == "imported from b.csv; 3 failed requests left out"
        assert record.histogram.total_requests == 1


def test_the_file_may_have_any_name(here, write):
    name = "d\xe9\udcff.csv"  # the last one is a byte that is no UTF-8
    record = import_trace(write(name, trace_text([(0, 1, 1)])), "x")
    write_length_record(record, Path("workloads"), force=False)
    assert read_length_record("x").source == "imported from d\xe9\\udcff.csv"


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "a b", "x\n", "n" * 200])
def test_a_name_that_cannot_be_a_files_is_refused_before_reading(tmp_path, name):
    with pytest.raises(InputError, match="workload: name: "):
        import_trace(tmp_path / "missing.csv", name)


# Storing.

length = st.one_of(st.integers(1, 300), st.integers(1, 20_000), st.just(MAX_LENGTH))
pairs = st.lists(st.tuples(length, length), min_size=1, max_size=30)
sources = st.one_of(st.text(min_size=1), st.sampled_from(["\x85", "a\u2028b", "a: b # c"]))
known = st.one_of(st.none(), st.floats(1e-6, 1e9))


@settings(deadline=None)
@given(pairs=pairs, source=sources, span_s=known, peak=known)
def test_what_is_written_is_read(tmp_path_factory, pairs, source, span_s, peak):
    folder = tmp_path_factory.mktemp("store")
    histogram = histogram_of(*np.array(pairs, dtype=np.int64).T)
    record = LengthRecord("x", histogram, source, span_s, peak)
    write_length_record(record, folder / "workloads", force=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        same(read_length_record("x"), record)
    assert sorted(path.name for path in (folder / "workloads").iterdir()) == ["x.csv", "x.yaml"]


def record_of(*pairs, name="x", **other):
    return LengthRecord(name, histogram_of(*np.array(pairs).T), "made up", **other)


def test_nothing_is_overwritten_unless_forced(here):
    write_length_record(record_of((1, 2)), Path("workloads"), force=False)
    with pytest.raises(InputError, match=r"x\.yaml exists; .*--force"):
        write_length_record(record_of((3, 4)), Path("workloads"), force=False)
    assert read_length_record("x").histogram.prompt_from.tolist() == [1]
    write_length_record(record_of((3, 4)), Path("workloads"), force=True)
    assert read_length_record("x").histogram.prompt_from.tolist() == [3]
    Path("workloads/x.yaml").unlink()
    with pytest.raises(InputError, match=r"x\.csv exists"):
        write_length_record(record_of((1, 2)), Path("workloads"), force=False)


def test_a_record_that_cannot_be_written_is_refused(here, write):
    write("a-file", "")
    with pytest.raises(InputError, match="cannot be written"):
        write_length_record(record_of((1, 2)), Path("a-file"), force=False)
    with pytest.raises(InputError, match="name: "):
        write_length_record(record_of((1, 2), name="../x"), Path("workloads"), force=True)


def test_a_failure_half_way_leaves_no_draft(here, monkeypatch):
    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        write_length_record(record_of((1, 2)), Path("workloads"), force=False)
    assert list(Path("workloads").iterdir()) == []


# Stored records that are wrong. One cell: lengths (100, 7) and (99, 6) fall into prompt cell
# [99, 107] and output cell [6, 6] or [7, 7].


def test_the_record_to_be_spoiled_is_fine(store):
    record = store()
    assert (record.span_s, record.peak_60s_per_s, record.mean_rate_per_s) == (None, None, None)
    assert record.histogram.mean_prompt_tokens == 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"requests": 2}, r"x\.csv: the cells hold 1 requests, x\.yaml says 2"),
        ({"requests": 0}, r"x\.yaml: requests: must be above 0, found 0"),
        ({"requests": True}, r"x\.yaml: requests: a number is needed, not true"),
        ({"name": "y"}, r"x\.yaml: name is 'y', must be 'x' as the file"),
        ({"source": ""}, r"x\.yaml: source: must not be empty"),
        ({"span_s": -1}, r"x\.yaml: span_s: must be above 0, found -1"),
        ({"span_s": float("inf")}, r"x\.yaml: span_s: a finite number is needed"),
        ({"peak_60_per_s": 1}, r"unknown key 'peak_60_per_s'; did you mean 'peak_60s_per_s'"),
        ({"description": "name: x\nname: x"}, r"x\.yaml: row 2: .*'name' is given twice"),
        ({"description": "name: [x"}, r"x\.yaml: row 1: not valid YAML"),
        ({"description": "- x"}, r"x\.yaml: a mapping of keys is needed"),
        ({"description": ""}, r"x\.yaml: a mapping of keys is needed, found nothing"),
    ],
)
def test_a_wrong_description_is_refused(store, changes, message):
    with pytest.raises(InputError, match=message):
        store(**changes)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([], "no rows"),
        ([{}, {"requests": 1}], "row 3: the cell of row 2 again"),
        ([{"prompt_from": 100}], "row 2: prompt_from: a lower end of the fixed cells is needed"),
        ([{"output_from": 2**25}], "row 2: output_from: a lower end of the fixed cells"),
        ([{"prompt_from": 0}], "row 2: prompt_from: a whole number of at least 1"),
        ([{"requests": 0}], "row 2: requests: a whole number of at least 1"),
        ([{"requests": 1.5}], "row 2: requests: a whole number is needed, found '1.5'"),
        ([{"requests": "nan"}], "row 2: requests: a finite number"),
        ([{"prompt_sum": 98}], "row 2: prompt_sum: a sum over 1 requests of this cell"),
        ([{"prompt_sum": 108}], "row 2: prompt_sum: a sum over"),
        ([{"prompt_sq_sum": 100}], "row 2: prompt_sq_sum: a sum over"),
        ([{"output_sum": 9}], "row 2: output_sum: a sum over"),
        ([{"product_sum": 70}], "row 2: product_sum: a sum over"),
        ([{"output_sq_sum": 490}], "row 2: output_sq_sum: a sum over"),
        ([{"output_sq_sum": 10**19}], "row 2: output_sq_sum: a whole number"),
        ([{"output_sq_sum": -49}], "row 2: output_sq_sum: a"),
        ([{"output_sq_sum": ""}], "row 2: output_sq_sum: a number is needed, found ''"),
    ],
)
def test_wrong_cells_are_refused(store, cells, message):
    with pytest.raises(InputError, match=rf"x\.csv: {message}"):
        store(cells=cells)


def test_the_order_of_cells_does_not_matter(here):
    record = record_of((3, 4), (1, 2), (3, 1), (500, 60))
    path = write_length_record(record, Path("workloads"), force=False).with_suffix(".csv")
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *reversed(rows)]))
    same(read_length_record("x"), record)


def test_a_description_without_cells_is_refused(here, write):
    write("workloads/x.yaml", {"name": "x", "source": "made up", "requests": 1})
    with pytest.raises(InputError, match=r"x\.csv: cannot be read: No such file"):
        read_length_record("x")
