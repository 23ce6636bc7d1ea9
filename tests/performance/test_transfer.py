import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.performance.transfer import transfer_s

DIGITISED = 0.04
"""How far the arithmetic is from points read off figure 14 of the Splitwise paper."""
seconds = st.floats(0, 100)


@pytest.mark.parametrize(
    ("kv_bytes", "prompt_s", "added_s"),
    [
        (100.0, 10.0, 1.0),  # serialised 1 s, below the floor of 2 s: serialised
        (300.0, 10.0, 2.0),  # serialised 3 s; hidden behind the prompt but for the floor
        (900.0, 4.0, 5.0),  # serialised 9 s; the prompt hides 4 of them
        (900.0, 0.0, 9.0),  # nothing to hide behind
        (0.0, 10.0, 0.0),
    ],
)
def test_transfer_by_hand(kv_bytes, prompt_s, added_s):
    assert transfer_s(kv_bytes, prompt_s, 100.0, floor_s=2.0) == pytest.approx(added_s)


@given(seconds, seconds, st.floats(0, 1))
@settings(deadline=None)
def test_transfer_is_the_shorter_way_of_sending(serialised, prompt, floor):
    layered = max(floor, serialised - prompt)
    assert transfer_s(serialised, prompt, 1.0, floor) == min(serialised, layered)


@given(seconds, seconds, seconds, st.floats(0, 1))
@settings(deadline=None)
def test_more_bytes_never_arrive_sooner(kv_bytes, more, prompt, floor):
    before, after = transfer_s([kv_bytes, kv_bytes + more], prompt, 1.0, floor)
    assert after >= before


# Figure 14 of the Splitwise paper (ISCA 2024), BLOOM-176B: serialised 2048 tokens, digitised as
# 42.5 and 21 ms; the arithmetic is 2048 x 4,014,080 bytes over 8 x 25 and 8 x 50 GB/s.
@pytest.mark.parametrize(
    ("machine", "arithmetic_s", "digitised_s"),
    [("dgx-a100", 0.0411, 0.0425), ("dgx-h100", 0.0206, 0.021)],
)
def test_serialised_transfer_of_the_paper(deployments, machine, arithmetic_s, digitised_s):
    deployment = deployments["bloom-176b", machine]
    kv_bytes = 2048 * deployment.model.kv_bytes_per_token
    time_s = transfer_s(kv_bytes, 0.0, deployment.transfer_bytes_per_s, floor_s=0.0)
    assert time_s == pytest.approx(arithmetic_s, abs=5e-5)
    assert time_s == pytest.approx(digitised_s, rel=DIGITISED)


# The same figure: both ways take equally long at 512 tokens (H100) and about 384 (A100). Where the
# serialised time meets the floor: 5 ms x 400 GB/s / 4,014,080 bytes = 498, 8 ms x 200 = 399.
@pytest.mark.parametrize(
    ("machine", "tokens", "published"), [("dgx-h100", 498, 512), ("dgx-a100", 399, 384)]
)
def test_crossover_of_the_paper(deployments, machine, tokens, published):
    deployment = deployments["bloom-176b", machine]
    length = np.arange(1, 8193)
    added = transfer_s(
        length * deployment.model.kv_bytes_per_token,
        deployment.alone_ttft_s(length),
        deployment.transfer_bytes_per_s,
        deployment.machine.transfer_floor_s,
    )
    first_at_floor = int(length[added >= deployment.machine.transfer_floor_s * (1 - 1e-12)][0])
    assert first_at_floor == pytest.approx(tokens, abs=1)
    assert first_at_floor == pytest.approx(published, rel=DIGITISED)
    # From there to the longest measured prompt the rest is constant, as in the figure.
    assert added[first_at_floor:] == pytest.approx(deployment.machine.transfer_floor_s)


@pytest.mark.parametrize("machine", ["dgx-a100", "dgx-h100"])
def test_transfer_is_below_seven_percent_of_the_prompt_as_published(deployments, machine):
    # Splitwise paper (ISCA 2024), section on KV-cache transfer: below 7 % of prompt time.
    deployment = deployments["bloom-176b", machine]
    length = np.arange(1, 8193)
    prompt_s = deployment.alone_ttft_s(length)
    kv_bytes = length * deployment.model.kv_bytes_per_token
    floor_s = deployment.machine.transfer_floor_s
    added = transfer_s(kv_bytes, prompt_s, deployment.transfer_bytes_per_s, floor_s)
    assert np.all(added < 0.07 * prompt_s)
