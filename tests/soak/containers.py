"""Damaged model files: always a clear error, or what was written; never anything else."""

import tempfile
from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy import sparse

from odsymnmf import storage
from odsymnmf.storage._layout import MAGIC, START, VERSION

from .lines import Line

PIECES = [b"", b"0", b"8", b"9" * 20, b"-1", b"1e9", b"null", b"[" * 2000, b'"', b"}", b"\xff"]
PIECES += [b"float32", b"object", b"zeros", b"csr", b"dense", b"uint64", bytes(8)]


def sample(rng):
    """Return a header and arrays of every form, at random."""
    n, r = (int(v) for v in rng.integers(0, 12, 2))
    H = rng.random((n, r)) * (rng.random((n, r)) < rng.random())
    arrays = {
        "H": H.astype(rng.choice([np.float32, np.float64])),
        "A": sparse.csr_array(rng.random((n, n)) * (rng.random((n, n)) < 0.3)),
        "labels": rng.integers(-1, 9, n),
        "mask": rng.random(n) < 0.5,
        "value": np.array(rng.random()),
    }
    header = {"names": [f"item {i}" for i in range(n)], "loss": "l1", "tol": 1e-4, "upper": None}
    chosen = [name for name in arrays if rng.random() < 0.8]
    return header, {name: arrays[name] for name in chosen}


def same(one, other):
    """Tell whether two sets of arrays agree in every bit, dtype and kind."""
    if list(one) != list(other):
        return False
    for a, b in zip(one.values(), other.values(), strict=True):
        if sparse.issparse(a) != sparse.issparse(b) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        pairs = [(a, b)]
        if sparse.issparse(a):
            pairs = [(a.data, b.data), (a.indices, b.indices), (a.indptr, b.indptr)]
        if any(np.asarray(x).tobytes() != np.asarray(y).tobytes() for x, y in pairs):
            return False
    return True


def sealed(text, parts=b""):
    """Return a file whose description is as given, with the checksum that belongs to it."""
    return START.pack(MAGIC, VERSION, len(text), sha256(text).digest()) + text + parts


def mutated(rng, data):
    """Return the bytes, damaged; half of the time inside a description with a right checksum."""
    length = START.unpack(data[: START.size])[2]
    text, parts = data[START.size : START.size + length], data[START.size + length :]
    if rng.random() < 0.5:
        return _damaged(rng, data)
    if rng.random() < 0.2:
        parts = _damaged(rng, parts)
    return sealed(_damaged(rng, text), parts)


def _damaged(rng, data):
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = int(rng.integers(len(data) + 1))
        end = at + int(rng.integers(0, 9))
        kind = rng.integers(4)
        if kind == 0 and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            data = data[:at] + data[end:]
        else:
            data = data[:at] + PIECES[rng.integers(len(PIECES))] + data[end:]
    return data


def attempt(path, kind="model"):
    """Read a file: return what it holds, or None if it was refused as it should be."""
    try:
        return storage.read(path, kind)
    except storage.StorageError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert message.isprintable(), message
        assert len(message) < len(str(path)) + 300, message
        return None


def once(seed, k):
    """Write, damage, read. Behind right checksums, damage can be another sound description."""
    rng = np.random.default_rng([seed, k])
    header, arrays = sample(rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.odsym")
        storage.write(path, "model", header, arrays)
        data = path.read_bytes()
        damaged = mutated(rng, data)
        path.write_bytes(damaged)
        found = attempt(path)
        if found is None:
            assert damaged != data
            return "refused"
    if damaged == data:
        assert found[0] == header
        assert same(found[1], arrays)
        return "unharmed"
    # Every byte is under a checksum: only one who seals a file anew can have it read.
    length = START.unpack(damaged[: START.size])[2]
    text = damaged[START.size : START.size + length]
    assert damaged[: START.size] == sealed(text)[: START.size]
    assert text != data[START.size : START.size + length]
    return "sealed anew and sound"


LINES = {"containers": Line("damaged model files: refused or sound", 10_000, once)}
