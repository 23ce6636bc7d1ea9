"""Conclusions from rates that are made up."""

from types import SimpleNamespace

import pytest

from provisioner.domain.designs import NAMED_DESIGNS
from provisioner.domain.reproduction import (
    Bill,
    CompatibleBest,
    Published,
    Reproduced,
    Reproduction,
)
from provisioner.reproduction.conclusions import WORKLOADS, conclusions
from provisioner.reproduction.published import ISO_COST, ISO_POWER

RATES = {
    "azure-conv": dict(zip(NAMED_DESIGNS, (30, 80, 60, 90, 70, 110), strict=True)),
    "azure-code": dict(zip(NAMED_DESIGNS, (20, 40, 70, 100, 95, 90), strict=True)),
}
PUBLISHED = 0.5
"""What the published clusters serve of the best of their designs."""


def row(question, workload, design):
    rate = float(RATES[workload][design])
    return Reproduced(
        published=Published(question, workload, design, 1, 1, None, None, "made up"),
        bill=Bill(1, 1.0, 1.0, 1.0),
        fits=True,
        compatible_rate_per_s=1.0,
        measured_rate_per_s=PUBLISHED * rate,
        compatible_best=CompatibleBest((1, 1), 1.0, Bill(2, 2.0, 2.0, 2.0), 1),
        best=SimpleNamespace(plan=SimpleNamespace(rate_per_s=rate)),
    )


@pytest.fixture
def drawn():
    rows = tuple(
        row(question, workload, design)
        for question in (ISO_POWER, ISO_COST)
        for workload in WORKLOADS
        for design in NAMED_DESIGNS
    )
    return {c.text: c for c in conclusions(Reproduction(rows, {}))}


@pytest.mark.parametrize(
    ("text", "survives", "numbers"),
    [
        (
            "Splitting the phases serves more than mixing them at equal power",
            True,
            "azure-conv: splitwise-hhcap 110.0/s, baseline-h100 80.0/s (1.38x)",
        ),
        ("Split A100s serve more than mixed H100s, at equal cost", None, "(0.75x)"),
        ("A100s are the better token machines for H100s, at equal power", False, "(0.78x)"),
        ("Capping the token machines pays, at equal power", None, "(0.90x)"),
        ("The published machine counts are near the best of their designs", False, "0 of 16"),
    ],
)
def test_a_conclusion_survives_where_the_rates_say_so(drawn, text, survives, numbers):
    assert drawn[text].survives is survives
    assert numbers in drawn[text].numbers
