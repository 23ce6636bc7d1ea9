from provisioner.planning.constraints import network
from tests.planning.builders import (
    MIXED,
    PROMPT,
    TOKEN,
    best,
    candidate,
    demand,
    machine,
    problem,
    solution,
)

ONCE = demand(10.0)  # 10/s x 64 tokens of one byte = 640 bytes/s


def test_caches_leave_prompt_machines_and_enter_token_machines():
    # Over 256 bytes/s a machine, which its two instances share: 2.5, so three. Over 128: five.
    slow = machine("slow", network_bytes_per_s=256, accelerators=2)
    slower = machine("slower", network_bytes_per_s=128)
    stated = problem(ONCE, candidate(PROMPT, slow, ONCE), candidate(TOKEN, slower, ONCE))
    assert best(stated).machines == (3, 5)


def test_mixed_machines_send_nothing():
    slow = machine("slow", network_bytes_per_s=1)
    assert best(problem(ONCE, candidate(MIXED, slow, ONCE))).machines == (1,)


def test_sentences():
    slow = machine("slow", network_bytes_per_s=256)
    stated = problem(ONCE, candidate(PROMPT, slow, ONCE), candidate(TOKEN, slow, ONCE))
    found = list(network.violations(stated, solution(stated, [3, 2], [1.0, 1.0])))
    assert found == ["token__slow__tp1: 640 bytes/s of KV-cache over 512"]
