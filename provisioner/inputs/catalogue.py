"""Where stored records live: the working directory first, then what travels with the package.

`hardware_profiles/` and `workloads/` in the working directory add to the built-in ones and take
precedence over them by name.
"""

from __future__ import annotations

from pathlib import Path

from provisioner.errors import unknown_name

_FOLDERS = ("hardware_profiles", "workloads")
_PACKAGE = Path(__file__).resolve().parent.parent
_BUILT_IN = _PACKAGE / "_data" if (_PACKAGE / "_data").is_dir() else _PACKAGE.parent


def roots() -> list[Path]:
    """Directories that hold `hardware_profiles/` and `workloads/`, in order of precedence."""
    here = Path.cwd().resolve()
    return [here] if here == _BUILT_IN else [here, _BUILT_IN]


def stored_as(path: Path) -> Path | None:
    """Path of a stored record relative to the root that holds it; None of any other file."""
    real = path.resolve()
    for root in roots():
        if any(real.is_relative_to(root / folder) for folder in _FOLDERS):
            return real.relative_to(root)
    return None


def hides_built_in(path: Path) -> bool:
    """Whether a file is a record of the working directory that differs from a built-in namesake."""
    inside = stored_as(path)
    if inside is None or not (_BUILT_IN / inside).is_file():
        return False
    namesake = _BUILT_IN / inside
    return not path.samefile(namesake) and path.read_bytes() != namesake.read_bytes()


def stored(folder: str, pattern: str = "*.yaml") -> dict[str, Path]:
    """Names and files of the records in a folder such as ``hardware_profiles/machines``."""
    found: dict[str, Path] = {}
    for root in reversed(roots()):
        for path in sorted((root / folder).glob(pattern)):
            if not path.name.startswith("."):  # drafts, and what editors and macOS leave behind
                found[path.stem] = path
    return dict(sorted(found.items()))


def find(folder: str, kind: str, name: str, where: str = "", pattern: str = "*.yaml") -> Path:
    """Find the file of a stored record.

    Raises
    ------
    InputError
        With the nearest name where there is no such record.
    """
    paths = stored(folder, pattern)
    if name not in paths:
        raise unknown_name(kind, name, paths, where)
    return paths[name]
