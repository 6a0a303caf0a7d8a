"""From a path to bytes: regular files only, unpacked within bounds, text in UTF-8 only."""

import gzip
import io
import os
import stat
import zlib
from pathlib import Path

from odsymnmf.io._items import Remedy, bad, reason

# A packed file may grow to this many times its size, and to this many bytes in any case. Edge lists
# and tables of numbers shrink by a factor of 3 to 20; what grows by more is a trap, or a matrix of
# zeros that had better be stored as a sparse one.
UNPACK_RATIO = 100
UNPACK_ANYWAY = 2**26
# A sparse matrix may have empty rows; so many of them are believed whatever the size of the file.
ITEMS_ANYWAY = 10**6
FOLDER = Remedy("give a file (read_texts reads a folder of texts)", "give a file, or use --text")
OTHER_FORMAT = Remedy(
    "if it is of another format, name that (format=)",
    "if it is of another format, name that (--format)",
)


def load(path: Path, *, may_be_empty: bool = False, folder: str | Remedy = FOLDER) -> bytes:
    """Return what the file holds, unpacked if it is gzip; ``folder`` is the remedy for a folder."""
    try:
        # Looked at before it is opened: to open a pipe would wait for a writer, perhaps for ever.
        mode = os.stat(path).st_mode
        data = path.read_bytes() if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        raise bad(path, "no such file; check the spelling and the folder") from None
    except PermissionError:
        raise bad(path, "may not be read; ask its owner for permission (chmod +r)") from None
    except ValueError as error:  # a path with a zero byte in it
        raise bad(path, f"is not a valid path: {error}; check the spelling") from None
    except OSError as error:
        raise bad(path, f"cannot be read: {error.strerror}; copy it and try again") from None
    if stat.S_ISDIR(mode):
        raise bad(path, "is a folder", folder)
    if not stat.S_ISREG(mode):
        raise bad(path, "is a pipe or a device; save what it holds to a file and give that")
    if data.startswith(b"\x1f\x8b"):
        data = _unpack(path, data)
    if not may_be_empty and (not data or data.isspace()):
        raise bad(path, "is empty; give a file with items in it")
    return data


def unpacked_limit(packed: int) -> int:
    """Return how many bytes a packed file may unpack to."""
    return max(UNPACK_ANYWAY, UNPACK_RATIO * packed)


def _unpack(path: Path, packed: bytes) -> bytes:
    limit = unpacked_limit(len(packed))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            data = stream.read(limit + 1)
    except EOFError:
        raise bad(path, "the gzip file ends too early; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise bad(path, f"is not a valid gzip file ({reason(error)}); copy it again") from None
    if len(data) > limit:
        raise bad(
            path,
            f"decompresses to more than {UNPACK_RATIO} times its size, as a gzip bomb does; "
            "if you trust it, decompress it with gunzip first",
        )
    return data


def refuse_promise(path: Path, rows: int, columns: int, size: int) -> None:
    """Refuse a header that promises more items than a file of this size can mean."""
    if max(rows, columns) > max(ITEMS_ANYWAY, size):
        raise bad(
            path,
            f"announces {rows} x {columns} entries in a file of {size} bytes; "
            "is the header right, and the file complete?",
        )


def as_utf8(path: Path, data: bytes, remedy: str | Remedy = OTHER_FORMAT) -> bytes:
    """Return the text without byte order mark and with plain line ends, or say what it is."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise bad(path, "is text in UTF-16; save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        raise bad(path, "is not text", remedy)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = 1 + data.count(b"\n", 0, error.start)
            byte = f"byte {error.start + 1} (0x{data[error.start]:02x})"
            remedy = "save the file as UTF-8 (it may be Latin-1: iconv -f latin1 -t utf8)"
            raise bad(path, f"{byte} is not UTF-8", remedy, line=line) from None
    return data
