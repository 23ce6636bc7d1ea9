"""Help: every command has some, and asking for it stays cheap."""

import statistics
import subprocess
import sys
import time

import pytest
import typer.main

from provisioner.cli import app

HEAVY = ("numpy", "pandas", "pulp", "scipy", "pydantic", "yaml", "highspy", "numba", "plotly")
PAIRS, MOST, ATTEMPTS = 7, 1.5, 2


def commands(command, path=()):
    """Every command and group with the words that lead to it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


ALL = list(commands(typer.main.get_command(app)))
IDS = [" ".join(path) or "provisioner" for path, _ in ALL]


def words(text):
    return text.replace("\u2502", " ").replace(",", " ").split()


def test_the_commands():
    assert {" ".join(path) for path, _ in ALL} >= {
        "plan",
        "simulate",
        "compare",
        "hardware",
        "hardware list",
        "hardware show",
        "hardware validate",
        "workload",
        "workload list",
        "workload show",
        "workload import",
    }


@pytest.mark.parametrize(("path", "command"), ALL, ids=IDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(provisioner, monkeypatch, path, command, flag):
    """Also word for word: square brackets, say, would be taken for a style and vanish."""
    monkeypatch.setenv("COLUMNS", "400")
    ran = provisioner(*path, flag)

    assert (ran.code, ran.err) == (0, "")
    assert command.help
    shown = words(ran.out)
    for text in (command.help, *(param.help for param in command.params)):
        assert text, "an option without help"
        assert set(words(text)) <= set(shown)


@pytest.mark.parametrize(("path", "command"), ALL, ids=IDS)
def test_help_names_every_flag(provisioner, monkeypatch, path, command):
    monkeypatch.setenv("COLUMNS", "400")
    shown = words(provisioner(*path, "--help").out)

    flags = [flag for param in command.params for flag in param.opts if flag.startswith("-")]
    assert set(flags) <= set(shown)


def test_asking_for_nothing_shows_the_commands(provisioner):
    ran = provisioner()

    assert ran.code == 2
    assert "plan" in ran.out + ran.err


def test_the_version(provisioner):
    ran = provisioner("--version")

    assert ran.code == 0
    assert ran.out.startswith("provisioner ")


@pytest.mark.parametrize(
    ("words_before", "heavy"),
    [
        ([[]], HEAVY),
        # typer itself may use pydantic where a command has flags
        ([["plan"], ["hardware", "list"], ["workload", "import"]], set(HEAVY) - {"pydantic"}),
    ],
    ids=["root", "commands"],
)
def test_help_loads_nothing_heavy(words_before, heavy):
    program = (
        "import sys\n"
        "from provisioner.cli import main\n"
        f"for words in {words_before}:\n"
        "    try:\n"
        "        main([*words, '--help'])\n"
        "    except SystemExit as stop:\n"
        "        assert stop.code == 0\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert ran.stderr == "[]\n"


def trivial_app():
    """The same tree of commands, which do nothing."""
    lines = ["import typer", "app = typer.Typer(no_args_is_help=True)"]
    for number, (path, command) in enumerate(ALL[1:]):
        if hasattr(command, "commands"):
            lines += [f"group_{path[0]} = typer.Typer(no_args_is_help=True)"]
            lines += [f"app.add_typer(group_{path[0]}, name={path[0]!r}, help='Do things.')"]
        else:
            owner = f"group_{path[0]}" if len(path) > 1 else "app"
            lines += [f"@{owner}.command({path[-1]!r})", f"def command_{number}(name: str = ''):"]
            lines += ["    'Do one thing.'"]
    return "\n".join([*lines, "app()", ""])


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    return time.perf_counter() - start


def test_help_costs_little_more_than_that_of_a_trivial_program(tmp_path):
    """Side by side and alternating, so that a busy machine slows both; the median of ratios."""
    (tmp_path / "trivial.py").write_text(trivial_app())
    ours = [sys.executable, "-m", "provisioner", "--help"]
    other = [sys.executable, str(tmp_path / "trivial.py"), "--help"]
    seconds(ours), seconds(other)

    medians = []
    for _ in range(ATTEMPTS):
        ratios = [seconds(ours) / seconds(other) for _ in range(PAIRS)]
        medians.append(statistics.median(ratios))
        if medians[-1] <= MOST:
            return
    pytest.fail(f"help takes {min(medians):.2f} times as long as a trivial program's")
