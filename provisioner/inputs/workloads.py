"""Workloads from stored histograms, traces, or fixed lengths; and stored histograms from traces."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import yaml
from pydantic import Field

from provisioner.domain.base import Count, Name, Noun, Positive
from provisioner.domain.scenario import PEAK_RATE, WorkloadEntry
from provisioner.domain.trace import Trace
from provisioner.domain.workload import (
    HISTOGRAM_COLUMNS,
    OUTPUT_EDGES,
    PROMPT_EDGES,
    FloatArray,
    IntArray,
    LengthHistogram,
    LengthRecord,
    histogram_of,
    merge,
)
from provisioner.errors import InputError
from provisioner.inputs import catalogue, drafts
from provisioner.inputs.tables import Row, read_rows
from provisioner.inputs.trace_files import read_chunks, read_trace
from provisioner.inputs.yaml_files import parse, read_record

WORKLOADS = "workloads"
_PEAK_WINDOW_S = 60.0
_LIKELY_RATES_PER_S = (1e-3, 1e5)


class _Named(Noun):
    name: Name


class _Description(_Named):
    """What a stored histogram's YAML file says beside its CSV of cells."""

    source: Annotated[str, Field(min_length=1)]
    requests: Count
    span_s: Positive | None = None
    peak_60s_per_s: Positive | None = None


def workload_names() -> list[str]:
    """Names of all stored workloads."""
    return list(catalogue.stored(WORKLOADS))


def read_length_record(name: str, where: str = "") -> LengthRecord:
    """Read a stored histogram by name."""
    path = catalogue.find(WORKLOADS, "workload", name, where)
    description = read_record(path, _Description)
    cells_path = path.with_suffix(".csv")
    histogram = _read_histogram(cells_path)
    if histogram.total_requests != description.requests:
        raise InputError(
            f"{cells_path}: the cells hold {histogram.total_requests} requests, "
            f"{path.name} says {description.requests}"
        )
    return LengthRecord(
        name=name,
        histogram=histogram,
        source=description.source,
        span_s=description.span_s,
        peak_60s_per_s=description.peak_60s_per_s,
    )


def _read_histogram(path: Path) -> LengthHistogram:
    """Read the cells in any order; they are kept in order of prompt, then output length."""
    cells: dict[tuple[int, int], Row] = {}
    for row in read_rows(path, HISTOGRAM_COLUMNS):
        corner = (row.whole("prompt_from"), row.whole("output_from"))
        if corner in cells:
            raise InputError(
                f"{path}: row {row.number}: the cell of row {cells[corner].number} again"
            )
        cells[corner] = row
        _check_cell(row)
    rows = [row for _, row in sorted(cells.items())]
    columns = {
        name: np.array([row.whole(name) for row in rows], dtype=np.int64)
        for name in HISTOGRAM_COLUMNS
    }
    return LengthHistogram(**columns)


def _check_cell(row: Row) -> None:
    """Refuse a cell that is none of the grid, or sums that no lengths within it have."""
    low_p, high_p = _cell_range(row, "prompt_from", PROMPT_EDGES)
    low_o, high_o = _cell_range(row, "output_from", OUTPUT_EDGES)
    requests = row.whole("requests")
    ranges = {
        "prompt_sum": (low_p, high_p),
        "prompt_sq_sum": (low_p**2, high_p**2),
        "output_sum": (low_o, high_o),
        "product_sum": (low_p * low_o, high_p * high_o),
        "output_sq_sum": (low_o**2, high_o**2),
    }
    for column, (low, high) in ranges.items():
        if not low * requests <= row.whole(column) <= high * requests:
            raise row.fail(column, f"a sum over {requests} requests of this cell is needed")


def _cell_range(row: Row, column: str, edges: IntArray) -> tuple[int, int]:
    """Shortest and longest length of the row's cell [tokens]."""
    lower = row.whole(column)
    at = int(np.searchsorted(edges, lower))
    if at == len(edges) or edges[at] != lower:
        raise row.fail(column, "a lower end of the fixed cells is needed")
    return lower, int(edges[at + 1]) - 1 if at + 1 < len(edges) else lower


def import_trace(path: Path, name: str) -> LengthRecord:
    """Make a histogram from a trace in one pass.

    Memory holds one piece of the trace and the arrivals of one minute, however long it is.

    Raises
    ------
    InputError
        Where the name cannot be a file's, or the trace is wrong.
    """
    _check_name(name)
    parts: list[LengthHistogram] = []
    last = peak = 0.0
    tail = np.empty(0)
    left_out = 0
    for chunk in read_chunks(path):
        left_out += chunk.left_out
        if not len(chunk.arrival_s):
            continue
        parts = [merge([*parts, histogram_of(chunk.prompt_tokens, chunk.output_tokens)])]
        arrivals = np.concatenate([tail, chunk.arrival_s])
        peak = max(peak, float(_window_counts(arrivals, _PEAK_WINDOW_S).max()) / _PEAK_WINDOW_S)
        last = float(arrivals[-1])
        tail = arrivals[arrivals + _PEAK_WINDOW_S > last]
    note = f"; {left_out} failed requests left out" if left_out else ""
    return LengthRecord(
        name=name,
        histogram=parts[0],
        source=f"imported from {_printable(path.name)}{note}",
        span_s=last or None,
        peak_60s_per_s=peak if last >= _PEAK_WINDOW_S else None,
    )


def _printable(name: str) -> str:
    """Escape what is no UTF-8 in a file's name."""
    return name.encode("utf-8", "backslashreplace").decode()


def _window_counts(arrivals: FloatArray, window_s: float) -> FloatArray:
    """Count the requests in [a, a + window) for every arrival a."""
    ends = np.searchsorted(arrivals, arrivals + window_s, side="left")
    return np.asarray(ends - np.arange(len(arrivals)), dtype=float)


def _check_name(name: str) -> None:
    parse(_Named, {"name": name}, "workload")


def refuse_existing(name: str, folder: Path, *, force: bool) -> None:
    """Refuse a name that cannot be a file's or, without ``force``, is taken in the folder."""
    _check_name(name)
    for path in (folder / f"{name}.yaml", folder / f"{name}.csv"):
        if path.exists() and not force:
            raise InputError(f"{path} exists; choose another name, or overwrite it with --force")


def write_length_record(record: LengthRecord, folder: Path, *, force: bool) -> Path:
    """Write a stored histogram; both files appear whole or not at all.

    Raises
    ------
    InputError
        Where one of the files exists and ``force`` is not given, or cannot be written, or the
        record's name cannot be a file's.
    """
    refuse_existing(record.name, folder, force=force)
    description = folder / f"{record.name}.yaml"
    cells = description.with_suffix(".csv")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(cells, _cells_text(record.histogram))
        _replace(description, _description_text(record))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    return description


def _replace(path: Path, text: str) -> None:
    drafts.clear_abandoned(path)
    draft = drafts.draft_of(path)
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        drafts.remove(draft)


def _cells_text(histogram: LengthHistogram) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HISTOGRAM_COLUMNS)
    columns = [getattr(histogram, name).tolist() for name in HISTOGRAM_COLUMNS]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _description_text(record: LengthRecord) -> str:
    fields = {
        "name": record.name,
        "source": record.source,
        "requests": record.histogram.total_requests,
        "span_s": record.span_s,
        "peak_60s_per_s": record.peak_60s_per_s,
    }
    known = {key: value for key, value in fields.items() if value is not None}
    return yaml.safe_dump(known, sort_keys=False, width=1000)


class Stream(NamedTuple):
    """A workload entry resolved; ``rate_per_s`` has no growth applied."""

    lengths: LengthHistogram
    rate_per_s: float
    source: str
    notes: list[str]
    trace: Trace | None = None


def stream_of(entry: WorkloadEntry, folder: Path) -> Stream:
    """Resolve one workload entry.

    Parameters
    ----------
    entry : WorkloadEntry
    folder : Path
        What a relative trace path is relative to.
    """
    where = f"workloads.{entry.name}"
    if entry.trace is not None:
        return _from_trace(entry, folder / entry.trace, where)
    if entry.prompt_tokens is not None and entry.output_tokens is not None:
        if entry.rate_per_s is None:
            raise InputError(f"{where}: rate_per_s is missing")
        lengths = histogram_of(np.array([entry.prompt_tokens]), np.array([entry.output_tokens]))
        return Stream(lengths, entry.rate_per_s, "fixed lengths", [])
    record = read_length_record(entry.name, where)
    rate, notes = _stored_rate(entry, record, where)
    notes += unit_notes(entry.name, record.mean_rate_per_s)
    return Stream(record.histogram, rate, record.source, notes)


def _stored_rate(entry: WorkloadEntry, record: LengthRecord, where: str) -> tuple[float, list[str]]:
    """Rate of a stored workload: the one given, that of its busiest minute, or its mean."""
    if entry.rate_per_s is not None:
        return entry.rate_per_s, []
    if entry.rate is not None:
        if entry.rate != "peak_60s" or record.peak_60s_per_s is None:
            known = "" if record.peak_60s_per_s is None else "; peak_60s is stored"
            raise InputError(f"{where}: rate {entry.rate} needs the trace itself{known}")
        note = f"{entry.name}: the rate is that of the busiest minute, the lengths of all requests"
        return record.peak_60s_per_s * (entry.speedup or 1.0), [note]
    rate = record.mean_rate_per_s
    if rate is None:
        raise InputError(f"{where}: rate_per_s is missing and the workload has no rate of its own")
    if entry.speedup is not None:
        return rate * entry.speedup, []
    return rate, [_own_rate_note(entry.name, rate)]


def _own_rate_note(name: str, rate: float) -> str:
    return f"{name}: no rate given, so the trace's own mean of {rate:.4g} requests/s is planned"


def unit_notes(name: str, mean_rate_per_s: float | None) -> list[str]:
    """Note a mean rate that suggests times in another unit than seconds; none where it is likely.

    Parameters
    ----------
    name : str
        Of the workload.
    mean_rate_per_s : float or None
        Requests over the span of the trace; None where it has no span.
    """
    low, high = _LIKELY_RATES_PER_S
    if mean_rate_per_s is None or low <= mean_rate_per_s <= high:
        return []
    return [
        f"{name}: the trace's mean rate is {mean_rate_per_s:.3g}/s; check the unit of the times"
    ]


def _from_trace(entry: WorkloadEntry, path: Path, where: str) -> Stream:
    trace = read_trace(path)
    notes = [f"{path}: {trace.left_out} failed requests left out"] if trace.left_out else []
    mean = len(trace.arrival_s) / trace.span_s if trace.span_s > 0 else None
    notes += unit_notes(entry.name, mean)
    speedup = entry.speedup or 1.0
    peak = PEAK_RATE.match(entry.rate or "")
    if peak:
        trace, rate = _busiest(trace, float(peak[1]) * speedup, where)
        rate *= speedup
    elif entry.rate_per_s is not None:
        rate = entry.rate_per_s
    elif mean is not None:
        rate = mean * speedup
        if entry.speedup is None:
            notes.append(_own_rate_note(entry.name, rate))
    else:
        raise InputError(f"{where}: the trace spans no time, so rate_per_s must be given")
    lengths = histogram_of(trace.prompt_tokens, trace.output_tokens)
    return Stream(lengths, rate, f"trace {path}", notes, trace.compressed(speedup))


def _busiest(trace: Trace, window_s: float, where: str) -> tuple[Trace, float]:
    """Find the requests of the window with the most arrivals (the first such), and their rate.

    ``window_s`` is in the trace's own time: at speedup 2 a minute of arrivals is two of its.
    """
    if trace.span_s < window_s:
        raise InputError(
            f"{where}: rate needs a trace of at least {window_s:g} s; this one spans "
            f"{trace.span_s:g} s"
        )
    counts = _window_counts(trace.arrival_s, window_s)
    start = int(counts.argmax())
    return trace.part(start, int(counts[start])), counts[start] / window_s
