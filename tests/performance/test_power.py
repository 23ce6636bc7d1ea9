import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.base import Phase
from provisioner.performance.power import fit_power

PHASES = st.sampled_from(list(Phase))
loads = st.floats(0, 1e5)
unhurried = settings(deadline=None)


@pytest.fixture(scope="module")
def curve(build):
    """Four cards of 50 to 300 W in a box of 100 W idle and 2000 W in all: the rest has 800 W."""
    prompt = (build.power_point(100, 200.0), build.power_point(300, 300.0))
    token = (build.power_point(1, 40.0), build.power_point(4, 340.0))
    return fit_power(build.machine(), prompt, token)


@pytest.mark.parametrize(
    ("phase", "load", "watts"),
    [
        (Phase.PROMPT, 1, 200),  # constant below the first load
        (Phase.PROMPT, 200, 250),  # half way
        (Phase.PROMPT, 5000, 300),  # constant beyond the last
        (Phase.TOKEN, 1, 50),  # never below idle
        (Phase.TOKEN, 2, 140),
        (Phase.TOKEN, 4, 300),  # never above the board limit
    ],
)
def test_accelerator_power_by_hand(curve, phase, load, watts):
    assert curve.accelerator_w(phase, load) == pytest.approx(watts)


def test_machine_power_by_hand(curve):
    # Half way between idle (50) and top (300) is 175 W; at token load 2 it is 140 W: 36 % of the
    # way. The rest of the server goes from 100 W to 2000 - 4 x 300 = 800 W: 100 + 0.36 x 700.
    assert curve.machine_w(Phase.TOKEN, 2) == pytest.approx(4 * 140 + 352)
    assert curve.idle_w == pytest.approx(4 * 50 + 100)
    assert curve.machine_w(Phase.PROMPT, 300) == pytest.approx(2000)


def test_accelerators_whose_power_is_constant_draw_what_is_provisioned(build):
    machine = build.machine(accelerator_idle_power_w=300)
    constant = (build.power_point(1, 300.0),)
    power = fit_power(machine, constant, constant)
    assert power.machine_w(Phase.PROMPT, 7) == pytest.approx(2000)
    assert power.idle_w == pytest.approx(2000)


@given(PHASES, loads, loads)
@unhurried
def test_power_lies_between_idle_and_provisioned_and_climbs(deployments, phase, load, more):
    for deployment in deployments.values():
        power, machine = deployment.power, deployment.machine
        low, high = power.machine_w(phase, [load, load + more])
        assert power.idle_w <= low <= high <= machine.provisioned_power_w * (1 + 1e-12)
        assert power.accelerator_w(phase, load) <= machine.accelerator_max_power_w


@pytest.mark.parametrize(
    ("machine", "idle_w"),
    [
        ("dgx-a100", 8 * 63 + 1000),
        ("dgx-h100", 8 * 72.5 + 2200),
        ("dgx-h100-cap70", 8 * 72.5 + 2200),
    ],
)
def test_idle_power_of_built_in_machines(deployments, machine, idle_w):
    assert deployments["bloom-176b", machine].power.idle_w == pytest.approx(idle_w)


@pytest.mark.parametrize("machine", ["dgx-a100", "dgx-h100", "dgx-h100-cap70"])
def test_full_prompt_batches_of_bloom_draw_the_provisioned_power(deployments, machine):
    # Splitwise paper (ISCA 2024), insight 6: prompt power climbs with the batch to the board limit.
    deployment = deployments["bloom-176b", machine]
    watts = deployment.power.machine_w(Phase.PROMPT, 2048)
    assert watts == pytest.approx(deployment.machine.provisioned_power_w)


def test_token_power_of_bloom_is_in_the_published_range(deployments):
    # Splitwise simulator, data/perf_model.csv: whole-run averages of BLOOM-176B on A100 are 0.54
    # to 0.66 of 400 W over all cells; those of prompt 512 are used.
    watts = deployments["bloom-176b", "dgx-a100"].power.accelerator_w(
        Phase.TOKEN, np.arange(1, 513)
    )
    assert watts.min() >= 0.54 * 400
    assert watts.max() <= 0.66 * 400


def test_the_cap_cuts_prompt_power_and_not_token_power(deployments):
    whole = deployments["bloom-176b", "dgx-h100"].power
    capped = deployments["bloom-176b", "dgx-h100-cap70"].power
    assert whole.accelerator_w(Phase.PROMPT, 2048) == 700
    assert capped.accelerator_w(Phase.PROMPT, 2048) == 490
    every = np.arange(1, 65)
    assert np.array_equal(
        whole.accelerator_w(Phase.TOKEN, every), capped.accelerator_w(Phase.TOKEN, every)
    )
