"""Files that cannot be read: one line that names the file, the problem and a remedy."""

import gzip
import os
import re

import numpy as np
import pyarrow
import pytest
from io_files import WITH_NAMES, WITHOUT_NAMES, A, parquet, saved_bytes
from pyarrow.parquet import write_table
from scipy import sparse

from odsymnmf import io

MTX = b"%%MatrixMarket matrix coordinate real general\n"
ARRAY = b"%%MatrixMarket matrix array real general\n"
PARQUET = WITH_NAMES["graph.parquet"]


# With the metadata of pandas, but incomplete.
NO_INDEX = pyarrow.table({"source": ["a"]}).replace_schema_metadata({"pandas": "{}"})
# As a string, with the bytes of the column replaced.
INVALID_UTF8 = parquet(source=["xyzzy"], target=["b"]).replace(b"xyzzy", b"\xff" * 5)


def refused(path, data=None, **options):
    """Return the message, without the path that it begins with."""
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(io.InputError) as caught:
        io.read(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message.splitlines()) == 1
    assert "; " in message  # a remedy follows the problem
    return message.removeprefix(str(path))


def npy_with(**header):
    text = repr({"descr": "<f8", "fortran_order": False} | header).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


def npz_with(**arrays):
    sound = sparse.csr_array(A)
    parts = {"format": b"csr", "shape": sound.shape, "_is_array": True}
    parts |= {"data": sound.data, "indices": sound.indices, "indptr": sound.indptr}
    return saved_bytes(lambda f: np.savez(f, **(parts | arrays)))


BAD = [
    # any text
    ("a.csv", b"# nothing\n% at all\n", ": holds no rows but comments; "),
    ("a.csv", b"a,b\n\xe9,c\n", r": is not UTF-8 \(.*0xe9 in position 4.*; save it as UTF-8"),
    ("a.csv", "a,b".encode("utf-16"), ": is not text in UTF-8; .* pass format="),
    ("a.csv", b'a,b\n"c,d\n', ", line 2: 1 fields where the lines above have 2; "),
    # edge lists
    ("a.csv", b"a,b,1\rb,c,abc\r", ", line 2: 'abc' is not a number; "),
    ("a.csv", b"a;b;0,5\nb;c;1,5\n", ", line 2: '1,5' is not a number; .* decimal point|'0,5'"),
    ("a.csv", b"a,b,1\nb,c\n", ", line 2: 2 fields where the lines above have 3; "),
    ("a.txt", b"# x\na b\n" + b"# y\nb c\n" * 30 + b"b c d\n", "2 fields in line 63, saw 3.*; "),
    ("a.csv", b"a,b,1\nb,c,-inf\n", ": the value of 'b' and 'c' is -inf; "),
    ("a.txt", b"0 1\n1 2\n2 -1\n", ": the id -1 is negative; "),
    ("a.csv", b"source,target\n", ": a header, but no edges below it; "),
    ("a.csv", b"alone\n", ": one column only, but an edge has two names"),
    ("a.edges", b"1 2 {'weight': 3}\n2 3 {}\n", ": the weight of '2' to '3' is None; give every"),
    ("a.edges", b"1 2 {'a': __import__('os')}\n", r": cannot be read as edges \(Failed to convert"),
    # tables
    ("a.csv", b"0,1,2,3\n1,0,2,3\n", ": has 2 rows and 4 columns of numbers, .*features=True"),
    ("a.csv", b",a,b,c\na,0,1,\nb,1,0\nc,1,1,0\n", ", line 3: 3 fields where the lines above "),
    ("a.csv", b",a,b,c\na,0,,\nb,,0,\nc,NA,nan,0\n", ": no pair has a known value; give "),
    ("a.csv", b",a,b,c\na,0,1,1\nc,1,0,1\nb,1,1,0\n", ": row 2 is called 'c', but column 2 'b'; "),
    ("a.csv", b",a,b,c\n", ": has names, but no numbers; "),
    ("a.csv", b"id,u,v,text\n1,2,3,one two three four\n", ", line 2: .* is not a number; .*--text"),
    # Matrix Market
    ("a.mtx", b"1 1 1\n", r": is not a valid mtx file \(Line 1: .*; save the matrix again"),
    ("a.mtx", MTX + b"2 2 1\n1 3 1\n", r"\(Line 3: Column index out of bounds\)"),
    ("a.mtx", MTX + b"2 2 2\n1 2 1\n", "Truncated file"),
    ("a.mtx", MTX + b"2 2 2\n1 2 35E", "Truncated file"),  # SciPy read beyond the end
    ("a.mtx", MTX.replace(b"real", b"complex") + b"1 1 1\n1 1 1 1\n", "values of type complex128"),
    # SciPy writes beyond the matrix here.
    ("a.mtx", ARRAY.replace(b"general", b"symmetric") + b"1 3\n1\n2\n3\n", "1 rows and 3 columns"),
    # NumPy and SciPy
    ("a.npy", saved_bytes(lambda f: np.save(f, np.array([[1, None]]))), "allow_pickle=False"),
    ("a.npy", saved_bytes(lambda f: np.save(f, A[0])), r"an array of shape \(5,\); "),
    ("a.npz", b"PK\x03\x04 and so on", ": is not a valid npz file "),
    ("a.npz", saved_bytes(lambda f: np.savez(f, A)), "it is not a sparse matrix of scipy"),
    ("a.npz", npz_with(indices=np.full(8, 10**6)), ": is not a valid npz file "),
    ("a.npz", npz_with(indptr=np.array([0, 10**6, 0, 0, 0, 0])), "indptr decreases"),
    ("a.npz", npz_with(data=np.array([None] * 8)), "allow_pickle=False"),
    # graphs
    ("a.graphml", b"<graphml>\n<graph>\n", ", line 3: cannot be read as graphml "),
    ("a.gml", b"graph [\n  node [\n    id 0\n", ", line 4: cannot be read as gml "),
    ("a.gml", b"graph [\n]", ": holds no nodes; "),
    ("a.net", b"1 2\n", r": cannot be read as pajek \(it has no line \*Vertices"),
    ("a.net", b"*Vertices 2\n*Edges\n1 3\n", "links end at vertices that do not exist"),
    # parquet
    ("a.parquet", PARQUET[: len(PARQUET) // 2], ": is not a valid parquet file .*; "),
    ("a.parquet", INVALID_UTF8, ": "),
    ("a.parquet", saved_bytes(lambda f: write_table(NO_INDEX, f)), ": is not a valid parquet "),
    ("a.parquet", parquet(source=["x"], target=[None]), ": an edge has no name "),
    ("a.parquet", parquet(source=["x"], target=["y"], weight=["z"]), "'weight' holds no numbers; "),
]


@pytest.mark.parametrize(("name", "data", "expected"), BAD)
def test_bad_content(tmp_path, name, data, expected):
    message = refused(tmp_path / name, data)
    assert re.search(expected, message), message


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.mtx", MTX + b"9999999999999 9999999999999 1\n1 2 1\n"),
        ("a.mtx", ARRAY + b"9999999 9999999\n1\n"),
        ("a.npy", npy_with(shape=(10**7, 10**7))),
        ("a.npz", npz_with(format=b"coo", shape=(10**13,) * 2, row=[0], col=[0], data=[1.0])),
        ("a.net", b"*Vertices 9999999999999\n"),
    ],
)
def test_what_cannot_fit_into_memory_is_refused_before_allocation(read, name, data):
    with pytest.raises(MemoryError, match=r"needs [\d,.]+ GiB of memory, but only .* available"):
        read(data, name)


@pytest.mark.parametrize("name", ["csr.npz", "array.npy", "general.mtx", "array.mtx", "ids.txt"])
def test_what_exceeds_the_available_memory_is_refused(read, monkeypatch, name):
    monkeypatch.setattr("odsymnmf.utils.available_memory", lambda: 100)
    monkeypatch.setattr("odsymnmf.utils.MIN_CHECKED", 0)
    with pytest.raises(MemoryError, match=r"but only 0\.0 MiB is available"):
        read(WITHOUT_NAMES[name], name)


def test_no_file_to_read(tmp_path):
    path = tmp_path / "a.npy"
    assert refused(path).startswith(": no such file; ")
    for data in (b"", b"\n \n", gzip.compress(b"", mtime=0)):
        assert refused(path, data).startswith(": is empty; ")
    path.unlink()
    path.mkdir()
    assert refused(path).startswith(": is a folder; ")
    path.rmdir()
    os.mkfifo(path)
    assert refused(path).startswith(": is a pipe or a device; ")


def test_damaged_gzip(tmp_path):
    packed = gzip.compress(WITH_NAMES["plain.csv"])
    for damaged in (packed[:-12], packed[:-8] + bytes(8), packed[:12] + bytes(9) + packed[21:]):
        assert ": cannot be read: " in refused(tmp_path / "a.csv.gz", damaged)


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [
        ("pandas", "plain.csv", "frames"),
        ("networkx", "graph.gml", "graphs"),
        ("pyarrow", "graph.parquet", "parquet"),
    ],
)
def test_missing_packages(tmp_path, monkeypatch, package, name, extra):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    message = refused(tmp_path / name, WITH_NAMES[name])
    assert f"needs {package}; install it with pip install 'odsymnmf[{extra}]'" in message


def test_wrong_options(read):
    with pytest.raises(ValueError, match=r"format must be one of edges, table, .*; got 'excel'"):
        read("a,b\n", format="excel")
    with pytest.raises(ValueError, match="symmetrize must be one of max, mean, sum; got 'min'"):
        read("a,b\n", symmetrize="min")
