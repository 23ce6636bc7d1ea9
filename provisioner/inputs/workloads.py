"""Workloads from stored histograms, traces, or fixed lengths; and stored histograms from traces."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Annotated

import numpy as np
import yaml
from pydantic import Field

from provisioner.domain.base import Name, Noun, Positive
from provisioner.domain.scenario import PEAK_RATE, WorkloadEntry
from provisioner.domain.workload import (
    HISTOGRAM_COLUMNS,
    OUTPUT_EDGES,
    PROMPT_EDGES,
    FloatArray,
    LengthHistogram,
    LengthRecord,
    histogram_of,
    merge,
)
from provisioner.errors import InputError
from provisioner.inputs import catalogue
from provisioner.inputs.tables import Row, read_rows
from provisioner.inputs.trace_files import Trace, read_chunks, read_trace
from provisioner.inputs.yaml_files import read_record

WORKLOADS = "workloads"
_PEAK_WINDOW_S = 60.0


class _Description(Noun):
    """What a stored histogram's YAML file says beside its CSV of cells."""

    name: Name
    source: Annotated[str, Field(min_length=1)]
    requests: Annotated[int, Field(gt=0)]
    span_s: Positive | None = None
    peak_60s_per_s: Positive | None = None


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
    rows = list(read_rows(path, HISTOGRAM_COLUMNS))
    seen: set[tuple[int, int]] = set()
    for row in rows:
        corner = (row.whole("prompt_from"), row.whole("output_from"))
        if corner in seen:
            raise InputError(f"{path}: row {row.number}: the cell {corner} is given twice")
        seen.add(corner)
        _check_cell(row, corner)
    columns = {
        name: np.array([row.whole(name) for row in rows], dtype=np.int64)
        for name in HISTOGRAM_COLUMNS
    }
    return LengthHistogram(**columns)


def _check_cell(row: Row, corner: tuple[int, int]) -> None:
    """Refuse a cell that is no cell of the grid, or whose means lie outside it."""
    requests = row.whole("requests")
    sides = (
        ("prompt_from", "prompt_sum", corner[0], PROMPT_EDGES),
        ("output_from", "output_sum", corner[1], OUTPUT_EDGES),
    )
    for lower_column, sum_column, lower, edges in sides:
        at = int(np.searchsorted(edges, lower))
        if at >= len(edges) - 1 or edges[at] != lower:
            raise row.fail(lower_column, "a lower end of the fixed cells is needed")
        if not lower <= row.whole(sum_column) / requests < edges[at + 1]:
            raise row.fail(sum_column, f"a sum of {requests} lengths of this cell is needed")


def import_trace(path: Path, name: str) -> LengthRecord:
    """Make a histogram from a trace in one pass, with memory that does not grow with it."""
    parts: list[LengthHistogram] = []
    last = peak = 0.0
    tail = np.empty(0)
    left_out = 0
    for chunk in read_chunks(path):
        parts = [merge([*parts, histogram_of(chunk.prompt_tokens, chunk.output_tokens)])]
        arrivals = np.concatenate([tail, chunk.arrival_s])
        peak = max(peak, float(_window_counts(arrivals, _PEAK_WINDOW_S).max()) / _PEAK_WINDOW_S)
        last = float(arrivals[-1])
        tail = arrivals[arrivals > last - _PEAK_WINDOW_S]
        left_out += chunk.left_out
    note = f"; {left_out} failed requests left out" if left_out else ""
    return LengthRecord(
        name=name,
        histogram=parts[0],
        source=f"imported from {path.name}{note}",
        span_s=last or None,
        peak_60s_per_s=peak if last >= _PEAK_WINDOW_S else None,
    )


def _window_counts(arrivals: FloatArray, window_s: float) -> FloatArray:
    """Requests in [a, a + window) for every arrival a."""
    ends = np.searchsorted(arrivals, arrivals + window_s, side="left")
    return np.asarray(ends - np.arange(len(arrivals)), dtype=float)


def write_length_record(record: LengthRecord, folder: Path, *, force: bool) -> Path:
    """Write a stored histogram; both files appear whole or not at all.

    Raises
    ------
    InputError
        Where one of the files exists and ``force`` is not given, or cannot be written.
    """
    description = folder / f"{record.name}.yaml"
    cells = description.with_suffix(".csv")
    for path in (description, cells):
        if path.exists() and not force:
            raise InputError(f"{path} exists; choose another name, or overwrite it with --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(cells, _cells_text(record.histogram))
        _replace(description, _description_text(record))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    return description


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


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
    return yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=100)


def lengths_and_rate(
    entry: WorkloadEntry, folder: Path
) -> tuple[LengthHistogram, float, str, list[str]]:
    """Resolve one workload entry to (lengths, requests/s, source, notes), growth not applied.

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
        return lengths, entry.rate_per_s, "fixed lengths", []
    record = read_length_record(entry.name, where)
    rate = entry.rate_per_s or record.mean_rate_per_s
    if rate is None:
        raise InputError(f"{where}: rate_per_s is missing and the workload has no rate of its own")
    notes = [] if entry.rate_per_s else [_own_rate_note(entry.name, rate)]
    return record.histogram, rate, record.source, notes


def _own_rate_note(name: str, rate: float) -> str:
    return f"{name}: no rate given, so the trace's own mean of {rate:.4g} requests/s is planned"


def _from_trace(
    entry: WorkloadEntry, path: Path, where: str
) -> tuple[LengthHistogram, float, str, list[str]]:
    trace = read_trace(path)
    notes = [f"{path}: {trace.left_out} failed requests left out"] if trace.left_out else []
    peak = PEAK_RATE.match(entry.rate or "")
    if peak:
        trace, rate = _busiest(trace, float(peak[1]), where)
    elif entry.rate_per_s:
        rate = entry.rate_per_s
    elif trace.span_s > 0:
        rate = len(trace.arrival_s) / trace.span_s
        if entry.speedup is None:
            notes.append(_own_rate_note(entry.name, rate))
    else:
        raise InputError(f"{where}: the trace spans no time, so rate_per_s must be given")
    lengths = histogram_of(trace.prompt_tokens, trace.output_tokens)
    return lengths, rate * (entry.speedup or 1.0), f"trace {path}", notes


def _busiest(trace: Trace, window_s: float, where: str) -> tuple[Trace, float]:
    """Requests of the window with the most arrivals (the first such), and their rate."""
    if trace.span_s < window_s:
        raise InputError(
            f"{where}: rate peak_{window_s:g}s needs a trace of at least {window_s:g} s; this "
            f"one spans {trace.span_s:g} s"
        )
    counts = _window_counts(trace.arrival_s, window_s)
    start = int(counts.argmax())
    part = slice(start, start + int(counts[start]))
    window = Trace(trace.arrival_s[part], trace.prompt_tokens[part], trace.output_tokens[part])
    return window, counts[start] / window_s
