import pytest

from provisioner.planning import iteration
from provisioner.planning.constraints import batch_limit, kv_room, token_time
from tests.planning.builders import (
    MIXED,
    PROMPT,
    candidate,
    demand,
    machine,
    problem,
    solution,
)

PAIR = machine("pair", accelerators=2)
ONCE = demand(50.0)  # L = 400 iterations/s, M = 27,400 KV-tokens/s
SEGMENTS = ((0.04, 0.0005), (0.02, 0.001))
FIELDS = {
    "segments": SEGMENTS,
    "context_s": 1e-5,
    "target_s": 0.1,
    "kv_room_tokens": 4000.0,
    "batch_limit": 16.0,
    "prompt_s": 0.01,
}


def pool(**changes):
    return problem(ONCE, candidate(MIXED, PAIR, ONCE, **{**FIELDS, **changes}))


def uses(stated, machines, taken, share=1.0):
    point = solution(stated, [machines], [share])
    return list(iteration.usage(stated, point, 0, taken))


def test_instances_used_and_available_by_hand():
    # c M = 0.274 and prompts 0.5 besides s L = 0.2 or 0.4; two machines of two instances.
    stated = pool()
    first, second = 0.2 + 0.274 + 0.5, 0.4 + 0.274 + 0.5
    room = [(first, 4 * (1 - 0.4)), (second, 4 * (1 - 0.2))]
    held = [(first + 0.04 * 27_400 / 4000, 4), (second + 0.02 * 27_400 / 4000, 4)]
    batch = [(first + 0.04 * 400 / 16, 4), (second + 0.02 * 400 / 16, 4)]
    for taken, expected in (
        (token_time.taken, room),
        (kv_room.taken, held),
        (batch_limit.taken, batch),
    ):
        for found, wanted in zip(uses(stated, 2, taken), expected, strict=True):
            assert found == pytest.approx(wanted)


def test_prompts_take_no_time_where_the_phases_overlap():
    assert uses(pool(phases_share_time=False), 2, token_time.taken)[0][0] == pytest.approx(0.474)
    assert not iteration.prompts_take_time(candidate(PROMPT, PAIR, ONCE))


def fixed_point_s(part):
    """Iteration time of an instance that serves this part of the demand; infinite if too much."""
    time_s = 0.0
    for _ in range(100_000):
        longer_s = max(a + s * part * 400 * time_s for a, s in SEGMENTS)
        longer_s += 1e-5 * part * 27_400 * time_s + part * 0.5 * time_s
        if longer_s > 1e3 or longer_s == time_s:
            break
        time_s = longer_s
    return longer_s if longer_s <= 1e3 else float("inf")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("machines", [1, 2, 3])
def test_rows_hold_where_the_fixed_point_of_the_iteration_time_does(machines, share):
    # Here t = b(B) + c K + prompts is solved by itself: B = t L / n, and so K = t M / n.
    # The rows divide by t instead; both must tell the same batches, contexts and gaps apart.
    stated = pool()
    rate = share * 400 / (2 * machines)
    batch = rate * fixed_point_s(share / (2 * machines))
    gap, context = batch / rate, batch * 27_400 / 400

    def holds(taken):
        return all(used <= available for used, available in uses(stated, machines, taken, share))

    assert holds(batch_limit.taken) is (batch <= 16)
    assert holds(kv_room.taken) is (context <= 4000)
    assert holds(token_time.taken) is (gap <= 0.1)
