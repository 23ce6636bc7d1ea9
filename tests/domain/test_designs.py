"""Designs: their roles and the machine types that the named ones prescribe."""

from typing import get_args

import pytest

from provisioner.domain.base import Role
from provisioner.domain.designs import NAMED_DESIGNS, Design, allows, roles_of, types_of

PAPER = {  # Table V of the paper: machines of the prompt and of the token pool
    "splitwise-aa": ("dgx-a100", "dgx-a100"),
    "splitwise-hh": ("dgx-h100", "dgx-h100"),
    "splitwise-ha": ("dgx-h100", "dgx-a100"),
    "splitwise-hhcap": ("dgx-h100", "dgx-h100-cap70"),
}
MACHINES = ("dgx-a100", "dgx-h100", "dgx-h100-cap70")


def test_the_named_designs_are_the_papers():
    assert set(NAMED_DESIGNS) == {"baseline-a100", "baseline-h100", *PAPER}
    assert set(get_args(Design)) == {"split", "mixed", "hybrid", *NAMED_DESIGNS}


@pytest.mark.parametrize("design", PAPER)
def test_a_split_design_prescribes_a_type_for_each_role(design):
    prompt, token = PAPER[design]
    assert roles_of(design) == (Role.PROMPT, Role.TOKEN)
    assert types_of(design) == tuple(dict.fromkeys([prompt, token]))
    for machine in MACHINES:
        assert allows(design, Role.PROMPT, machine) is (machine == prompt)
        assert allows(design, Role.TOKEN, machine) is (machine == token)
        assert not allows(design, Role.MIXED, machine)


@pytest.mark.parametrize("design", ["split", "mixed", "hybrid"])
def test_the_others_prescribe_none(design):
    assert types_of(design) == ()
    assert all(allows(design, role, "anything") for role in roles_of(design))
