"""Text files: small ones whole, traces of any length line by line, plain or compressed."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from provisioner.errors import InputError

MAX_BYTES = 16 * 2**20
"""Largest small file."""
LONGEST_LINE = 2**20
"""Longest line of a trace [characters]; keeps memory bounded whatever file is given."""
_BLOCK_BYTES = 8192
_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def read_text(path: Path, at_most_bytes: int = MAX_BYTES) -> str:
    """Read a small text file; a missing, unreadable or undecodable one is an `InputError`."""
    with _explained(path):
        if path.stat().st_size > at_most_bytes:
            raise InputError(f"{path}: larger than {at_most_bytes >> 20} MiB, no such file is")
        return path.read_text(encoding="utf-8-sig")


@contextlib.contextmanager
def open_lines(path: Path) -> Iterator[Iterator[str]]:
    """Open a text file to be read line by line, decompressed where its first bytes say so.

    Raises
    ------
    InputError
        When opened or while reading: the file is missing, no text, cut off, or has a line longer
        than `LONGEST_LINE`.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: a file is needed, this is a directory or device")
    with (
        _explained(path),
        path.open("rb") as file,
        _decompressed(file) as raw,
        io.TextIOWrapper(raw, encoding="utf-8-sig") as text,
    ):
        yield _lines(path, text)


def _lines(path: Path, text: io.TextIOWrapper) -> Iterator[str]:
    row = 0
    while line := text.readline(LONGEST_LINE):
        row += 1
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise InputError(f"{path}: row {row}: longer than {LONGEST_LINE} characters")
        yield line


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what can go wrong while reading into an `InputError`."""
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(f"{path}: cannot be read: not UTF-8 text") from None
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None


def _decompressed(file: io.BufferedReader) -> BinaryIO:
    start = file.peek(4)[:4]
    if start.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if start.startswith(_ZSTANDARD):
        return io.BufferedReader(_Zstandard(file))
    return file


class _Zstandard(io.RawIOBase):
    """Decompress every frame of a file, and notice when it was cut off.

    The library's own reader stops after the first frame and takes a cut-off one for whole.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Say that this is a stream to read from."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as one block of the file goes; 0 at the end."""
        while not self._ready:
            block = self._file.read(_BLOCK_BYTES)
            if not block:
                if self._frame is not None:
                    raise EOFError("the compressed file is cut off")
                return 0
            self._ready = memoryview(self._decompress(block))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _decompress(self, block: bytes) -> bytes:
        parts = []
        while block:
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            parts.append(self._frame.decompress(block))
            block = b""
            if self._frame.eof:
                block, self._frame = self._frame.unused_data, None
        return b"".join(parts)
