import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.domain.base import Quality
from provisioner.inputs.hardware import read_machine
from provisioner.performance.deployment import MIXED_FACTOR, deploy
from provisioner.performance.power import fit_power

ROUNDING = 1e-12
lengths = st.integers(1, 20_000)
batches = st.lists(lengths, min_size=1, max_size=8)
unhurried = settings(deadline=None)
stretches = st.lists(
    st.tuples(st.integers(1, 600), st.floats(1, 3)), min_size=1, unique_by=lambda pair: pair[0]
)


@pytest.fixture(scope="module")
def small(build):
    """Numbers to derive by hand: t_p(100..200) = 1..2 s, t_t(1..2) = 0.1..0.2 s; no Q, no K."""
    return deploy(build.model(), build.machine(), build.profile())


def test_instances_share_the_machine(small):
    # 4 accelerators, 2 per instance: half of 8000 bytes/s each; room as in test_memory.
    assert small.instances_per_machine == 2
    assert small.transfer_bytes_per_s == 4000
    assert small.kv_room_tokens == pytest.approx(10)
    assert small.name == "box/tp2"


def test_times_by_hand(small):
    assert small.prompt_s(150) == pytest.approx(1.5)
    assert small.token_s(1.5, 1000) == pytest.approx(0.15)


def test_prompt_time_takes_a_mean_square_where_given(deployments):
    # t_p is linear in Q: prompts of 1000 and 3000 have the mean square 5e6, not 2000^2 = 4e6.
    deployment = deployments["bloom-176b", "dgx-a100"]
    own, given_sq = deployment.prompt_s(2000), deployment.prompt_s(2000, 5e6)
    assert given_sq - own == pytest.approx(deployment.prompt.quadratic_s * 1e6)
    assert given_sq > own


@pytest.mark.parametrize(
    ("tokens", "batch", "seconds"),
    [
        (148, 2, 1.1 * 1.5),  # T + B = 150
        (0, 2, 1.1 * 1.0),  # t_p is constant below its first T, and larger than t_t
    ],
)
def test_mixed_iteration_by_hand(small, tokens, batch, seconds):
    assert small.mixed_s(tokens, tokens**2, batch, 10) == pytest.approx(seconds)


def test_mixed_iteration_takes_the_token_time_where_that_is_longer(build):
    token = (build.token_point(1, 100, 5.0), build.token_point(2, 200, 6.0))
    slow = deploy(build.model(), build.machine(), build.profile(token=token))
    # 1.1 t_p(150 + 2) = 1.672 s is shorter than t_t(2) = 6 s.
    assert slow.mixed_s(150, 150**2, 2, 200) == pytest.approx(6.0)


@given(batches, st.integers(1, 512), st.floats(1, 1e6))
@unhurried
def test_mixed_iteration_is_never_shorter_than_either_phase(deployments, prompts, batch, kv):
    tokens, squared = sum(prompts), sum(p**2 for p in prompts)
    for deployment in deployments.values():
        mixed = deployment.mixed_s(tokens, squared, batch, kv)
        assert mixed >= deployment.token_s(batch, kv)
        assert mixed >= MIXED_FACTOR * deployment.prompt.time_s(tokens, squared) * (1 - ROUNDING)


@given(lengths, lengths)
@unhurried
def test_latency_alone_is_prompt_time_plus_iterations_at_the_mean_context(deployments, p, o):
    for deployment in deployments.values():
        ttft = deployment.prompt.time_s(p, p**2)
        tbt = deployment.token.time_s(1, p + o / 2)
        assert deployment.alone_ttft_s(p) == pytest.approx(ttft)
        assert deployment.alone_tbt_s(p, o) == pytest.approx(tbt)
        assert deployment.alone_e2e_s(p, o) == pytest.approx(ttft + (o - 1) * tbt)


def test_one_output_token_ends_with_the_prompt(deployments):
    for deployment in deployments.values():
        assert deployment.alone_e2e_s(1000, 1) == deployment.alone_ttft_s(1000)


def test_latency_alone_is_the_sum_over_iterations(deployments):
    # Iteration i = 1 .. o-1 holds p + i tokens: their mean is p + o/2, and t_t is linear in K.
    deployment, p, o = deployments["bloom-176b", "dgx-a100"], 1020, 129
    iterations = deployment.token_s(1, p + np.arange(1, o))
    expected = deployment.prompt_s(p) + iterations.sum()
    assert deployment.alone_e2e_s(p, o) == pytest.approx(expected, rel=ROUNDING)


@given(lengths, lengths, st.integers(0, 5000))
@unhurried
def test_longer_requests_never_take_less(deployments, p, o, more):
    for deployment in deployments.values():
        alone = deployment.alone_e2e_s([p, p + more, p], [o, o, o + more])
        assert np.all(alone[1:] >= alone[0] * (1 - ROUNDING))


@pytest.mark.parametrize("model", ["bloom-176b", "llama2-70b"])
def test_the_built_in_cap_stretches_prompts_by_1_3_and_tokens_not_at_all(deployments, model):
    whole, capped = deployments[model, "dgx-h100"], deployments[model, "dgx-h100-cap70"]
    assert np.array_equal(capped.prompt.base.x, whole.prompt.base.x)
    assert np.array_equal(capped.token.base.x, whole.token.base.x)
    tokens = np.append(whole.prompt.base.x, [1, 333, 50_000])  # knots, and beyond them
    assert capped.prompt_s(tokens) == pytest.approx(1.3 * whole.prompt_s(tokens), rel=ROUNDING)
    batch = np.append(whole.token.base.x, [3, 512])
    assert np.array_equal(capped.token_s(batch, 999 * batch), whole.token_s(batch, 999 * batch))


def test_a_cap_that_bites_with_the_load_by_hand(build):
    # t_p is 1, 2 s at T = 100, 200. Factors 1 at T = 100, 1.4 at T = 150, held beyond:
    # knots 100, 150, 200 with 1 x 1, 1.5 x 1.4, 2 x 1.4 s.
    machine = build.machine(cap=build.cap(("prompt", 150, 1.4), ("prompt", 100, 1.0)))
    base = deploy(build.model(), machine, build.profile()).prompt.base
    assert list(base.x) == [100, 150, 200]
    assert list(base.y) == pytest.approx([1.0, 2.1, 2.8])


def test_a_phase_without_stretch_points_is_not_stretched(build, small):
    machine = build.machine(cap=build.cap(("token", 1, 2.0)))
    capped = deploy(build.model(), machine, build.profile())
    assert np.array_equal(capped.prompt.base.y, small.prompt.base.y)
    assert capped.token_s(2, 50) == pytest.approx(2 * small.token_s(2, 50))


def test_a_cap_stretches_the_term_in_context_too(build):
    # One request: 0.1 + 0.001 K s. Stretched by 2, K = 100 and 300 take 0.4 and 0.8 s.
    token = (build.token_point(1, 100, 0.2), build.token_point(1, 300, 0.4))
    machine = build.machine(cap=build.cap(("token", 1, 2.0)))
    capped = deploy(build.model(), machine, build.profile(token=token))
    assert capped.token_s(1, [100, 300]) == pytest.approx([0.4, 0.8])


def test_a_stretched_curve_never_falls(build):
    # Factors 3 and 1 at T = 100 and 200 would make 3 s and 2 s.
    machine = build.machine(cap=build.cap(("prompt", 100, 3.0), ("prompt", 200, 1.0)))
    base = deploy(build.model(), machine, build.profile()).prompt.base
    assert list(base.y) == pytest.approx([3.0, 3.0])


@given(stretches)
@unhurried
def test_any_cap_slows_down_and_keeps_curves_rising(build, small, factors):
    machine = build.machine(
        cap=build.cap(*((phase, x, f) for x, f in factors for phase in ("prompt", "token")))
    )
    capped = deploy(build.model(), machine, build.profile())
    for stretched, curve in (
        (capped.prompt.base, small.prompt.base),
        (capped.token.base, small.token.base),
    ):
        assert np.all(stretched(curve.x) >= curve.y * (1 - ROUNDING))
        assert np.all(np.diff(stretched.y) >= 0)


def test_power_is_of_the_machine_itself(deployments):
    capped = deployments["bloom-176b", "dgx-h100-cap70"]
    assert capped.power.machine == read_machine("dgx-h100-cap70")


def test_deployment_says_what_nobody_measured(build):
    estimated = build.prompt_point(100, quality=Quality.ESTIMATED)
    power = (build.power_point(1, 100.0),)
    sources = set(build.machine().origins) - {"network_bytes_per_s"}
    machine = build.machine(
        cap=build.cap(("prompt", 1, 1.3)),
        sources={
            **dict.fromkeys(sources, build.provenance(Quality.PUBLISHED)),
            "rack_units": build.provenance(Quality.ESTIMATED),
        },
    )
    profile = build.profile(prompt=(estimated,), prompt_power=power)
    assert deploy(build.model(), machine, profile).assumptions == (
        "small/card/tp2: times are estimated",
        "box: network_bytes_per_s, rack_units estimated or synthetic",
    )
    published = dict.fromkeys(build.machine().origins, build.provenance(Quality.PUBLISHED))
    known = build.machine(sources=published)
    assert deploy(build.model(), known, build.profile()).assumptions == ()


def test_capped_machines_say_that_their_slow_down_is_synthetic(deployments):
    said = deployments["bloom-176b", "dgx-h100-cap70"].assumptions
    assert "dgx-h100-cap70: the slow-down by its power cap is estimated, not measured" in said
    assert not any("cap" in line for line in deployments["bloom-176b", "dgx-h100"].assumptions)


def test_power_curve_of_a_deployment_is_its_profiles(build, small):
    profile = build.profile()
    expected = fit_power(build.machine(), profile.prompt_power, profile.token_power)
    assert np.array_equal(small.power.prompt.y, expected.prompt.y)
    assert np.array_equal(small.power.token.y, expected.token.y)
