"""SLO metrics: their latencies alone, and the completeness of the list."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import provisioner.metrics
from provisioner.domain.slo import MetricName
from provisioner.domain.workload import histogram_of
from provisioner.metrics import BY_NAME, METRICS, e2e, tbt, ttft
from tests.builders import search_for


def test_every_module_is_listed_and_can_be_limited():
    folder = Path(provisioner.metrics.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert modules == {m.__name__.rsplit(".", 1)[-1] for m in METRICS} == set(BY_NAME)
    assert set(get_args(MetricName)) == set(BY_NAME)


def test_alone_latencies_are_the_formulas():
    # DESIGN 3: TTFT = t_p(p, p^2), TBT = t_t(1, p + o/2), E2E = TTFT + (o - 1) TBT.
    deployment = search_for().guide.deployments[0]
    lengths = histogram_of(np.array([1000]), np.array([101]))
    prompt = deployment.prompt.time_s(1000, 1000**2)
    token = deployment.token.time_s(1, 1000 + 101 / 2)
    assert ttft.alone_s(deployment, lengths)[0] == pytest.approx(float(prompt))
    assert tbt.alone_s(deployment, lengths)[0] == pytest.approx(float(token))
    assert e2e.alone_s(deployment, lengths)[0] == pytest.approx(float(prompt + 100 * token))
