"""Builders for files and scenarios; each test states only what it is about."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
import zstandard

from provisioner.domain.scenario import Scenario
from provisioner.inputs.workloads import read_length_record

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


@pytest.fixture(scope="session")
def bursty():
    """Ten minutes at a rate that swings threefold, so that the busiest minute matters."""
    rng = np.random.default_rng(7)
    steps = rng.exponential(1 / (1 + (np.arange(600) % 200 > 150) * 2.0))
    arrivals = np.round(np.cumsum(steps), 3)
    lengths = rng.integers(1, 5000, size=(600, 2))
    return [(float(a), int(p), int(o)) for a, (p, o) in zip(arrivals, lengths, strict=True)]


@pytest.fixture
def store(here, write):
    """Store a record as text, to be spoiled: one request of 100 prompt and 7 output tokens."""

    def put(description=None, cells=None, **changes):
        fields = {"name": "x", "source": "made up", "requests": 1, **changes}
        write("workloads/x.yaml", fields if description is None else description)
        cell = {
            "prompt_from": 99,
            "output_from": 7,
            "requests": 1,
            "prompt_sum": 100,
            "prompt_sq_sum": 10_000,
            "output_sum": 7,
            "product_sum": 700,
            "output_sq_sum": 49,
        }
        rows = [{**cell, **change} for change in ([{}] if cells is None else cells)]
        lines = [",".join(cell), *(",".join(map(str, row.values())) for row in rows)]
        write("workloads/x.csv", "\n".join(lines) + "\n")
        return read_length_record("x", "workloads.x")

    return put
