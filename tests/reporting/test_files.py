"""A run's folder appears whole or not at all, and an old one goes only when a new one is there."""

import csv
import math
from pathlib import Path

import pytest

from provisioner.errors import InputError
from provisioner.reporting import files
from provisioner.reporting.files import FILES, save_run, table_text


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_every_file_of_a_run_is_listed(result, case, tmp_path):
    save_run(result, case, tmp_path / "run")

    assert names_in(tmp_path / "run") == sorted(FILES)


def test_missing_parents_are_made(result, case, tmp_path):
    save_run(result, case, tmp_path / "a" / "b" / "run")

    assert names_in(tmp_path) == ["a"]
    assert names_in(tmp_path / "a" / "b" / "run") == sorted(FILES)


def test_the_same_result_is_the_same_bytes(result, case, tmp_path):
    for name in ("one", "two"):
        save_run(result, case, tmp_path / name)

    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.fixture
def failing_disk(monkeypatch):
    """A disk that is full after one file."""
    written = []
    write_text = Path.write_text

    def write(self, *arguments, **options):
        if written:
            raise OSError(28, "No space left on device")
        written.append(self)
        return write_text(self, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", write)


def test_a_full_disk_leaves_nothing(result, case, tmp_path, failing_disk):
    with pytest.raises(InputError, match="run: cannot be written: No space left on device"):
        save_run(result, case, tmp_path / "a" / "b" / "run")

    assert names_in(tmp_path) == []


def test_a_full_disk_leaves_the_former_run(result, case, tmp_path, monkeypatch, request):
    save_run(result, case, tmp_path / "run")
    request.getfixturevalue("failing_disk")
    with pytest.raises(InputError, match="No space left on device"):
        save_run(result, case, tmp_path / "run", force=True)

    assert names_in(tmp_path) == ["run"]
    assert names_in(tmp_path / "run") == sorted(FILES)


def test_the_former_run_comes_back_where_the_new_one_cannot_take_its_place(
    result, infeasible, case, tmp_path, monkeypatch
):
    save_run(result, case, tmp_path / "run")
    replace = Path.replace

    def fail_at_the_draft(self, target):
        if self.name.endswith(".a"):
            raise OSError(5, "Input/output error")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail_at_the_draft)
    with pytest.raises(InputError, match="Input/output error"):
        save_run(infeasible, case, tmp_path / "run", force=True)

    assert names_in(tmp_path) == ["run"]
    assert names_in(tmp_path / "run") == sorted(FILES)


def test_an_interrupt_leaves_nothing(result, case, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_run(result, case, tmp_path / "run")

    assert names_in(tmp_path) == []


def test_null_and_what_is_not_finite_are_empty_cells():
    rows = [{"a": None, "b": math.inf, "c": math.nan, "d": 0.1 + 0.2}]
    (row,) = csv.DictReader(table_text(("a", "b", "c", "d"), rows).splitlines())

    assert row == {"a": "", "b": "", "c": "", "d": "0.30000000000000004"}


def test_any_text_survives_csv():
    text = 'a "quoted", long\nname'
    (row,) = csv.DictReader(table_text(("a",), [{"a": text}]).splitlines(keepends=True))

    assert row["a"] == text


def test_a_package_that_is_not_installed_is_no_trouble(result, case, tmp_path, monkeypatch):
    """As where the project runs from its folder."""
    monkeypatch.setattr(files, "_PACKAGES", ("numpy", "no-such-package"))
    save_run(result, case, tmp_path / "run")

    text = (tmp_path / "run" / "inputs.yaml").read_text(encoding="utf-8")
    assert "no-such-package: not installed" in text
