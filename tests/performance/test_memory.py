import pytest

from provisioner.inputs.hardware import read_machine, read_model
from provisioner.performance.memory import kv_room_tokens, shortfall, usable_bytes


def test_room_by_hand(build):
    # 2 accelerators x 1000 bytes x 0.90 = 1800; less 600 of weights = 1200; 120 bytes per token.
    assert usable_bytes(build.machine(), 2) == pytest.approx(1800)
    assert kv_room_tokens(build.model(), build.machine(), 2) == pytest.approx(10)


def test_room_is_negative_where_the_weights_do_not_fit(build):
    # 1 x 1000 x 0.90 - 1500 = -600 bytes, -5 tokens of 120.
    assert kv_room_tokens(build.model(weight_bytes=1500), build.machine(), 1) == pytest.approx(-5)


@pytest.mark.parametrize(
    ("weight_bytes", "fits"),
    [
        (600, True),
        (779, True),  # 900 - 779 = 121 bytes: one token of 120
        (781, False),  # 119 bytes: less than one token
        (5000, False),
    ],
)
def test_shortfall_exactly_where_not_one_token_fits(build, weight_bytes, fits):
    reason = shortfall(build.model(weight_bytes=weight_bytes), build.machine(), 1)
    assert (reason is None) is fits


def test_shortfall_states_every_figure(build):
    reason = shortfall(build.model(weight_bytes=5000), build.machine(), 2)
    assert reason == (
        "small does not fit box at tensor parallelism 2: its weights take 5000 bytes, "
        "2 x 1000 bytes of memory leave 1800 (90% usable)"
    )


@pytest.mark.parametrize(
    ("model", "machine", "tensor_parallel", "tokens"),
    [
        # 8 x 80 x 2^30 x 0.90 = 618,475,290,624 bytes; less 329e9 over 4,014,080 per token.
        ("bloom-176b", "dgx-a100", 8, 72_115),
        ("bloom-176b", "dgx-h100-cap70", 8, 72_115),
        # The same less 135e9, over 327,680 per token (grouped heads).
        ("llama2-70b", "dgx-h100", 8, 1_475_450),
        # A quarter of the memory, 154,618,822,656 bytes, less the same weights.
        ("llama2-70b", "dgx-a100", 2, 59_872),
    ],
)
def test_room_of_built_in_machines(model, machine, tensor_parallel, tokens):
    room = kv_room_tokens(read_model(model), read_machine(machine), tensor_parallel)
    assert room == pytest.approx(tokens, abs=1)


def test_room_without_the_reserved_share_is_the_one_published(build):
    # The Splitwise simulator counts 640e9 bytes, all of it usable: (640e9 - 329e9) / 4,014,080 =
    # 77.5 thousand tokens for BLOOM-176B. The reserve is what makes ours smaller.
    machine = build.machine(accelerators=8, accelerator_memory_bytes=80e9 / 0.90)
    assert kv_room_tokens(read_model("bloom-176b"), machine, 8) == pytest.approx(77_500, rel=1e-3)
