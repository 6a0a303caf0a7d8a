"""What reading and writing agree on."""

import math
import struct
from typing import NamedTuple

import numpy as np

MAGIC = b"\x93odsym\r\n"
VERSION = 1
START = struct.Struct("<8sIQ32s")
DTYPES = {
    "bool",
    "float32",
    "float64",
    *(f"{u}int{8 * b}" for u in ("", "u") for b in (1, 2, 4, 8)),
}
INDEX_TYPES = tuple(np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64"))
# A matrix of zeros is a small file. It may grow to this many times the size of the file, and to so
# many bytes in any case; what would grow by more is written in full.
GROWTH = 100
GROWTH_ANYWAY = 2**26
# The columns of a sparse matrix take no room in a file: so many are believed of the smallest one.
SIDE_ANYWAY = 2**24
DIMENSIONS = 8


class StorageError(ValueError):
    """The file cannot be used: damaged, cut short, of another kind, or not one of ours."""


class Part(NamedTuple):
    """A flat array, as it lies in the file."""

    dtype: str
    length: int
    sha256: str

    @property
    def size(self) -> int:
        return self.length * np.dtype(self.dtype).itemsize


class Entry(NamedTuple):
    """What the description says of one array."""

    name: str
    form: str
    dtype: str
    shape: tuple[int, ...]
    parts: list[Part]

    @property
    def size(self) -> int:
        """Bytes of the array when all of it is there."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def check(entry: Entry, size: int) -> None:
    """Refuse a shape that parts of this size cannot bear out."""
    lengths = [part.length for part in entry.parts]
    dtypes = [part.dtype for part in entry.parts]
    largest = max(SIDE_ANYWAY, size)
    right = len(entry.shape) <= DIMENSIONS and max(entry.shape, default=0) <= largest
    if entry.form == "dense":
        right &= lengths == [math.prod(entry.shape)] and dtypes == [entry.dtype]
    elif entry.form in ("csr", "zeros"):
        right &= len(entry.shape) == 2 and len(lengths) == 3
        right = right and lengths == [lengths[0], lengths[0], entry.shape[0] + 1]
        right = (
            right and dtypes[0] == entry.dtype and {*dtypes[1:]} <= {t.name for t in INDEX_TYPES}
        )
    else:
        right = False
    if not right:
        raise ValueError(f"array {entry.name[:50]!r} cannot be of shape {str(entry.shape)[:60]}")


def grows_little(entries: list[Entry]) -> bool:
    """Tell whether matrices stored without their zeros take memory in proportion to the file."""
    grown = [entry for entry in entries if entry.form == "zeros"]
    stored = sum(part.size for entry in grown for part in entry.parts)
    return sum(entry.size for entry in grown) <= max(GROWTH_ANYWAY, GROWTH * stored)
