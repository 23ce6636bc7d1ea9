"""The stream that a scenario's entry asks for: its lengths, rate and notes."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from provisioner.domain.scenario import WorkloadEntry
from provisioner.errors import InputError
from provisioner.inputs.workloads import stream_of, unit_notes
from tests.inputs.traces import busiest, trace_text


def entry_of(**fields):
    return WorkloadEntry.model_validate({"name": "w", **fields})


def test_fixed_lengths(here):
    entry = entry_of(prompt_tokens=1020, output_tokens=129, rate_per_s=70)
    lengths, rate, source, notes, _ = stream_of(entry, Path())
    assert (rate, source, notes) == (70, "fixed lengths", [])
    assert (lengths.mean_prompt_tokens, lengths.mean_output_tokens) == (1020, 129)
    assert lengths.kv_token_iterations.tolist() == [128 * (1020 + 129 / 2)]
    with pytest.raises(InputError, match=r"workloads\.w: rate_per_s is missing"):
        stream_of(entry_of(prompt_tokens=1, output_tokens=1), Path())


def test_a_stored_workload_has_a_rate_of_its_own(store, here):
    store(span_s=0.25)
    lengths, rate, source, notes, _ = stream_of(WorkloadEntry(name="x"), Path())
    assert (lengths.total_requests, rate, source) == (1, 4.0, "made up")
    assert notes == ["x: no rate given, so the trace's own mean of 4 requests/s is planned"]
    given_rate = stream_of(WorkloadEntry(name="x", rate_per_s=70), Path())
    assert given_rate[1:] == (70, "made up", [], None)
    store()
    with pytest.raises(InputError, match=r"workloads\.x: rate_per_s is missing and the workload"):
        stream_of(WorkloadEntry(name="x"), Path())


def test_rates_of_a_trace(write, bursty):
    path = write("t.csv", trace_text(bursty))

    def resolved(**fields):
        return stream_of(entry_of(trace="t.csv", **fields), path.parent)

    arrivals = [a for a, _, _ in bursty]
    mean = 600 / (arrivals[-1] - arrivals[0])
    lengths, rate, source, notes, trace = resolved()
    assert rate == pytest.approx(mean)
    assert lengths.total_requests == 600
    assert source == f"trace {path}"
    assert notes == [
        f"w: no rate given, so the trace's own mean of {mean:.4g} requests/s is planned"
    ]
    assert resolved(rate_per_s=70)[1:4] == (70, source, [])
    assert trace.arrival_s == pytest.approx(np.array(arrivals) - arrivals[0])
    assert resolved(speedup=2.5).trace.span_s == pytest.approx(trace.span_s / 2.5)
    assert resolved(speedup=2.5)[1] == pytest.approx(2.5 * mean)
    for window in (1, 60, 300):
        assert resolved(rate=f"peak_{window}s")[1] == busiest(arrivals, window) / window


@pytest.mark.parametrize("speedup", [0.5, 1.0, 2.0])
def test_the_busiest_minute_is_one_of_the_compressed_trace(write, bursty, speedup):
    path = write("t.csv", trace_text(bursty))
    entry = entry_of(trace="t.csv", rate="peak_60s", speedup=speedup)
    rate = stream_of(entry, path.parent)[1]
    assert rate == pytest.approx(busiest([a / speedup for a, _, _ in bursty], 60) / 60)


def test_lengths_of_the_busiest_window_are_those_of_its_requests(write):
    # Long requests come in a burst: those five of the ten are what the peak consists of.
    requests = [(20 * i, 10, 1) for i in range(5)] + [(100 + i, 4000, 900) for i in range(5)]
    path = write("t.csv", trace_text(requests))
    entry = entry_of(trace="t.csv", rate="peak_10s")
    lengths, rate, _, notes, _ = stream_of(entry, path.parent)
    assert rate == 0.5
    assert Counter(lengths.prompt_tokens.tolist()) == {4000: 1}
    assert lengths.total_requests == 5
    assert notes == []


def test_a_trace_shorter_than_the_window_is_refused(write):
    path = write("t.csv", trace_text([(0, 1, 1), (59, 1, 1)]))
    entry = entry_of(trace="t.csv", rate="peak_60s")
    with pytest.raises(InputError, match=r"w: rate needs a trace of at least 60 s; .* 59 s"):
        stream_of(entry, path.parent)


def test_a_trace_without_span_needs_a_rate(write):
    path = write("t.csv", trace_text([(5, 1, 1), (5, 2, 2)]))
    with pytest.raises(InputError, match="spans no time, so rate_per_s must be given"):
        stream_of(entry_of(trace="t.csv"), path.parent)
    assert stream_of(entry_of(trace="t.csv", rate_per_s=3), path.parent)[1:4] == (
        3,
        f"trace {path}",
        [],
    )


def test_failed_requests_are_noted(write):
    text = "Timestamp,Request tokens,Response tokens\n1,5,0\n2,5,1\n3,5,1\n"
    path = write("t.csv", text)
    notes = stream_of(entry_of(trace="t.csv", rate_per_s=1), path.parent)[3]
    assert notes == [f"{path}: 1 failed requests left out"]


@pytest.mark.parametrize("fields", [{}, {"rate_per_s": 3.0}, {"speedup": 1000.0}])
def test_times_in_another_unit_are_noted(write, fields):
    def notes(times):
        path = write("t.csv", trace_text([(time, 1, 1) for time in times]))
        _, _, _, found, _ = stream_of(entry_of(trace="t.csv", **fields), path.parent)
        return [note for note in found if "check the unit of the times" in note]

    seconds = np.arange(100)
    assert notes(seconds) == []
    assert notes(seconds * 1_000_000) == [  # microseconds
        "w: the trace's mean rate is 1.01e-06/s; check the unit of the times"
    ]
    assert len(notes(seconds / 1e6)) == 1  # megaseconds


def test_the_unit_of_a_stored_workload_is_noted_too(store):
    store(span_s=1e6)
    notes = stream_of(WorkloadEntry(name="x", rate_per_s=1), Path())[3]
    assert notes == unit_notes("x", 1e-6)
    assert unit_notes("x", None) == unit_notes("x", 1e-3) == unit_notes("x", 1e5) == []
