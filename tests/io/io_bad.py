"""Sound files to damage, and what to expect of the damaged ones."""

import gzip
import io as streams
import re
import zipfile

import numpy as np
import pytest
from io_files import WITH_NAMES, WITHOUT_NAMES, A, saved
from io_fuzz import limits
from scipy import sparse

from odsymnmf import io

MTX = b"%%MatrixMarket matrix coordinate real general\n"
ARRAY = b"%%MatrixMarket matrix array real general\n"
# A file that each reader takes for its own.
SOUND = {
    "a.edges": WITH_NAMES["plain.csv"],
    "a.csv": WITH_NAMES["table.csv"],
    "a.mtx": WITHOUT_NAMES["general.mtx"],
    "a.npy": WITHOUT_NAMES["array.npy"],
    "a.npz": WITHOUT_NAMES["csr.npz"],
    "a.graphml": WITH_NAMES["graph.graphml"],
    "a.gml": WITH_NAMES["graph.gml"],
    "a.gexf": WITH_NAMES["graph.gexf"],
    "a.net": WITH_NAMES["graph.net"],
    "a.adjlist": b"a b c\nb d\nd e\n",
    "a.parquet": WITH_NAMES["graph.parquet"],
    "a.mat": WITHOUT_NAMES["sparse.mat"],
}
BLANKS = gzip.compress(b" " * 2**24, mtime=0)
TEXTS = [name for name in SOUND if name not in ("a.npy", "a.npz", "a.parquet")]
PARQUET = SOUND["a.parquet"]


def refused(path, data=None, **options):
    """Return the message, without the path that it must begin with."""
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(io.InputError) as caught, limits():
        io.read(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message.splitlines()) == 1
    # A remedy follows the problem.
    assert re.search(r"[;?] ?", message), message
    return message.removeprefix(str(path))


def npy_with(**header):
    text = repr({"descr": "<f8", "fortran_order": False} | header).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


def npz_with(**arrays):
    sound = sparse.csr_array(A)
    parts = {"format": b"csr", "shape": sound.shape, "_is_array": True}
    parts |= {"data": sound.data, "indices": sound.indices, "indptr": sound.indptr}
    return saved(lambda f: np.savez(f, **(parts | arrays)))


def zip_of(**members):
    stream = streams.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return stream.getvalue()
