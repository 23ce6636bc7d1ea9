"""Where output goes: pipes that close, full disks, terminals of any width and encoding."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIST = (sys.executable, "-m", "provisioner", "hardware", "list")
FULL = Path("/dev/full")
needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
needs_terminals = pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")


def ran(*command, **options):
    defaults = {"capture_output": True, "text": True, "timeout": 60}
    return subprocess.run(command, check=False, **defaults | options)


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["table", "json"])
def test_a_reader_that_stops_early_is_no_error(flags):
    """As ``| head -1`` does; here the pipe's other end is gone from the start."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        result = ran(*LIST, *flags, capture_output=False, stdout=pipe, stderr=subprocess.PIPE)

    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("plan", "--help"), 0),
        (("--help",), 0),
        (("--version",), 0),
        ((), 0),
        (("plan", "--nonesuch"), 2),
        (("plan", "--nonesuch", "--json"), 2),
        (("plan", "--rate", "x"), 1),
    ],
    ids=str,
)
def test_a_reader_that_has_gone_is_no_error_of_a_help_page_nor_hides_another(words, code):
    """Both streams, as of ``2>&1 | head -1``."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        result = ran(*LIST[:3], *words, capture_output=False, stdout=pipe, stderr=pipe)
        alone = ran(*LIST[:3], *words, capture_output=False, stdout=pipe, stderr=subprocess.PIPE)

    assert (result.returncode, alone.returncode) == (code, code)
    assert "Traceback" not in alone.stderr
    assert bool(alone.stderr) == (code > 0)


@needs_full_device
@pytest.mark.parametrize("flags", [(), ("--json",), ("--help",)], ids=["table", "json", "help"])
def test_a_full_disk_is_one_sentence(flags):
    with FULL.open("w") as full:
        result = ran(*LIST, *flags, capture_output=False, stdout=full, stderr=subprocess.PIPE)

    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "No space left on device" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_error(closed):
    result = ran("sh", "-c", f'"$@" {closed}', "sh", *LIST, "--json")

    assert result.returncode == 0
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_is_written_whatever_streams_are_closed(small, here, closed):
    plan = (*LIST[:3], "plan", *small, "--out", "run")
    result = ran("sh", "-c", f'"$@" {closed}', "sh", *plan)

    assert result.returncode == 0
    assert len(list((here / "run").iterdir())) == 8
    assert "requests/s" not in "".join(
        path.read_text()
        for path in here.rglob("*.csv")  # nothing was printed into a file
    )


@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("show", "h\u00e9")])
def test_a_terminal_that_only_knows_ascii(arguments):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = ran(*LIST[:-1], *arguments, env=environment)

    assert result.returncode == (1 if "h\u00e9" in arguments else 0)
    assert "Traceback" not in result.stderr
    assert (result.stdout + result.stderr).isascii()


def piped(columns):
    """The list of machine types through a pipe, with or without COLUMNS set."""
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    if columns is not None:
        environment["COLUMNS"] = columns
    return ran(*LIST, env=environment).stdout


@pytest.mark.parametrize("columns", [None, "", "0", "wide", "-5", "132", "300"])
def test_piped_output_is_one_line_each_unless_asked_otherwise(columns):
    text = piped(columns)

    assert "bloom-176b (tp 8), llama2-70b (tp 2, 4, 8)" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("columns", ["100", "80", "20"])
def test_piped_output_is_as_wide_as_asked_and_whole(columns):
    """Fewer columns than the narrowest table has are not heeded."""
    text = piped(columns)

    assert max(map(len, text.splitlines())) <= max(int(columns), 84)
    assert "\u2026" not in text
    for whole in ("dgx-h100-cap70", "a100-sxm-80gb", "10,200", "27.45"):
        assert whole in text


def in_terminal(columns, *command, **variables):
    """What a terminal of some width receives on both streams."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES", "NO_COLOR"}}
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm", **variables},
    ) as process:
        os.close(theirs)
        received = b""
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:  # Linux' way to say that the other side is gone
                break
            if not block:
                break
            received += block
    os.close(ours)
    assert process.returncode == 0
    return received.decode()


@needs_terminals
def test_a_narrow_terminal_gets_whole_names_and_numbers():
    text = in_terminal(40, *LIST)

    for whole in ("dgx-h100-cap70", "a100-sxm-80gb", "10,200", "27.45"):
        assert whole in text
    assert "\u2026" not in text


@needs_terminals
def test_a_wide_terminal_gets_one_line_each():
    text = in_terminal(150, *LIST)

    assert "bloom-176b (tp 8), llama2-70b (tp 2, 4, 8)" in text


@needs_terminals
def test_progress_is_gone_when_the_result_is_printed(small):
    text = in_terminal(100, sys.executable, "-m", "provisioner", "plan", *small)

    before, after = text.split("requests/s for", 1)
    assert "planning" in before
    assert "planning" not in after
    assert "Pools" in after


@needs_terminals
def test_no_color_is_plain_text_without_progress(small):
    plan = (sys.executable, "-m", "provisioner", "plan", *small)
    coloured, plain = (in_terminal(100, *plan, NO_COLOR=asked) for asked in ("", "1"))

    assert "\x1b" in coloured
    assert "\x1b" not in plain
    assert plain.startswith("1 machine serves")
