"""The characterisation against the paper's own tables and figures, each with its tolerance."""

import pytest

from provisioner.performance.transfer import transfer_s
from provisioner.reproduction.characterisation import (
    MACHINES,
    PAPER_ALONE,
    PAPER_SERIALISED_S,
    alone,
    deployed,
    phases,
    transfers,
)

ALONE = {(row.service, row.machine): row for row in alone()}
TRANSFERS = {(row.machine, row.prompt_tokens): row for row in transfers()}


@pytest.mark.parametrize("key", PAPER_ALONE)
def test_requests_alone_are_near_the_papers(key):
    """Its medians are of other runs than the published measurements: 20 % apart at the most."""
    row, paper = ALONE[key], PAPER_ALONE[key]
    for field in ("ttft_s", "tbt_s", "e2e_s", "usd"):
        assert getattr(row, field) == pytest.approx(paper[field], rel=0.25), field
    assert row.wh < paper["wh"]  # the paper counts nearly the machine's full power


def test_cost_is_rent_over_the_time_of_a_hundred_requests():
    row = ALONE["coding", "dgx-a100"]
    assert row.usd == pytest.approx(100 * row.e2e_s * 17.68 / 3600)
    assert row.e2e_s == pytest.approx(row.ttft_s + 12 * row.tbt_s)


@pytest.mark.parametrize("machine", PAPER_SERIALISED_S)
def test_serialised_transfers_are_the_papers(machine):
    """Figure 14, digitised, within 4 %."""
    row = TRANSFERS[machine, 2048]
    assert row.serialised_s == pytest.approx(PAPER_SERIALISED_S[machine], rel=0.04)


@pytest.mark.parametrize("key", TRANSFERS)
def test_the_shorter_way_is_used(key):
    row = TRANSFERS[key]
    assert row.used_s == min(row.serialised_s, row.layered_s)
    at = deployed("bloom-176b", row.machine)
    size = row.prompt_tokens * at.model.kv_bytes_per_token
    used = transfer_s(size, row.prompt_s, at.transfer_bytes_per_s, at.machine.transfer_floor_s)
    assert row.used_s == pytest.approx(float(used))


def test_overheads_are_the_papers():
    """Second token +16.5 % by the shorter way and +64 % serialised; E2E 0.8 % and up to 3 %."""
    a100, h100 = TRANSFERS["dgx-a100", 2048], TRANSFERS["dgx-h100", 2048]
    assert a100.second_token_overhead == pytest.approx(0.165, abs=0.01)
    serialised = (a100.second_token_overhead_serialised, h100.second_token_overhead_serialised)
    assert min(serialised) < 0.64 < max(serialised)
    assert a100.e2e_overhead == pytest.approx(0.008, abs=0.002)
    assert h100.e2e_overhead_serialised == pytest.approx(0.03, abs=0.002)


def test_prompt_throughput_saturates_and_token_throughput_grows():
    for model in ("bloom-176b", "llama2-70b"):
        for machine in MACHINES:
            rates = {
                phase: {
                    p.load: p.tokens_per_s
                    for p in phases()
                    if (p.model, p.machine, p.phase) == (model, machine, phase)
                }
                for phase in ("prompt", "token")
            }
            prompt, token = rates["prompt"], rates["token"]
            assert max(prompt, key=lambda load: prompt[load]) in (1024, 2048)  # the paper: 2048
            assert list(token.values()) == sorted(token.values())


def test_a_cap_slows_prompts_by_three_tenths_and_tokens_not_at_all():
    points = {(p.model, p.machine, p.phase, p.load): p.time_s for p in phases()}
    for (model, machine, phase, load), time_s in points.items():
        if machine == "dgx-h100":
            capped = points[model, "dgx-h100-cap70", phase, load]
            assert capped == pytest.approx(time_s * (1.3 if phase == "prompt" else 1.0))
