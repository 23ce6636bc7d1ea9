"""A reproduction as records and as the files of a folder."""

from __future__ import annotations

from pathlib import Path

from provisioner.domain.reproduction import Reproduction
from provisioner.reporting import files
from provisioner.reporting.records import Record, finite
from provisioner.reporting.reproduction_figures import FIGURES, figure_texts
from provisioner.reporting.reproduction_page import page_text
from provisioner.reporting.reproduction_records import TABLES, tables_of

FILES = (*(f"{name}.csv" for name in TABLES), *FIGURES, "README.md")
"""Files of a reproduction."""


def reproduction_record(found: Reproduction) -> Record:
    """Everything, by file."""
    clean: Record = finite(tables_of(found))
    return clean


def reproduction_texts(found: Reproduction, command: str) -> dict[str, str]:
    """Name and content of every file; the same whenever and however fast they are made."""
    record = reproduction_record(found)
    tables = {name: files.table_text(columns, record[name]) for name, columns in TABLES.items()}
    return {
        **{f"{name}.csv": text for name, text in tables.items()},
        **figure_texts(tables),
        "README.md": page_text(found, command),
    }


def save_reproduction(
    found: Reproduction, folder: Path, command: str, *, force: bool = False
) -> None:
    """Write a reproduction's files.

    Raises
    ------
    InputError
        Where the folder exists and ``force`` is not given, or it cannot be written.
    """
    files.make_way(folder, force=force, names=FILES)
    files.save_texts(reproduction_texts(found, command), folder)
