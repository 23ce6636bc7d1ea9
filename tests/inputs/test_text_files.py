import gzip
import io
import os

import pytest
import zstandard

from provisioner.errors import InputError
from provisioner.inputs import text_files
from provisioner.inputs.text_files import open_lines, read_text

from .conftest import compressed

LINES = [f"row {i}\n" for i in range(50_000)]
TEXT = "".join(LINES).encode()
COMPRESSIONS = ("none", "gzip", "zstandard")


def lines_of(path):
    with open_lines(path) as lines:
        return list(lines)


@pytest.mark.parametrize("how", COMPRESSIONS)
def test_lines_are_the_same_however_they_are_stored(write, how):
    # The name does not matter: the first bytes say what the file is.
    assert lines_of(write("lines.txt", compressed(TEXT, how))) == LINES


@pytest.mark.parametrize("how", ["gzip", "zstandard"])
def test_every_member_of_a_compressed_file_is_read(write, how):
    # What `cat a.zst b.zst` and parallel compressors write; zstandard's own reader stops early.
    half = len(TEXT) // 2
    path = write("lines", compressed(TEXT[:half], how) + compressed(TEXT[half:], how))
    assert lines_of(path) == LINES


@pytest.mark.parametrize("how", ["gzip", "zstandard"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
def test_a_file_that_was_cut_off_is_refused(write, how, kept):
    whole = compressed(TEXT, how)
    with pytest.raises(InputError, match="cannot be read"):
        lines_of(write("lines", whole[: int(len(whole) * kept)]))


@pytest.mark.parametrize("how", ["gzip", "zstandard"])
def test_a_damaged_file_is_refused(write, how):
    damaged = bytearray(compressed(TEXT, how))
    middle = len(damaged) // 2
    damaged[middle : middle + 64] = bytes(64)
    with pytest.raises(InputError, match="cannot be read"):
        lines_of(write("lines", bytes(damaged)))


def test_a_compressed_stream_of_unknown_size_is_read(write):
    buffer = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(buffer, closefd=False) as writer:
        for line in LINES:
            writer.write(line.encode())
    assert lines_of(write("lines.zst", buffer.getvalue())) == LINES


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfa\nb\n", ["a\n", "b\n"]),
        (b"a\r\nb\r\n", ["a\n", "b\n"]),
        (b"a\rb", ["a\n", "b"]),
        (b"", []),
    ],
    ids=["byte-order mark", "Windows line ends", "old Mac line ends", "nothing"],
)
def test_marks_and_line_ends_of_other_systems(write, content, expected):
    assert lines_of(write("lines", content)) == expected


@pytest.mark.parametrize("content", [b"\xff\xfea\x00", b"a\n\x80\n"], ids=["UTF-16", "bytes"])
def test_what_is_no_text_is_refused(write, content):
    path = write("lines", content)
    for read in (lines_of, read_text):
        with pytest.raises(InputError, match="not UTF-8 text"):
            read(path)


def test_a_line_without_end_is_refused(write, monkeypatch):
    monkeypatch.setattr(text_files, "LONGEST_LINE", 10)
    assert lines_of(write("short", "123456789\n12345\n")) == ["123456789\n", "12345\n"]
    with pytest.raises(InputError, match="row 2: longer than 10 characters"):
        lines_of(write("long", "1\n" + "x" * 30 + "\n"))


def test_a_missing_file_a_directory_and_a_device_are_refused(tmp_path):
    for read in (lines_of, read_text):
        with pytest.raises(InputError, match="No such file"):
            read(tmp_path / "missing.csv")
    with pytest.raises(InputError, match="a file is needed"):
        lines_of(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_text(tmp_path)
    os.mkfifo(tmp_path / "pipe")  # would otherwise wait for ever
    with pytest.raises(InputError, match="a file is needed"):
        lines_of(tmp_path / "pipe")


def test_a_file_without_permission_is_refused(write, monkeypatch):
    # Not by mode bits: the superuser may read everything.
    path = write("secret.csv", "a\n")

    def refuse(*_args, **_keywords):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(InputError, match=r"secret\.csv: cannot be read: Permission denied"):
        lines_of(path)


def test_a_small_file_must_be_small(write):
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_text(write("big.yaml", b"x" * (2**20 + 1)), 2**20)


def test_a_bomb_is_refused_without_being_unpacked(write):
    # 100 MB of one line in some kB.
    bomb = gzip.compress(b"x" * 100_000_000, compresslevel=1)
    with pytest.raises(InputError, match="row 1: longer than"):
        lines_of(write("bomb.gz", bomb))
