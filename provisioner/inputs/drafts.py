"""Drafts: what is being written is hidden beside its final name until it is whole.

A process that is killed leaves its drafts behind; whoever writes to the same name next clears them.

Not modelled: two processes of different machines that write to the same place of a shared disk.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
from pathlib import Path

DRAFT, FORMER = "a", "b"
"""The new content, and the former that gives way to it."""


def draft_of(path: Path, kind: str = DRAFT) -> Path:
    """Where this process writes what is to become ``path``."""
    return path.with_name(f".{path.name}.{os.getpid()}.{kind}")


def clear_abandoned(path: Path) -> None:
    """Remove drafts of ``path`` whose process is gone.

    Where one was killed after the former content had given way, that comes back. Drafts under this
    process's own number are a predecessor's, as numbers are used again.
    """
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.[{DRAFT}{FORMER}]", re.DOTALL)
    for draft in sorted(path.parent.glob(f".{glob.escape(path.name)}.*")):
        owner = pattern.fullmatch(draft.name)
        if owner is None or _is_running(int(owner[1])):
            continue
        if draft.name.endswith(FORMER) and not os.path.lexists(path):
            draft.replace(path)
        else:
            remove(draft)


def remove(draft: Path) -> None:
    """Remove a draft, file or folder, as far as that can be done."""
    with contextlib.suppress(OSError):
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    """Whether another process of this number runs."""
    if process == os.getpid():
        return False
    if os.name != "posix":
        return True  # asking there would end it
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's
    return True
