r"""One file for named arrays and a header: complete or not there, and never believed unchecked.

Nothing is pickled: reading cannot run code. In the file follow one another, numbers
little-endian::

    8 bytes      magic, b"\x93odsym\r\n"
    uint32       version of this layout
    uint64       length of the description
    32 bytes     SHA-256 of the description
    description  JSON: the kind of file, the caller's header, and for each array its name, form,
                 dtype, shape, and the dtype, length and SHA-256 of its parts
    parts        back to back, to the end of the file

The form of an array is "dense" (one part), "csr" (data, indices, indptr) or "zeros" (the same
three, of a dense matrix that is smaller this way). Indices are kept in the smallest type that
holds them. Nothing is compressed: memberships are numbers full of digits, which do not shrink, and
a packed file would have other bytes with another zlib.
"""

from odsymnmf.storage._layout import StorageError
from odsymnmf.storage._read import read
from odsymnmf.storage._write import write

__all__ = ["StorageError", "read", "write"]
