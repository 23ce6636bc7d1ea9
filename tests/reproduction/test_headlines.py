"""Ratios of the headlines by hand, from clusters that are made up."""

from types import SimpleNamespace

import pytest

from provisioner.domain.reproduction import (
    Bill,
    CompatibleBest,
    Published,
    Reproduced,
    Reproduction,
)
from provisioner.reproduction.headlines import HEADLINES, Headline, Ratios, holds, judged

BILLS = {"splitwise": Bill(70, 800.0, 300e3, 400.0), "baseline": Bill(40, 1000.0, 400e3, 320.0)}


def row(question, design):
    kind = design.split("-")[0]
    split = kind == "splitwise"
    bill = BILLS[kind]
    plan = SimpleNamespace(
        machines=bill.machines,
        usd_per_hour=bill.usd_per_hour,
        provisioned_power_w=bill.provisioned_power_w,
        rack_units=bill.rack_units,
        rate_per_s=90.0 if split else 60.0,
    )
    return Reproduced(
        published=Published(
            question, "azure-conv", design, 1, 1, 120.0 if split else 80.0, None, "made up"
        ),
        bill=bill,
        fits=True,
        compatible_rate_per_s=110.0 if split else 100.0,
        measured_rate_per_s=40.0 if split else 50.0,
        compatible_best=CompatibleBest((2, 2), 130.0 if split else 100.0, bill, 5),
        best=SimpleNamespace(plan=plan),
    )


def made_up():
    wanted = {(h.question, d) for h in HEADLINES for d in (h.design, h.baseline)}
    return Reproduction(tuple(row(*key) for key in sorted(wanted)), {})


def test_every_headline_is_a_ratio_to_its_baseline():
    for one in judged(made_up()):
        assert one.paper.throughput == pytest.approx(1.5)
        assert one.compatible.throughput == pytest.approx(1.1)
        assert one.best_compatible.throughput == pytest.approx(1.3)
        assert one.measured.throughput == pytest.approx(0.8)
        assert one.best.throughput == pytest.approx(1.5)
        for ratios in (one.paper, one.compatible, one.best_compatible, one.measured, one.best):
            assert (ratios.cost, ratios.power) == pytest.approx((0.8, 0.75))


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        (Ratios(1.4, 0.8, 5.0), True),  # power is not claimed
        (Ratios(1.34, 0.83, 1.0), True),  # within 5 %
        (Ratios(1.32, 0.8, 1.0), False),
        (Ratios(1.5, 0.85, 1.0), False),
        (Ratios(None, 0.8, 1.0), False),
    ],
)
def test_a_headline_holds_within_five_per_cent(ratios, expected):
    claim = Headline("", "", "", "", throughput=1.4, cost=0.8)
    assert holds(claim, ratios) is expected
