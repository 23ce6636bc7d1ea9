"""What a run may overwrite: nothing unless forced, and then only a run."""

import os

import pytest

from tests.cli.conftest import names_in
from tests.cli.test_plan_files import FILES


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_existing_run_is_not_overwritten(provisioner, small, run_folder, left_behind):
    before = snapshot(run_folder)
    ran = provisioner("plan", *small, "--rate", "9", "--out", "run", "--json")

    assert ran.code == 1
    assert ran.json["message"].startswith("run exists; ")
    assert "--force" in ran.json["message"]
    assert snapshot(run_folder) == before
    assert left_behind() == ["run"]


def test_force_overwrites_a_run_and_leaves_none_of_its_files(
    provisioner, small, run_folder, left_behind
):
    flags = ("--rate", "200", "--machines", "1", "--out", "run", "--force")
    assert provisioner("plan", *small, *flags).code == 3

    assert names_in(run_folder) == ["inputs.yaml", "summary.csv"]
    assert left_behind() == ["run"]


def test_force_makes_a_new_folder_too(provisioner, small, here):
    assert provisioner("plan", *small, "--out", "new", "--force").code == 0
    assert names_in("new") == FILES


def test_force_spares_a_folder_that_holds_anything_else(provisioner, small, run_folder):
    (run_folder / "notes.txt").write_text("mine")
    before = snapshot(run_folder)
    ran = provisioner("plan", *small, "--out", "run", "--force")

    assert ran.code == 1
    assert "notes.txt" in ran.err
    assert snapshot(run_folder) == before


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
@pytest.mark.parametrize("target", [".", "file", "link", "run/.."])
def test_what_is_no_run_is_never_overwritten(
    provisioner, small, run_folder, left_behind, force, target
):
    run_folder.with_name("file").write_text("mine")
    run_folder.with_name("link").symlink_to("run")
    before = left_behind()
    ran = provisioner("plan", *small, "--out", target, *force)

    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert left_behind() == before
    assert names_in("run") == FILES


def test_the_working_directory_is_not_replaced(provisioner, small, run_folder, monkeypatch):
    monkeypatch.chdir(run_folder)
    ran = provisioner("plan", *small, "--out", ".", "--force")

    assert ran.code == 1
    assert "working directory" in ran.err


@pytest.mark.parametrize("target", ["file/run", "file/a/b", "x" * 300])
def test_a_place_that_cannot_be_written_is_one_sentence(
    provisioner, small, here, left_behind, target
):
    (here / "file").write_text("mine")
    ran = provisioner("plan", *small, "--out", target, "--json")

    assert ran.code == 1
    assert "cannot be written" in ran.json["message"]
    assert left_behind() == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to the administrator")
def test_a_read_only_parent_is_found_before_the_search(provisioner, small, here):
    (here / "locked").mkdir(mode=0o555)
    ran = provisioner("plan", *small, "--out", "locked/run")

    assert ran.code == 1
    assert "read-only" in ran.err


def test_a_parent_without_permission_is_found_before_the_search(
    provisioner, small, here, left_behind, monkeypatch
):
    monkeypatch.setattr(os, "access", lambda *_: False)
    ran = provisioner("plan", *small, "--out", "a/run")

    assert ran.code == 1
    assert ran.err.startswith("provisioner: a/run: cannot be written: ")
    assert left_behind() == []


def test_names_that_no_terminal_likes_are_no_trouble(provisioner, small, here):
    name = "a b\u00e9 [bold]"
    assert provisioner("plan", *small, "--out", name).code == 0
    assert names_in(name) == FILES
