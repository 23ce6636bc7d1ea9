"""Compilation: numba, cached on disk in a folder of its own for every state of the source."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def _folder() -> Path:
    """Cache folder: numba does not notice that a function in another file has changed."""
    digest = hashlib.sha256(numba.__version__.encode())
    here = Path(__file__).parent
    physics = here.parent.parent / "performance"  # its constants are compiled in
    for path in (*sorted(here.glob("*.py")), *sorted(physics.glob("*.py"))):
        digest.update(path.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "provisioner" / f"engine-{digest.hexdigest()[:16]}"


def _usable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="provisioner-engine-"))
    return folder


_numba: Any = numba
_numba.config.CACHE_DIR = str(_usable(_folder()))

_entry = _numba.njit(cache=True, nogil=True, error_model="numpy")
_apart = _numba.njit(error_model="numpy", nogil=True)
_inner = _numba.njit(
    error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def entry(function: Function) -> Function:
    """Compile a function that Python calls, on its first call, or load it from the cache."""
    compiled: Function = _entry(function)
    return compiled


def jit(function: Function) -> Function:
    """Compile a function into its callers: passing the state costs more than most of them do."""
    compiled: Function = _inner(function)
    return compiled


def apart(function: Function) -> Function:
    """Compile a function by itself, for what is rare."""
    compiled: Function = _apart(function)
    return compiled


def _borrowed(_: Any, array: Any) -> Any:
    """See an array without owning it: counting references took two thirds of the time.

    Whoever calls the engine keeps the array alive.
    """

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        return view._getvalue()

    return array(array), generate


borrowed: Any = intrinsic(_borrowed)
