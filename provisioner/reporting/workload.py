"""Stored workloads as records and tables."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType

from provisioner.capacity.demand import classify
from provisioner.domain.slo import Slo, SloLimit
from provisioner.domain.workload import FloatArray, LengthRecord, Workload
from provisioner.reporting.records import Record
from provisioner.reporting.tables import records_view

LIST_COLUMNS = {
    "name": "name",
    "requests": ">requests",
    "mean_rate_per_s": ">mean rate/s",
    "peak_60s_per_s": ">busiest minute/s",
    "mean_prompt_tokens": ">mean prompt tokens",
    "mean_output_tokens": ">mean output tokens",
    "source": "source",
}
_PERCENTILES = (10, 50, 90, 99)


def workload_record(record: LengthRecord) -> Record:
    """One stored workload; rates are null where arrival times are unknown."""
    return {
        "name": record.name,
        "requests": record.histogram.total_requests,
        "span_s": record.span_s,
        "mean_rate_per_s": record.mean_rate_per_s,
        "peak_60s_per_s": record.peak_60s_per_s,
        "mean_prompt_tokens": record.histogram.mean_prompt_tokens,
        "mean_output_tokens": record.histogram.mean_output_tokens,
        "source": record.source,
    }


def workload_details(record: LengthRecord) -> Record:
    """One stored workload with percentiles (by cell means) and its request classes."""
    lengths = record.histogram
    return {
        **workload_record(record),
        "cells": len(lengths.requests),
        "prompt_tokens": _percentiles(lengths.prompt_tokens, lengths.share),
        "output_tokens": _percentiles(lengths.output_tokens, lengths.share),
        "classes": _classes(record),
    }


def _percentiles(values: FloatArray, share: FloatArray) -> Record:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(share[order])
    last = len(values) - 1
    return {
        f"p{p}": float(values[order][min(int(np.searchsorted(reached, p / 100)), last)])
        for p in _PERCENTILES
    }


def _classes(record: LengthRecord) -> list[Record]:
    any_slo = Slo(name="any", limits=(SloLimit(metric="ttft", percentile=50, at_most_s=1.0),))
    demand = classify((Workload(record.name, 1.0, record.histogram, any_slo, record.source),))
    rows = zip(
        demand.names, demand.rate_per_s, demand.prompt_tokens, demand.output_tokens, strict=True
    )
    return [
        {
            "name": name,
            "share": float(share),
            "mean_prompt_tokens": float(prompt),
            "mean_output_tokens": float(output),
        }
        for name, share, prompt, output in rows
    ]


def details_view(record: Record) -> RenderableType:
    """Tables of one workload."""
    facts = [{"key": k, "value": v} for k, v in record.items() if not isinstance(v, (dict, list))]
    rows = [{"length": key, **record[key]} for key in ("prompt_tokens", "output_tokens")]
    percentiles = {"length": "length", **{f"p{p}": f">p{p}" for p in _PERCENTILES}}
    classes = {
        "name": "class",
        "share": ">share",
        "mean_prompt_tokens": ">mean prompt tokens",
        "mean_output_tokens": ">mean output tokens",
    }
    return Group(
        records_view(record["name"], {"key": "", "value": ""}, facts),
        records_view("Lengths", percentiles, rows),
        records_view("Request classes", classes, record["classes"]),
    )
