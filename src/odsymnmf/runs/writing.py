"""What a run folder holds, written."""

import csv
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf import memberships
from odsymnmf.arrays import Array, blocks
from odsymnmf.drawing import MatrixPicture, as_members
from odsymnmf.problem import blocking
from odsymnmf.runs.folder import RUN

# Names that could be taken for a comment, lose blanks or break a line: these are quoted even where
# the csv module sees no need.
UNCLEAR = re.compile(r"^[#%\s]|\s$|[\r\n;\t]")
# With more entries than this, H is written as an array and not as a table.
LARGE = 2_000_000
# A lone surrogate (half a character) is no UTF-8: it is written as \ud800, and so read in JSON.
TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}


def write_result(
    folder: Path,
    names: Sequence[str],
    H: Any,
    record: dict[str, Any],
    sets: Sequence[Array] | None = None,
    labels: Array | None = None,
) -> None:
    """Write what was found: labels.csv, the memberships and run.json.

    Parameters
    ----------
    folder : Path
        An empty folder, as `new_run` gives it.
    names : sequence of n names
    H : ndarray or scipy sparse array of shape (n, r)
        A sparse one is written as scipy.sparse.save_npz does, together with clusters.txt.
    record : dict
        For run.json.
    sets : list of r arrays, optional
        The items of every cluster, for clusters.txt; ``overlapping_sets(H)`` if not given.
    labels : ndarray of n whole numbers, optional
        The cluster of every item, -1 for none; that of the largest membership if not given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from scipy import sparse
    >>> from odsymnmf.runs import write_result
    >>> H = sparse.csr_array([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_result(Path(home), ["a", "b", "c"], H, {})
    ...     print(Path(home, "clusters.txt").read_text())
    a	b
    c	b
    """
    rows = zip(names, *_labels(H, labels), strict=True)
    write_table(folder / "labels.csv", ["name", "cluster", "strength"], rows)
    if sparse.issparse(H):
        members = as_members(H)
        sparse.save_npz(folder / "membership.npz", members.H)
        _write_cover(folder / "clusters.txt", names, members.sets() if sets is None else sets)
    elif H.size > LARGE:
        np.savez_compressed(folder / "membership.npz", H=H)
    else:
        header = ["name", *(f"cluster_{l}" for l in range(H.shape[1]))]
        # A zero takes one character, and most entries are zero.
        table = ([name, *(x or 0 for x in h.tolist())] for name, h in zip(names, H, strict=True))
        write_table(folder / "membership.csv", header, table)
    with open(folder / RUN, "w", **TEXT) as file:
        json.dump(record, file, indent=1, ensure_ascii=False)
        file.write("\n")


def write_page(folder: Path, picture: MatrixPicture | None, page: str) -> None:
    """Write what there is to look at: matrix.npz and report.html.

    Parameters
    ----------
    folder : Path
        Where `write_result` has written.
    picture : MatrixPicture or None
        None if there are too many clusters to be seen in it.
    page : str
        The HTML of `odsymnmf.report.page`.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.runs import write_page
    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_page(Path(home), None, "<!DOCTYPE html>")
    ...     os.listdir(home)
    ['report.html']
    """
    if picture is not None:
        np.savez_compressed(
            folder / "matrix.npz", values=picture.values, edges=picture.edges, n=picture.n
        )
    with open(folder / "report.html", "w", **TEXT) as file:
        file.write(page)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table whose first column holds names, any of which can be read back.

    Parameters
    ----------
    path : Path
    header : sequence of str
    rows : iterable of sequences
        The first of each is a name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.runs import write_table
    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_table(Path(home, "t.csv"), ["name", "cluster"], [("a", 0), ("# b", 1)])
    ...     print(Path(home, "t.csv").read_text())
    name,cluster
    a,0
    "# b",1
    """
    with open(path, "w", **TEXT) as file:
        plain = csv.writer(file, lineterminator="\n")
        quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        plain.writerow(header)
        for row in rows:
            (quoted if UNCLEAR.search(row[0]) else plain).writerow(row)


def write_topics(folder: Path, topics: Sequence[Sequence[tuple[str, float]]]) -> None:
    """Write topics.csv: the top words of every cluster, the first first.

    Parameters
    ----------
    folder : Path
        Where `write_result` has written.
    topics : list of r lists of (word, weight)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.runs import write_topics
    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_topics(Path(home), [[("ship", 0.5)], [("cow", 0.25)]])
    ...     print(Path(home, "topics.csv").read_text())
    word,cluster,weight
    ship,0,0.5
    cow,1,0.25
    """
    rows = ((word, l, float(weight)) for l, topic in enumerate(topics) for word, weight in topic)
    write_table(folder / "topics.csv", ["word", "cluster", "weight"], rows)


def _labels(H: Any, given: Array | None = None) -> tuple[list[int], list[float]]:
    """Return the cluster of every item and its strength there.

    Of an array, in blocks of rows: a result must not be lost for want of memory for its copies.
    """
    if sparse.issparse(H):
        members = as_members(H, None, given)
        return members.label.tolist(), members.own.round(6).tolist()
    label = np.empty(len(H), dtype=np.intp)
    own = np.zeros(len(H))
    totals = H.sum(axis=0, dtype=np.float64)
    for b in blocks(len(H), max(1, blocking.BLOCK_ENTRIES // H.shape[1])):
        h = H[b].astype(np.float64)
        label[b] = memberships.labels(h) if given is None else given[b]
        ties = h * np.maximum(totals - h, 0.0)
        mine = np.take_along_axis(ties, np.maximum(label[b], 0)[:, None], axis=1)[:, 0]
        whole = ties.sum(axis=1)
        np.divide(mine, whole, out=own[b], where=(whole > 0) & (label[b] >= 0))
    return label.tolist(), own.round(6).tolist()


def _write_cover(path: Path, names: Sequence[str], sets: Sequence[Array]) -> None:
    """Write one cluster per line, names between tabs, the strongest first."""
    with open(path, "w", **TEXT) as file:
        plain = csv.writer(file, lineterminator="\n", delimiter="\t")
        quoted = csv.writer(file, lineterminator="\n", delimiter="\t", quoting=csv.QUOTE_ALL)
        for items in sets:
            row = [names[i] for i in items.tolist()]
            (quoted if any(map(UNCLEAR.search, row)) else plain).writerow(row)
