"""Damage valid files and read them: ``python tests/io/io_fuzz.py [--rounds N] [--seed S]``.

Only `Items` that keep their promises or an `InputError` of one line may come out, soon and without
much memory. Mutant k of a format and seed is always the same file.
"""

import argparse
import gzip
import re
import resource
import signal
import sys
import tempfile
import warnings
import zipfile
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from io_files import ADJACENCY, WITH_NAMES, WITHOUT_NAMES, format_of
from scipy import sparse

from odsymnmf import io

# Of work, so that a busy machine is no hang; and of waiting, for what does not work either.
SECONDS, LATEST = 5, 300
MEMORY = 2**29
STATUS = Path("/proc/self/status")
FILES = [*WITH_NAMES.items(), *WITHOUT_NAMES.items(), *ADJACENCY.items()]
# Unpacked, so that the damage is to what they hold; they are packed again now and then.
SEEDS = {
    format: [
        (name.removesuffix(".gz"), gzip.decompress(data) if name.endswith(".gz") else data)
        for name, data in FILES
        if format_of(name) == format
    ]
    for format in io.FORMATS
}
NUMBERS = [*b"-1 0 0.1 007 1e-320 1e999 nan -inf abc 99999999".split(), b"9" * 30]
PIECES = [bytes([byte]) for byte in b"\"'\r\n\0\xe9#%,;\t ]"]
PIECES += [b"\xff\xfe", b"\n\n", b"[" * 3000, b"graph [", b"<a>" * 300, b"&b;"]
PIECES += [b"{", b"}", b"{'weight': 1}", b"*Arcs\n", b"*Vertices 3\n"]
PIECES += [b"<!DOCTYPE a [<!ENTITY b 'c'>]>"]


class Hang(BaseException):
    """Not an Exception, so that no reader can catch it."""


@contextmanager
def limits():
    """Bound memory, where Linux tells how much is used, and let an alarm stop what hangs."""

    def ring(*_):
        raise Hang(f"more than {SECONDS} s")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    if STATUS.exists():
        used = int(re.search(r"VmSize:\s+(\d+)", STATUS.read_text())[1]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        yield
    finally:
        set_alarms(0, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def set_alarms(seconds=SECONDS, latest=LATEST):
    """Let what follows take so long, within `limits`; 0 for any time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, latest)


def mutant(format, seed, k):
    """Return the name and bytes of a damaged file, and how to read it."""
    rng = np.random.default_rng([seed, io.FORMATS.index(format), k])
    name, data = SEEDS[format][rng.integers(len(SEEDS[format]))]
    if format == "npz" and rng.random() < 0.8:
        # Inside, with a sound checksum: damage to the archive itself is noticed at once.
        members = dict(unzipped(data))
        inside = list(members)[rng.integers(len(members))]
        members[inside] = damaged(rng, members[inside], format)
        data = zipped(members)
    else:
        data = damaged(rng, data, format)
    if rng.random() < 0.1:
        data = MUTATIONS[rng.integers(len(MUTATIONS))](rng, gzip.compress(data, mtime=0), format)
    options = {
        "format": format if rng.random() < 0.5 else None,
        "features": bool(rng.random() < 0.3),
        "symmetrize": [None, "max", "mean", "sum"][rng.integers(4)],
    }
    return name, data, options


def damaged(rng, data, format):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        data = MUTATIONS[rng.integers(len(MUTATIONS))](rng, data, format)
    return data


@cache
def unzipped(data):
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return stream.getvalue()


def place(rng, data):
    return int(rng.integers(len(data) + 1))


def flip(rng, data, format):
    if not data:
        return data
    at = int(rng.integers(len(data)))
    return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]


def truncate(rng, data, format):
    return data[: place(rng, data)]


def cut(rng, data, format):
    start = place(rng, data)
    return data[:start] + data[start + int(rng.integers(1, 20)) :]


def insert(rng, data, format):
    at = place(rng, data)
    return data[:at] + PIECES[rng.integers(len(PIECES))] + data[at:]


def repeat(rng, data, format):
    start, at = place(rng, data), place(rng, data)
    return data[:at] + data[start : start + int(rng.integers(1, 100))] + data[at:]


def lines(rng, data, format):
    rows = data.split(b"\n")
    one, other = (int(k) for k in rng.integers(len(rows), size=2))
    kind = rng.integers(3)
    if kind == 0:
        del rows[one]
    elif kind == 1:
        rows.insert(other, rows[one])
    else:
        rows[one], rows[other] = rows[other], rows[one]
    return b"\n".join(rows)


def renumber(rng, data, format):
    found = list(re.finditer(rb"-?\d+\.?\d*", data))
    if not found:
        return data
    match = found[rng.integers(len(found))]
    return data[: match.start()] + NUMBERS[rng.integers(len(NUMBERS))] + data[match.end() :]


def splice(rng, data, format):
    other = SEEDS[format][rng.integers(len(SEEDS[format]))][1]
    return data[: place(rng, data)] + other[place(rng, other) :]


MUTATIONS = [flip, flip, truncate, cut, insert, repeat, lines, lines, renumber, renumber, splice]


def check(path, options):
    """Read a file; what comes out must be sound."""
    try:
        items = io.read(path, **options)
    except io.InputError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert message.isprintable(), message
        assert len(message) < len(str(path)) + 400, message
        return "refused"
    n, m = items.matrix.shape
    assert len(items.names) == n > 0
    assert items.format in io.FORMATS
    values = items.matrix.data if sparse.issparse(items.matrix) else items.matrix
    assert not np.isinf(values).any()
    assert not (options["features"] and np.isnan(values).any())
    assert items.features is None or len(items.features) == m
    assert items.truth is None or len(items.truth) == n
    if not options["features"]:
        assert n == m
        assert not items.matrix.diagonal().any()
        # Sparse, as a small file may promise many items; what is unknown is equal to itself.
        A = sparse.csr_array(items.matrix, dtype=np.float64, copy=True)
        A.data[np.isnan(A.data)] = -1e300
        assert (A != A.T).nnz == 0
    return "read"


def fuzz(format, rounds, seed, folder):
    """Read mutants; return how many were read, and how many refused."""
    counts = {"read": 0, "refused": 0}
    with limits(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(rounds):
            name, data, options = mutant(format, seed, k)
            path = folder / name
            path.write_bytes(data)
            set_alarms()
            try:
                counts[check(path, options)] += 1
            except BaseException as error:
                kept = Path(tempfile.mkdtemp()) / name
                kept.write_bytes(data)
                how = f"mutant({format!r}, {seed}, {k}), kept as {kept}, read with {options}"
                raise AssertionError(f"{type(error).__name__}: {error}\n{how}") from error
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100_000, help="mutants of each format")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one every time")
    parser.add_argument("--format", choices=io.FORMATS, help="default: all")
    options = parser.parse_args()
    seed = (
        options.seed if options.seed is not None else int(np.random.SeedSequence().entropy % 10**9)
    )
    print(f"seed {seed}", flush=True)
    for format in [options.format] if options.format else io.FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            counts = fuzz(format, options.rounds, seed, Path(folder))
        print(f"{format}: {counts['read']} read, {counts['refused']} refused", flush=True)


if __name__ == "__main__":
    sys.exit(main())
