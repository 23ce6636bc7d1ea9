"""What README.md quotes is what its commands print, and its commands exist."""

import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import typer

from provisioner.domain.scenario import Scenario
from provisioner.inputs.scenarios import parse_scenario
from provisioner.inputs.yaml_files import load

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"^(provisioner [a-z].*?)(?:\s+#.*)?$", README, re.MULTILINE)))


def major(package):
    return int(metadata.version(package).split(".")[0])


@pytest.mark.skipif(
    major("rich") < 15, reason="README.md quotes the tables of rich 15: others space them otherwise"
)
def test_quoted_outputs_are_current():
    run = subprocess.run(
        [sys.executable, "scripts/readme_outputs.py", "--check"], cwd=ROOT, check=False
    )
    assert run.returncode == 0, "stale: python scripts/readme_outputs.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_accepted(command, monkeypatch, tmp_path):
    """Every quoted command parses; the work behind it is left out, the trace is a small one."""
    from provisioner import cli

    seen = []
    (tmp_path / "requests.csv").write_text(
        "arrival_s,prompt_tokens,output_tokens\n0,100,10\n61,200,20\n130,50,5\n"
    )
    monkeypatch.chdir(tmp_path)
    if "our-box" in command:
        write_own_machine(tmp_path)
    if "--workload chat" in command:
        run_cli(cli, monkeypatch, "provisioner workload import requests.csv --name chat")
    if "simulate results/example" in command:
        run_cli(cli, monkeypatch, "provisioner plan --rate 1 --out results/example")
    for module in ("run", "comparison"):
        monkeypatch.setattr(
            f"provisioner.search.{module}.run", lambda case, _: seen.append(case) or stopped(case)
        )
    monkeypatch.setattr("provisioner.cli.reproduce._reproduce", lambda *_: accept(seen))
    run_cli(cli, monkeypatch, command.split(">")[0])
    assert seen or " workload " in command or " simulate " in command


def write_own_machine(folder):
    """Write the machine type and price list of the README."""
    for text in re.findall(r"```yaml\n(# hardware_profiles.*?)```", README, re.DOTALL):
        path = folder / text.split("\n")[0].removeprefix("# ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run_cli(cli, monkeypatch, command):
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code in (0, None)


def accept(seen):
    seen.append("reproduce")
    raise typer.Exit


def stopped(case):
    from provisioner.search.run import _started

    return _started(case)


def test_scenario_file_is_valid():
    text = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)[1]
    assert isinstance(parse_scenario(load(text, "README"), "README"), Scenario)


def test_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)[1]
    (tmp_path / "scenario.yaml").write_text(text)
    exec(re.search(r"```python\n(.*?)```", README, re.DOTALL)[1], {})
    assert (tmp_path / "results" / "doubled" / "plan.csv").is_file()


def test_own_machine_types_can_be_made_as_described(tmp_path, monkeypatch, capsys):
    """The files of the README, written as they stand, plan on a machine type of one's own."""
    from provisioner import cli

    write_own_machine(tmp_path)
    monkeypatch.chdir(tmp_path)
    flags = "--hardware our-box,dgx-h100 --prices ours --rate 5"
    run_cli(cli, monkeypatch, f"provisioner plan {flags}")
    assert "our-box" in capsys.readouterr().out


def test_own_measured_points_can_be_made_as_described(tmp_path, monkeypatch, capsys):
    from provisioner import cli

    machine = re.search(r"```yaml\n(# hardware_profiles/machines.*?)```", README, re.DOTALL)[1]
    points, power = re.findall(r"```csv\n(.*?)```", README, re.DOTALL)
    for name, text in (
        ("machines/our-box.yaml", machine.replace("h100-sxm-80gb", "new-card")),
        ("points/bloom-176b/new-card.csv", points),
        ("power/new-card.csv", power),
    ):
        path = tmp_path / "hardware_profiles" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    flags = "--hardware our-box --set hardware.our-box.usd_per_hour=30"
    run_cli(cli, monkeypatch, f"provisioner plan {flags} --slo interactive --rate 5")
    assert "our-box" in capsys.readouterr().out
    run_cli(cli, monkeypatch, "provisioner plan --rate 5")
    assert "not candidates, as hardware does not name them: our-box" in capsys.readouterr().out
