"""Drafts of killed processes go away, those of running ones stay."""

import os
import subprocess
import sys

import pytest

from provisioner.inputs import drafts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody may be asked for")


@pytest.fixture(scope="module")
def gone():
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.fixture
def running():
    """The number of a process that runs as long as the test."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def make(path, kind):
    if kind == "file":
        path.write_text("half")
    else:
        path.mkdir()
        (path / "plan.csv").write_text("half")


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("name", ["run", "a b.[bold]*", "run.1", "\u00e9"])
def test_a_draft_of_a_process_that_is_gone_is_removed(tmp_path, gone, name, kind):
    make(tmp_path / f".{name}.{gone}.a", kind)
    drafts.clear_abandoned(tmp_path / name)

    assert names_in(tmp_path) == []


def test_a_draft_under_ones_own_number_is_a_predecessors(tmp_path):
    """As in a container, whose processes have the same numbers every time."""
    make(drafts.draft_of(tmp_path / "run"), "folder")
    drafts.clear_abandoned(tmp_path / "run")

    assert names_in(tmp_path) == []


def test_a_draft_of_a_running_process_stays(tmp_path, running):
    names = [f".run.{running}.{kind}" for kind in "ab"]
    for name in names:
        make(tmp_path / name, "folder")
    drafts.clear_abandoned(tmp_path / "run")

    assert names_in(tmp_path) == names


def test_what_is_no_draft_of_this_name_stays(tmp_path, gone):
    others = [f".run.1.{gone}.a", f".runs.{gone}.a", f".run.{gone}.c", ".run.x.a", f"run.{gone}.a"]
    for name in others:
        make(tmp_path / name, "file")
    drafts.clear_abandoned(tmp_path / "run")

    assert names_in(tmp_path) == sorted(others)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_former_content_comes_back_where_no_new_one_took_its_place(tmp_path, gone, kind):
    make(tmp_path / f".run.{gone}.a", kind)
    make(tmp_path / f".run.{gone}.b", kind)
    drafts.clear_abandoned(tmp_path / "run")

    assert names_in(tmp_path) == ["run"]


def test_a_former_content_goes_where_the_new_one_is_there(tmp_path, gone):
    make(tmp_path / f".run.{gone}.b", "folder")
    make(tmp_path / "run", "file")
    drafts.clear_abandoned(tmp_path / "run")

    assert names_in(tmp_path) == ["run"]
    assert (tmp_path / "run").is_file()


def test_a_folder_that_is_not_there_has_no_drafts(tmp_path):
    drafts.clear_abandoned(tmp_path / "nowhere" / "run")

    assert names_in(tmp_path) == []


def test_a_number_that_no_process_has(tmp_path):
    make(tmp_path / f".run.{10**30}.a", "file")
    drafts.clear_abandoned(tmp_path / "run")

    assert names_in(tmp_path) == []
