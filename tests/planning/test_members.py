"""What every constraint and every objective has, present and future ones alike."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from provisioner.planning import constraints, objectives
from provisioner.planning.constraints import CONSTRAINTS
from provisioner.planning.objectives import BY_NAME, OBJECTIVES


@pytest.mark.parametrize(
    ("folder", "members"), [(constraints, CONSTRAINTS), (objectives, OBJECTIVES)]
)
def test_every_file_of_the_folder_is_in_the_list_once(folder, members):
    files = {info.name for info in pkgutil.iter_modules(folder.__path__)}
    found = [member.__name__.rpartition(".")[2] for member in members]
    assert sorted(found) == sorted(files)
    assert all(importlib.import_module(member.__name__) is member for member in members)


@pytest.mark.parametrize("member", [*CONSTRAINTS, *OBJECTIVES], ids=lambda member: member.NAME)
def test_a_member_is_named_like_its_file(member):
    assert member.__name__.rpartition(".")[2] == member.NAME


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda member: member.NAME)
def test_a_constraint_has_its_twins(constraint):
    assert callable(constraint.rows)
    assert callable(constraint.violations)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda member: member.NAME)
def test_an_objective_has_its_twins_and_a_direction(objective):
    assert callable(objective.expression)
    assert callable(objective.value)
    assert BY_NAME[objective.NAME] is objective
    ratio = hasattr(objective, "PER")
    assert objective.MAXIMIZE is objective.NAME.startswith("throughput")
    assert ratio is ("_per_" in objective.NAME)
    if ratio:
        assert not objective.PER.MAXIMIZE
