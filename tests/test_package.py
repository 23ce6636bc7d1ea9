"""The package: what importing it costs, what it offers, and that its data travel with it."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import provisioner

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "pandas", "pulp", "scipy", "pydantic", "yaml", "highspy", "rich", "typer")
NO_INDEX = ("No matching distribution", "Could not find a version", "Connection", "Temporary")
"""What pip says where it cannot reach the index that has the build backend."""


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


def test_importing_the_package_loads_nothing_heavy():
    program = f"import sys, provisioner; print([n for n in {HEAVY} if n in sys.modules])"
    ran = python("-c", program)

    assert (ran.stdout, ran.stderr) == ("[]\n", "")


def test_everything_offered_is_there():
    for name in provisioner.__all__:
        assert getattr(provisioner, name).__doc__
    assert set(provisioner.__all__) <= set(dir(provisioner))


def test_what_the_design_promises_is_offered():
    assert {"Scenario", "Outcome", "load_scenario", "plan"} <= set(provisioner.__all__)
    assert {"ProvisionerError", "InputError", "UsageError"} <= set(provisioner.__all__)


def test_anything_else_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nonesuch'"):
        _ = provisioner.nonesuch


def test_one_version():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert provisioner.__version__ == stated["project"]["version"]


def test_the_module_runs_only_as_a_program():
    """Tools that import every module of a package must not start the command line."""
    ran = python("-c", "import provisioner.__main__")

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The wheel, unpacked where nothing of the repository is: the folder to import it from."""
    folder = tmp_path_factory.mktemp("wheel")
    quick = ("--no-deps", "--disable-pip-version-check", "--retries", "0", "--timeout", "10")
    built = python("-m", "pip", "wheel", ROOT, *quick, "--wheel-dir", folder, cwd=folder)
    if built.returncode and any(sign in built.stderr for sign in NO_INDEX):
        pytest.skip("the package index with the build backend (hatchling) cannot be reached")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    put = python("-m", "pip", "install", *quick, "--no-index", "--target", site, wheel, cwd=folder)
    assert put.returncode == 0, put.stderr
    return site


@pytest.fixture
def run_installed(installed, tmp_path):
    """The command line of the unpacked wheel, from an empty working directory."""

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        return python("-m", "provisioner", *arguments, cwd=tmp_path, env=environment)

    return run


def test_the_wheel_is_what_runs(installed, tmp_path):
    ran = python(
        "-c",
        "import provisioner; print(provisioner.__file__)",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )

    assert Path(ran.stdout.strip()).is_relative_to(installed)


def test_the_built_in_data_travel_in_the_wheel(run_installed):
    ran = run_installed("hardware", "list", "--json")

    assert ran.returncode == 0, ran.stderr
    names = {item["name"] for item in json.loads(ran.stdout)["items"]}
    assert names >= {path.stem for path in (ROOT / "hardware_profiles/machines").glob("*.yaml")}


def test_every_data_file_is_in_the_wheel(installed):
    for folder in ("hardware_profiles", "workloads"):
        here = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.*") if _is_data(path)}
        data = installed / "provisioner" / "_data"
        there = {path.relative_to(data) for path in (data / folder).rglob("*.*")}
        assert here
        assert here <= there


def _is_data(path):
    return path.suffix in {".yaml", ".csv"} and not path.name.startswith(".")


def test_nothing_but_the_package_is_in_the_wheel(installed):
    names = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}

    assert names <= {"provisioner", "bin"}
    assert (installed / "provisioner" / "py.typed").exists()
    assert not list(installed.rglob("tests"))


def test_the_wheel_names_its_command(installed):
    (folder,) = installed.glob("provisioner-*.dist-info")
    dist = metadata.Distribution.at(folder)

    scripts = [(point.name, point.value) for point in dist.entry_points]
    assert scripts == [("provisioner", "provisioner.cli:main")]
    assert dist.version == provisioner.__version__


def test_the_wheel_plans_and_saves(run_installed, tmp_path):
    flags = ("--prompt-tokens", "500", "--output-tokens", "50", "--rate", "2")
    choice = ("--hardware", "dgx-h100", "--designs", "mixed", "--out", "results/run")
    ran = run_installed("plan", *flags, *choice, "--json")

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["status"] == "ok"
    assert (tmp_path / "results" / "run" / "inputs.yaml").exists()
