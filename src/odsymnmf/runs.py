r"""The directory of a run.

| file | content |
|---|---|
| `labels.csv` | name, cluster and strength of every item |
| `membership.csv` | H as a table; `membership.npz` if it is large or sparse |
| `clusters.txt` | with sparse memberships, the items of every cluster, one cluster per line |
| `topics.csv` | for texts, the top words of every cluster and their weights |
| `matrix.npz` | the picture of the sorted similarities, unless there are too many clusters |
| `model.npz` | the fitted model, for `odsymnmf.load` and `odsymnmf predict` |
| `report.html` | the report |
| `run.json` | the input, all parameters and the history of the fit |
"""

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.membership_view import as_view
from odsymnmf.persistence import atomic_directory, read_npz, valid
from odsymnmf.plots import MAX_CLUSTERS, MatrixPicture
from odsymnmf.utils import Array

RUN = "run.json"
# A directory with other files is not replaced; file managers create the last three.
RUN_FILES = {
    RUN,
    "labels.csv",
    "membership.csv",
    "membership.npz",
    "clusters.txt",
    "matrix.npz",
    "model.npz",
    "topics.csv",
    "report.html",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
}
# Names that are quoted, because a parser could strip or split them or skip them as comments.
NEEDS_QUOTES = re.compile(r"^[#%\s]|\s$|[\r\n;\t]")
# H with more entries is written as an array instead of a table.
MAX_TABLE_ENTRIES = 2_000_000
# Lone surrogates are not valid UTF-8; they are written as \ud800.
TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}


def is_run(directory: str | Path) -> bool:
    """Return whether a directory has a run.json of odsymnmf."""
    try:
        record = json.loads(Path(directory, RUN).read_text(encoding="utf-8"))
        return "odsymnmf" in record["versions"]
    except (OSError, LookupError, TypeError, ValueError):
        return False


def check_directory(directory: str | Path, *, force: bool = False) -> Path:
    """Return the path of a new run with links resolved; OSError if `new_run` would fail."""
    target = Path(os.path.realpath(directory))
    parent = next(path for path in target.parents if path.exists())
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot write {target}: no permission to write to {parent}")
    if not target.exists():
        return target
    if not target.is_dir():
        raise FileExistsError(f"{target} is not a directory; choose another name")
    files = set(os.listdir(target))
    if files and not is_run(target):
        raise FileExistsError(
            f"{target} exists and is not a run of odsymnmf (it has no valid {RUN}), so it is not "
            "replaced; choose another name"
        )
    if files and not force:
        raise FileExistsError(
            f"{target} already contains a run; choose another name, or use --force to replace it"
        )
    if files - RUN_FILES:
        raise FileExistsError(
            f"{target} contains {min(files - RUN_FILES)!r}, which is not part of a run and would "
            "be lost; move it, or choose another name"
        )
    return target


@contextmanager
def new_run(directory: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Create a temporary directory that becomes ``directory`` if the block succeeds.

    ``force`` replaces an existing run, once the new one is complete.
    """
    target = check_directory(directory, force=force)
    with atomic_directory(target) as new:
        yield new
        check_directory(directory, force=force)  # again: it may have been created since


def write_result(
    directory: Path,
    names: Sequence[str],
    H: Any,
    record: dict[str, Any],
    sets: Sequence[Sequence[int]] | None = None,
    labels: Array | None = None,
) -> None:
    """Write labels.csv, the memberships, clusters.txt if sets are given, and run.json."""
    view = as_view(H, labels=labels)
    rows = zip(names, view.labels.tolist(), view.label_strength.round(6).tolist(), strict=True)
    write_table(directory / "labels.csv", ["name", "cluster", "strength"], rows)
    write_membership(directory, names, H)
    if sets is not None:
        clusters = ([names[i] for i in items] for items in sets)
        write_table(directory / "clusters.txt", [], clusters, delimiter="\t")
    with open(directory / RUN, "w", **TEXT) as file:
        json.dump(record, file, indent=1, ensure_ascii=False)
        file.write("\n")


def write_membership(directory: Path, names: Sequence[str], H: Any) -> None:
    """Write H as membership.csv; as membership.npz if it is sparse or large."""
    if sparse.issparse(H):
        sparse.save_npz(directory / "membership.npz", H)
    elif H.size > MAX_TABLE_ENTRIES:
        np.savez_compressed(directory / "membership.npz", H=H)
    else:
        header = ["name", *(f"cluster_{l}" for l in range(H.shape[1]))]
        # A zero takes one character, and most entries are zero.
        rows = ([name, *(x or 0 for x in h.tolist())] for name, h in zip(names, H, strict=True))
        write_table(directory / "membership.csv", header, rows)


def write_picture(directory: Path, picture: MatrixPicture | None) -> None:
    """Write matrix.npz, unless there are too many clusters for a picture."""
    if picture is not None:
        np.savez_compressed(
            directory / "matrix.npz", values=picture.values, edges=picture.edges, n=picture.n
        )


def write_topics(directory: Path, topics: Sequence[Sequence[tuple[str, float]]]) -> None:
    """Write topics.csv: the top words of every cluster with their weights."""
    rows = ((word, l, float(weight)) for l, topic in enumerate(topics) for word, weight in topic)
    write_table(directory / "topics.csv", ["word", "cluster", "weight"], rows)


def write_table(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str = ","
) -> None:
    """Write a csv file; strings are quoted in rows with names that need quotes."""
    with open(path, "w", **TEXT) as file:
        options: dict[str, Any] = {"lineterminator": "\n", "delimiter": delimiter}
        plain = csv.writer(file, **options)
        quoted = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, **options)
        if header:
            plain.writerow(header)
        for row in rows:
            is_quoted = any(isinstance(cell, str) and NEEDS_QUOTES.search(cell) for cell in row)
            (quoted if is_quoted else plain).writerow(row)


def read_record(directory: Path) -> dict[str, Any]:
    """Return run.json; ValueError if the directory is not a run."""
    if not is_run(directory):
        raise ValueError(
            f"{directory} is not a run of odsymnmf (it has no valid {RUN}); give a directory "
            "written by odsymnmf cluster"
        )
    return dict(json.loads((directory / RUN).read_text(encoding="utf-8")))


def read_picture(directory: Path) -> MatrixPicture:
    """Return the picture of the sorted similarities."""
    read_record(directory)
    path = directory / "matrix.npz"
    if not path.exists():
        raise ValueError(
            f"{directory} has no matrix.npz, which is written for up to {MAX_CLUSTERS} clusters; "
            "see report.html"
        )
    parts = read_npz(path)
    with valid(path):
        return MatrixPicture(parts["values"], parts["edges"], int(parts["n"]))
