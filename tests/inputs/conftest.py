"""Builders for files and scenarios; each test states only what it is about."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

from provisioner.domain.scenario import Scenario

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the project: the built-in data are found from here in any directory."""
    return REPOSITORY


@pytest.fixture(scope="session")
def reference() -> Path:
    """Other people's data, which do not travel with the project."""
    folder = REPOSITORY.parent / "shared" / "reference"
    if not folder.is_dir():
        pytest.skip("the reference data are not beside the project")
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of any content below a fresh folder: most tests here are about one file."""

    def write_file(name: str, content: str | bytes | dict | list) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, (dict, list)):
            content = yaml.safe_dump(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of one's own: its records come before the built-in ones."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def scenario() -> Callable[..., Scenario]:
    """The smallest valid scenario, on a fixed-length workload so that no file is read for it."""

    def build(**fields: Any) -> Scenario:
        fixed = {"name": "fixed", "prompt_tokens": 100, "output_tokens": 10, "rate_per_s": 1.0}
        return Scenario.model_validate(
            {"workloads": [fixed], "hardware": ["dgx-a100", "dgx-h100"], **fields}
        )

    return build


def compressed(content: bytes, how: str) -> bytes:
    """Content in each way that a trace may be stored."""
    if how == "gzip":
        return gzip.compress(content, mtime=0)
    if how == "zstandard":
        return zstandard.ZstdCompressor().compress(content)
    return content
