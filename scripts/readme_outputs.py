"""Write the outputs that README.md quotes, or check that they are current.

A quoted output is a fenced block after a line ``<!-- output: COMMAND -->``. Run from the
repository's root: ``python scripts/readme_outputs.py [--check]``.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- output: provisioner (?P<args>.+?) -->\n```\n)(?P<text>.*?)(```\n)", re.S)


def output_of(arguments: str) -> str:
    """Run one command and return what it prints, without trailing blanks."""
    command = [sys.executable, "-m", "provisioner", *shlex.split(arguments)]
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=README.parent, env=environment
    )
    lines = [line.rstrip() for line in run.stdout.strip().splitlines()]
    return "\n".join(lines) + "\n"


def refreshed(text: str) -> str:
    """README text with every quoted output replaced by a fresh one."""
    return BLOCK.sub(lambda m: f"{m[1]}{output_of(m['args'])}{m[4]}", text)


def main() -> int:
    """Read the command line; return 1 where a check finds stale outputs."""
    parser = argparse.ArgumentParser(description="Refresh the outputs quoted in README.md.")
    parser.add_argument("--check", action="store_true", help="only tell whether they are current")
    check = parser.parse_args().check
    text = README.read_text(encoding="utf-8")
    fresh = refreshed(text)
    if check:
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
