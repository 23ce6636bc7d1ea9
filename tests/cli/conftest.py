"""Builders for the tests of the command line: run it in this process, and a trace to plan for."""

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from provisioner.cli import main

SMALL = (
    *("--prompt-tokens", "500", "--output-tokens", "50", "--rate", "2"),
    *("--hardware", "dgx-h100", "--designs", "mixed"),
)


@dataclass(frozen=True)
class Ran:
    """What one command left: exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output; anything else there makes it fail."""
        return json.loads(self.out)


def _run(*arguments: str | Path) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stop,
    ):
        main([str(argument) for argument in arguments])
    return Ran(stop.value.code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def provisioner() -> Callable[..., Ran]:
    """The command line in this process: most of its promises need no process of their own."""
    return _run


@pytest.fixture(scope="session")
def small() -> tuple[str, ...]:
    """Flags of a question that is answered in a fraction of a second by one mixed pool."""
    return SMALL


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """The built-in example, planned once: its run and the folder of its files."""
    folder = tmp_path_factory.mktemp("example") / "run"
    return _run("plan", "--json", "--out", folder), folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of one's own, for commands that write relative to it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trace(here: Path) -> Path:
    """Two requests a second for a minute, so that rates and windows are known exactly."""
    rows = [f"{second / 2},{300 + second},{20 + second % 7}" for second in range(121)]
    path = here / "data" / "minute.csv"
    path.parent.mkdir()
    path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    return path


@pytest.fixture
def left_behind(here: Path) -> Callable[[], list[str]]:
    """Everything in the working directory, hidden drafts included."""
    return lambda: sorted(path.name for path in here.iterdir())


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


@pytest.fixture
def run_folder(provisioner, small, here):
    """A saved run, to be refused or overwritten."""
    assert provisioner("plan", *small, "--out", "run").code == 0
    return here / "run"
