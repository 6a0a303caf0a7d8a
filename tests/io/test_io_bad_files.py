"""Bad files, for every reader: one line that names the file, the line and the remedy."""

import gzip
import os
from pathlib import Path

import pytest
from io_bad import BLANKS, SOUND, TEXTS, npy_with, refused, zip_of
from io_fuzz import limits, set_alarms

from odsymnmf import io

# --- what can befall any file ----------------------------------------------------------------


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("data", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
def test_empty(tmp_path, name, data):
    assert "is empty" in refused(tmp_path / name, data)


@pytest.mark.parametrize("name", SOUND)
def test_not_a_readable_file(tmp_path, name, monkeypatch):
    path = tmp_path / name
    assert "no such file" in refused(path)
    path.mkdir()
    assert refused(path).startswith(": is a folder")
    path.rmdir()
    os.mkfifo(path)
    assert "a pipe or a device" in refused(path)
    with pytest.raises(io.InputError, match="a pipe or a device"):
        io.read("/dev/zero")
    path.unlink()
    path.write_bytes(SOUND[name])

    def forbidden(self):
        raise PermissionError(13, "Permission denied", str(self))

    # The tests may run as root, who may read everything.
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    assert "may not be read" in refused(path)


def test_no_permission(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    assert "may not be read" in refused(path)


def test_odd_paths(tmp_path):
    with pytest.raises(io.InputError, match="is not a valid path"):
        io.read("a\0b")
    with pytest.raises(io.InputError, match="cannot be read"):
        io.read("a" * 5000)
    with pytest.raises(io.InputError, match=r"a b\.csv: no such file"):
        io.read("a\nb.csv")


@pytest.mark.parametrize("name", SOUND)
def test_truncated(tmp_path, name):
    """Cut anywhere, a file gives items or a clear error; cut in half, an error."""
    data = SOUND[name].rstrip()
    if name not in ("a.edges", "a.csv", "a.net", "a.adjlist"):
        refused(tmp_path / name, data[: len(data) // 2])
    packed = gzip.compress(data)
    assert "ends too early" in refused(tmp_path / f"{name}.gz", packed[: len(packed) // 2])


@pytest.mark.parametrize("name", SOUND)
def test_gzip_bomb(tmp_path, name):
    """A gigabyte of blanks after a sound file, in a few kilobytes."""
    bomb = gzip.compress(SOUND[name]) + BLANKS * 64
    assert "gzip bomb" in refused(tmp_path / f"{name}.gz", bomb)
    damaged = gzip.compress(SOUND[name])[:-8] + bytes(8)
    assert "is not a valid gzip file" in refused(tmp_path / f"{name}.gz", damaged)


@pytest.mark.parametrize("name", TEXTS)
def test_encodings(tmp_path, name):
    path, text = tmp_path / name, SOUND[name]
    start, end = text.split(b"\n", 1)
    latin = start + b"\n" + end.replace(b"\n", b" caf\xe9\n", 1)
    message = refused(path, latin)
    assert message.startswith(", line 2: byte ")
    assert "(0xe9) is not UTF-8; save the file as UTF-8" in message
    assert "UTF-16" in refused(path, text.decode().encode("utf-16"))
    assert "is not text; if it is of another format" in refused(path, text + b"\0")


@pytest.mark.parametrize("name", TEXTS)
def test_windows_line_ends_and_byte_order_mark(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(SOUND[name])
    expected = io.read(path)
    path.write_bytes(b"\xef\xbb\xbf" + SOUND[name].replace(b"\n", b"\r\n"))
    items = io.read(path)
    assert (items.names, items.format) == (expected.names, expected.format)
    assert abs(items.matrix - expected.matrix).max() == 0


# --- sizes that are not what they seem -------------------------------------------------------


@pytest.mark.parametrize("descr", ["<U0", "|S0", "|V0"])
def test_values_of_no_size(tmp_path, descr):
    """128 bytes, which a copy would make 3.6 GB."""
    data = npy_with(descr=descr, shape=(30000, 30000))
    assert "of no size; " in refused(tmp_path / "a.npy", data)
    # In an archive, too.
    data = zip_of(format=data, shape=data, data=data)
    assert "of no size; " in refused(tmp_path / "a.npz", data)


def test_an_archive_whose_directory_lies(tmp_path):
    """The directory says 100 bytes; a gigabyte comes out."""
    data = bytearray(zip_of(format=b"x", shape=b"x", data=bytes(2**30)))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (100).to_bytes(4, "little")
    assert "is not a valid .npz file" in refused(tmp_path / "a.npz", bytes(data))


@pytest.mark.parametrize("line", [b"# c\n", b"<!---->", b"Creator\n", b"%\n"])
def test_millions_of_comments_and_nothing_else(tmp_path, line):
    """Where each began is not remembered: that would be a hundred times their size."""
    data = gzip.compress(line * (2 * 10**7 // len(line)), 1)
    assert "; " in refused(tmp_path / "a.csv.gz", data)


def test_a_file_that_begins_with_millions_of_empty_lines(tmp_path):
    """Two ways to read each of them would take a million times as long as one."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"\n" * 10**7 + b"a b\n", 1))
    with limits():
        set_alarms()
        assert io.read(path).names == ["a", "b"]


@pytest.mark.parametrize("name", ["a.csv", "a.edges", "a.txt", "a.mtx", "a.adjlist", "a.net"])
def test_millions_of_comments(tmp_path, name):
    """16 KB that unpack to 16 MB of comments, 8 million of them."""
    mark = b"#\n" if name not in ("a.mtx", "a.net") else b"%\n"
    comments = mark * (2**23)
    before, _, after = SOUND.get(name, b"a b\nb c\n").partition(b"\n")
    data = before + b"\n" + comments + after
    if name == "a.net":
        data = comments + b"*Vertices 2\n*Edges\n1 2\n"
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    assert path.stat().st_size < 10**5
    with limits():
        assert len(io.read(path).names) >= 2
