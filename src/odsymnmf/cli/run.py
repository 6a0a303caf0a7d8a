"""What a run folder holds, written and read."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from odsymnmf.report import MatrixPicture

DAMAGE = (BadZipFile, EOFError, LookupError, OSError, TypeError, ValueError, csv.Error)
# Names that could be taken for a comment, lose blanks or break a line: these are quoted even where
# the csv module sees no need.
UNCLEAR = re.compile(r"^[#%\s]|\s$|[\r\n;\t]")
# With more entries than this, H is written as an array and not as a table.
LARGE = 2_000_000


def write_run(
    folder: Path,
    names: Sequence[str],
    H: "NDArray[Any]",
    picture: "MatrixPicture",
    record: dict[str, Any],
    page: str,
) -> None:
    """Write all files of a run into an empty folder."""
    import numpy as np

    from odsymnmf.memberships import labels, strength

    found, shares = labels(H), strength(H)
    own = shares[np.arange(len(H)), found] * (found >= 0)
    rows = zip(names, found.tolist(), own.round(6).tolist(), strict=True)
    write_table(folder / "labels.csv", ["name", "cluster", "strength"], rows)
    if H.size > LARGE:
        np.savez_compressed(folder / "membership.npz", H=H)
    else:
        header = ["name", *(f"cluster_{l}" for l in range(H.shape[1]))]
        # A zero takes one character, and most entries are zero.
        table = ([name, *(x or 0 for x in h.tolist())] for name, h in zip(names, H, strict=True))
        write_table(folder / "membership.csv", header, table)
    np.savez_compressed(
        folder / "matrix.npz", values=picture.values, edges=picture.edges, n=picture.n
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (folder / "run.json").write_text(text + "\n", encoding="utf-8")


def write_table(path: Path, header: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """Write a table whose first column holds names, any of which can be read back."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        plain = csv.writer(file, lineterminator="\n")
        quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        plain.writerow(header)
        for row in rows:
            (quoted if UNCLEAR.search(row[0]) else plain).writerow(row)


def read_record(folder: Path) -> dict[str, Any]:
    """Return run.json."""
    from odsymnmf.io.write import is_run

    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; give one that odsymnmf cluster has written")
    if not is_run(folder):
        raise ValueError(
            f"{folder} is not a run of odsymnmf (no run.json of ours); "
            "give a folder that odsymnmf cluster has written"
        )
    record: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return record


def read_history(folder: Path) -> tuple[list[float], list[int]]:
    """Return the objective after every step, and which of the steps were restarts."""
    record = read_record(folder)
    with _complete(folder, "run.json"):
        fit = record["fit"]
        history, restarts = [float(x) for x in fit["history"]], [int(k) for k in fit["restarts"]]
        if restarts and not 0 < min(restarts) <= max(restarts) < len(history):
            raise ValueError(f"restarts {restarts}")
        return history, restarts


def read_membership(folder: Path) -> tuple[list[str], "NDArray[Any]"]:
    """Return the names and H."""
    import numpy as np

    record = read_record(folder)
    names = [row[0] for row in _rows(folder, "labels.csv")]
    if (folder / "membership.npz").exists():
        H = _array(folder, "membership.npz", "H")
    else:
        with _complete(folder, "membership.csv"):
            H = np.array([row[1:] for row in _rows(folder, "membership.csv")], dtype=float)
    with _complete(folder, "labels.csv or membership"):
        if H.shape != (len(names), record["parameters"]["n_clusters"]) or not np.isfinite(H).all():
            raise ValueError(f"shape {H.shape}")
    return names, H


def read_picture(folder: Path) -> "MatrixPicture":
    """Return the small picture of the matrix."""
    from odsymnmf.report import MatrixPicture

    read_record(folder)
    values, edges, n = (_array(folder, "matrix.npz", key) for key in ("values", "edges", "n"))
    with _complete(folder, "matrix.npz"):
        if values.shape != (len(values),) * 2 or edges.ndim != 1:
            raise ValueError(f"shapes {values.shape} and {edges.shape}")
        return MatrixPicture(values, edges, int(n))


def _array(folder: Path, name: str, key: str) -> "NDArray[Any]":
    import numpy as np

    with _complete(folder, name), open(folder / name, "rb") as file, np.load(file) as arrays:
        return np.asarray(arrays[key])


def _rows(folder: Path, name: str) -> list[list[str]]:
    with _complete(folder, name), open(folder / name, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


@contextmanager
def _complete(folder: Path, name: str) -> Iterator[None]:
    """Say in one way that a file of a run is missing or damaged."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(
            f"the run in {folder} is damaged: {name} is missing or not as it was written; "
            "run odsymnmf cluster again"
        ) from error
