"""The one-file container: what goes in comes out, and nothing else is ever believed."""

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from soak.containers import LINES, attempt, same, sealed
from soak.lines import run

from odsymnmf import storage
from odsymnmf.storage import _layout
from odsymnmf.storage._layout import DTYPES, GROWTH_ANYWAY, MAGIC, START, VERSION

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
DENSE = st.sampled_from(sorted(DTYPES)).flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))


@st.composite
def csr(draw):
    rows, columns = draw(st.integers(0, 6)), draw(st.integers(1, 300))
    dtype = draw(st.sampled_from(["float32", "float64", "int64"]))
    entries = [
        draw(st.lists(st.integers(0, columns - 1), max_size=5)) for _ in range(rows)
    ]  # in any order, some of them twice
    indices = np.array([j for row in entries for j in row], dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in entries])]).astype(np.int32)
    data = draw(hnp.arrays(dtype, len(indices)))
    return sparse.csr_array((data, indices, indptr), shape=(rows, columns))


@given(
    header=st.dictionaries(st.text(), JSON, max_size=4),
    arrays=st.dictionaries(st.text(), DENSE | csr(), max_size=4),
)
def test_round_trips(tmp_path_factory, header, arrays):
    path = tmp_path_factory.mktemp("storage") / "file"
    storage.write(path, "model", header, arrays)
    found, others = storage.read(path, "model")
    assert found == header
    assert same(others, arrays)
    data = path.read_bytes()
    storage.write(path, "model", found, others)
    assert path.read_bytes() == data


def written(path, **arrays):
    storage.write(path, "model", {}, arrays)
    return path.stat().st_size


def test_special_values_keep_every_bit(tmp_path):
    values = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.0])
    many = np.zeros((40, 50))
    many[3, :7] = values
    path = tmp_path / "file"
    written(path, values=values, many=many, other=many.astype(np.float32))
    _, found = storage.read(path, "model")
    assert same(found, {"values": values, "many": many, "other": many.astype(np.float32)})
    header = {"upper": float("inf"), "loss": float("nan"), "n": np.int64(3), "x": np.float32(0.5)}
    storage.write(path, "model", header, {})
    found, _ = storage.read(path, "model")
    assert found["upper"] == np.inf
    assert np.isnan(found["loss"])
    assert (found["n"], found["x"]) == (3, 0.5)


def test_order_and_byte_order_do_not_matter(tmp_path):
    H = np.random.default_rng(0).random((5, 3))
    kept = set()
    for form in (H, np.asfortranarray(H), H.astype(">f8"), np.repeat(H, 2, axis=0)[::2]):
        written(tmp_path / "file", H=form)
        kept.add((tmp_path / "file").read_bytes())
        assert same(storage.read(tmp_path / "file", "model")[1], {"H": H})
    assert len(kept) == 1


def test_the_layout_is_as_documented(tmp_path):
    storage.write(tmp_path / "file", "model", {"r": 2}, {"H": np.array([1.5, 2.5])})
    digest = sha256(np.array([1.5, 2.5], dtype="<f8").tobytes()).hexdigest()
    text = (
        '{"kind":"model","header":{"r":2},"arrays":[{"name":"H","form":"dense","dtype":"float64",'
        f'"shape":[2],"parts":[{{"dtype":"float64","length":2,"sha256":"{digest}"}}]}}]}}'
    ).encode()
    start = b"\x93odsym\r\n\x01\0\0\0" + len(text).to_bytes(8, "little") + sha256(text).digest()
    data = start + text + bytes.fromhex("000000000000f83f0000000000000440")
    assert (tmp_path / "file").read_bytes() == data


def test_zeros_take_no_room(tmp_path):
    rng = np.random.default_rng(0)
    full = rng.random((2000, 20))
    one_each = np.zeros((2000, 20))
    one_each[np.arange(2000), rng.integers(0, 20, 2000)] = rng.random(2000)
    assert written(tmp_path / "file", H=full) < full.nbytes + 500
    # a number, the byte of its column, two bytes of its row's place
    assert written(tmp_path / "file", H=one_each) < 2000 * 11 + 1000
    assert same(storage.read(tmp_path / "file", "model")[1], {"H": one_each})


def test_what_would_grow_too_much_is_written_in_full(tmp_path, monkeypatch):
    monkeypatch.setattr(_layout, "GROWTH_ANYWAY", 2**16)
    zeros = np.zeros((1, 2**12))
    assert written(tmp_path / "file", a=zeros) < 1000
    assert written(tmp_path / "file", a=zeros, b=zeros) < 2000
    assert written(tmp_path / "file", a=zeros, b=zeros, c=zeros) > 2**15
    assert same(storage.read(tmp_path / "file", "model")[1], dict.fromkeys("abc", zeros))


@pytest.mark.parametrize(
    "value", [np.array(["a"]), np.array([None]), np.array([1j]), np.zeros(2, dtype="f2"), {}]
)
def test_what_cannot_be_stored_is_named(tmp_path, value):
    with pytest.raises(TypeError, match=r"array 'H' is of dtype .* can be stored"):
        written(tmp_path / "file", H=value)
    with pytest.raises(TypeError, match=r"the header holds .* JSON cannot hold it"):
        storage.write(tmp_path / "file", "model", {"a": {1, 2}}, {})
    with pytest.raises(ValueError, match="array 'H' cannot be of shape"):
        written(tmp_path / "file", H=np.zeros((1,) * 9))
    assert list(tmp_path.iterdir()) == []


# --- reading what is not sound -----------------------------------------------------------------


def test_mutants():
    outcome = run(LINES["containers"], seed=0, rounds=500)
    assert outcome.failures == []
    assert outcome.words["refused"] > 300
    assert outcome.words["sealed anew and sound"] > 0


def refused(path, data, kind="model"):
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(storage.StorageError) as error:
        storage.read(path, kind)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000 + 40 * len(data)
    assert attempt(path, kind) is None
    return str(error.value)


def test_every_truncation_and_every_flipped_byte(tmp_path):
    path = tmp_path / "file"
    written(path, H=np.eye(3), A=sparse.eye_array(3, format="csr"))
    data = path.read_bytes()
    for length in range(len(data)):
        refused(path, data[:length])
    for at in range(len(data)):
        refused(path, data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
    assert "length" in refused(path, data + b"\0")


def test_foreign_files(tmp_path):
    path = tmp_path / "file"
    for data in (b"", b"a,b\n1,2\n", b"\x93NUMPY\x01\x00" + bytes(100), b"PK\x03\x04" + bytes(99)):
        assert "was not written by odsymnmf" in refused(path, data)
    written(path, H=np.eye(2))
    assert "holds a 'model', not a 'checkpoint'" in refused(path, path.read_bytes(), "checkpoint")
    text = b'{"kind":"model","header":{},"arrays":[]}'
    newer = START.pack(MAGIC, VERSION + 1, len(text), sha256(text).digest()) + text
    assert "has layout 2" in refused(path, newer)
    assert "newer" in refused(path, newer)


def description(kind="model", header="{}", arrays="[]"):
    return f'{{"kind":"{kind}","header":{header},"arrays":{arrays}}}'.encode()


def array(shape, form="dense", dtype="float64", parts=(("float64", 1),), data=b"", name="H"):
    parts = ",".join(
        f'{{"dtype":"{dtype}","length":{length},"sha256":"{sha256(data).hexdigest()}"}}'
        for dtype, length in parts
    )
    return (
        f'{{"name":"{name}","form":"{form}","dtype":"{dtype}","shape":{shape},"parts":[{parts}]}}'
    )


def three(length, rows, index="uint8"):
    return (("float64", length), (index, length), (index, rows + 1))


HUGE = 10**12
HOSTILE = {
    "no JSON": b"{",
    "no UTF-8": b'"\xff"',
    "UTF-16": description().decode().encode("utf-16"),
    "a list": b"[]",
    "a number": b"7",
    "nested too deeply": description(header="[" * 100_000),
    "nested arrays": description(arrays="[" * 50_000 + "]" * 50_000),
    "a header that is no object": description(header="[]"),
    "a kind that is no text": b'{"kind":1,"header":{},"arrays":[]}',
    "a number of 5,000 digits": description(header='{"a":' + "9" * 5000 + "}"),
    "arrays that are none": description(arrays="[1,2]"),
    "a huge shape": description(arrays=f"[{array([HUGE, HUGE])}]"),
    "a huge length": description(arrays=f"[{array([HUGE], parts=[('float64', HUGE)])}]"),
    "a huge number": description(arrays=f"[{array('[' + '9' * 4000 + ']')}]"),
    "a negative shape": description(arrays=f"[{array([-1, -1])}]"),
    "a negative length": description(arrays=f"[{array([-1], parts=[('float64', -1)])}]"),
    "a fraction": description(arrays=f"[{array([1.0])}]"),
    "true": description(arrays=f"[{array('[true]')}]"),
    "objects": description(arrays=f"[{array([0], dtype='object', parts=[('object', 0)])}]"),
    "texts": description(arrays=f"[{array([0], dtype='<U0', parts=[('<U0', 0)])}]"),
    "a dtype with fields": description(arrays=f"[{array([0], dtype='f8,f8')}]"),
    "another form": description(arrays=f"[{array([0], form='pickle', parts=[('float64', 0)])}]"),
    "too many dimensions": description(arrays=f"[{array([0] * 40, parts=[('float64', 0)])}]"),
    "an empty side that is huge": description(
        arrays=f"[{array([0, HUGE], parts=[('float64', 0)])}]"
    ),
    "no parts": description(arrays=f"[{array([0], parts=())}]"),
    "the same name twice": description(
        arrays="[" + ",".join([array([0], parts=[("float64", 0)])] * 2) + "]"
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_descriptions(tmp_path, name):
    message = refused(tmp_path / "file", sealed(HOSTILE[name]))
    assert "is damaged" in message


def sparse_file(form, shape, parts):
    arrays = [np.asarray(part) for part in parts]
    described = ",".join(
        f'{{"dtype":"{p.dtype.name}","length":{p.size},"sha256":"{sha256(p.tobytes()).hexdigest()}"}}'
        for p in arrays
    )
    entry = f'{{"name":"A","form":"{form}","dtype":"float64","shape":{list(shape)},'
    entry += f'"parts":[{described}]}}'
    return sealed(description(arrays=f"[{entry}]"), b"".join(p.tobytes() for p in arrays))


U1 = np.uint8


@pytest.mark.parametrize("form", ["csr", "zeros"])
@pytest.mark.parametrize(
    ("shape", "indices", "indptr"),
    [
        ((2, 3), [0, 3], [0, 1, 2]),  # a column too far
        ((2, 3), [0, 255], [0, 1, 2]),
        ((2, 3), [0, 1], [0, 2, 1]),  # backwards
        ((2, 3), [0, 1], [0, 200, 2]),
        ((2, 3), [0, 1], [0, 1, 3]),  # beyond the end
        ((2, 3), [0, 1], [1, 1, 2]),  # not from the beginning
        ((2, 3), [0, 1], [0, 1, 1]),  # not to the end
        ((2, 0), [0, 0], [0, 1, 2]),  # no columns at all
        ((3, 3), [0, 1], [0, 1, 2]),  # rows missing
        ((2, HUGE), [0, 1], [0, 1, 2]),
        ((2, 3, 1), [0, 1], [0, 1, 2]),
    ],
)
def test_hostile_indices(tmp_path, form, shape, indices, indptr):
    parts = [np.array([1.0, 2.0]), np.array(indices, dtype=U1), np.array(indptr, dtype=U1)]
    refused(tmp_path / "file", sparse_file(form, shape, parts))


def test_indices_must_be_unsigned(tmp_path):
    for dtype in ("int8", "float64", "bool"):
        parts = [np.ones(1), np.zeros(1, dtype=dtype), np.array([0, 1], dtype=U1)]
        refused(tmp_path / "file", sparse_file("csr", (1, 1), parts))


def test_zeros_do_not_grow_beyond_measure(tmp_path):
    n = 2 * GROWTH_ANYWAY // 8
    parts = [np.zeros(0), np.zeros(0, dtype=U1), np.zeros(2, dtype=U1)]
    assert "beyond measure" in refused(tmp_path / "file", sparse_file("zeros", (1, n), parts))
    within = sparse_file("zeros", (1, n // 2), parts)
    (tmp_path / "file").write_bytes(within)
    assert storage.read(tmp_path / "file", "model")[1]["A"].shape == (1, n // 2)


def test_neither_true_nor_false(tmp_path):
    entry = array([2], dtype="bool", parts=[("bool", 2)], data=b"\1\2")
    message = refused(tmp_path / "file", sealed(description(arrays=f"[{entry}]"), b"\1\2"))
    assert "neither true nor false" in message


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "pipe", tmp_path / "link")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "link", "/dev/zero"):
        with pytest.raises(storage.StorageError, match="folder, a pipe or a device; give a file"):
            storage.read(path, "model")
    with pytest.raises(FileNotFoundError):
        storage.read(tmp_path / "nothing", "model")


# --- writing ---------------------------------------------------------------------------------


def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "old").write_text("old")
    os.symlink(tmp_path / "old", tmp_path / "link")
    os.symlink(tmp_path / "nothing", tmp_path / "dangling")
    before = sorted(path.name for path in tmp_path.iterdir())
    for name in ("pipe", "folder", "link", "dangling"):
        with pytest.raises(OSError, match=f"cannot write .*{name}: it is .* not replaced; choose"):
            written(tmp_path / name, H=np.eye(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "old").read_text() == "old"
    (tmp_path / "old").chmod(0o600)
    written(tmp_path / "old", H=np.eye(2))
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o600


def test_nowhere_to_write(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot write .*No such file.*; choose"):
        written(tmp_path / "no" / "file", H=np.eye(2))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot write"):
        written(tmp_path / "file" / "below", H=np.eye(2))


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error, where):
    written(tmp_path / "file", H=np.eye(2))
    before = (tmp_path / "file").read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(os, where, fail)
    with pytest.raises(type(error)):
        written(tmp_path / "file", H=np.eye(3))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == before


WRITER = """
import sys
import numpy as np
from odsymnmf import storage

for k in range(10**6):
    if k == 1:
        print("ready", flush=True)
    storage.write(sys.argv[1], "model", {"k": k}, {"H": np.full((300, 1000), float(k))})
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_killed_at_any_moment(tmp_path):
    path = tmp_path / "model.odsym"
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(0.02 + 0.1 * rng.random())
        writer.kill()
        writer.communicate()
        if path.exists():
            header, arrays = storage.read(path, "model")
            assert (arrays["H"] == header["k"]).all()
            seen.add(header["k"])
        # What the last one left is removed by the next: never more than one.
        assert len(list(tmp_path.iterdir())) <= 2
    assert len(seen) > 1
    written(path, H=np.eye(2))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_being_written_is_no_leftover(tmp_path):
    from odsymnmf.atomic import replaced

    with replaced(tmp_path / "file") as one:
        one.write(b"one")
        with replaced(tmp_path / "file") as other:
            other.write(b"other")
        assert (tmp_path / "file").read_bytes() == b"other"
    assert (tmp_path / "file").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
