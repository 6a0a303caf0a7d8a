"""`odsymnmf predict`: where new items belong in a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import FilePath
from odsymnmf.cli.text import plain
from odsymnmf.cli.words import COLUMN, LINES, refuse_both

if TYPE_CHECKING:
    from collections.abc import Sequence

# Formats that hold links, so that a file of new items has links to the old ones.
GRAPHS = ("edges", "adjlist", "graphml", "gexf", "gml", "pajek")


@click.command(short_help="Find the clusters of new items.")
@click.argument("run", type=FilePath(path_type=Path), metavar="RUN")
@click.argument("inputs", nargs=-1, required=True, type=FilePath(), metavar="NEW...")
@click.option(
    "-o",
    "--output",
    type=FilePath(path_type=Path),
    metavar="DIR",
    required=True,
    help="Folder for the results, to be created.",
)
@click.option("--format", help="Format of NEW, if it is not recognised.")
@COLUMN
@LINES
def predict(
    run: Path,
    inputs: tuple[str, ...],
    output: Path,
    format: str | None,
    text_column: str | None,
    lines: bool,
) -> None:
    """Find memberships of the items in NEW, with those of RUN held fixed.

    RUN is a folder that odsymnmf cluster has written, or the model.odsym in it. NEW is like its
    input: links of new items to those of the run; a table of similarities, a row for each new item
    and a column for each item of the run; rows of features; or texts. Two files are written,
    labels.csv and membership.csv (membership.npz for a run with --many). A file of texts is read as
    that of the run was (--text-column, --lines) if its name ends in the same way.

    \b
    odsymnmf predict run new.csv -o predicted
    """
    from scipy import sparse

    from odsymnmf import io, runs
    from odsymnmf.drawing.names import count
    from odsymnmf.estimators.saving import load_with_features
    from odsymnmf.memberships import labels

    if runs.is_run(output):
        raise io.InputError(
            f"{output} holds a run, which predict does not replace; choose another name"
        )
    refuse_both(text_column, lines)
    runs.check_folder(output)  # before the work, not after
    path = run / "model.odsym" if run.is_dir() else run
    if not path.exists():
        raise io.InputError(
            f"{path}: no such file; give a folder that odsymnmf cluster has written"
        )
    model, features = load_with_features(path)
    if not hasattr(model, "labels_"):
        raise io.InputError(f"{path} holds a factorization, which cannot predict; give a run")
    if features is not None and features.idf is not None:
        form = {"column": text_column, "lines": lines}
        names, X = _texts(inputs, features, form if text_column or lines else _form(run, inputs))
    elif len(inputs) > 1:
        raise click.UsageError("give one file of new items (several only of texts)")
    elif model.affinity == "precomputed":
        known = getattr(model, "item_names_", None)
        names, X = _similarities(inputs[0], format, known, _input_format(run))
    else:
        found = io.read(inputs[0], format=format, features=True)
        names, X = found.names, _aligned(inputs[0], found, features.names if features else None)
    H = model.predict_membership(X)
    clusters = labels(H)
    with runs.new_run(output) as new:
        rows = zip(names, clusters.tolist(), _strengths(model, H, clusters), strict=True)
        runs.write_table(new / "labels.csv", ["name", "cluster", "strength"], rows)
        if sparse.issparse(H):  # as the run's own: a table would have a column for every cluster
            sparse.save_npz(new / "membership.npz", H)
        else:
            header = ["name", *(f"cluster_{l}" for l in range(H.shape[1]))]
            table = (
                [name, *(x or 0 for x in h.tolist())] for name, h in zip(names, H, strict=True)
            )
            runs.write_table(new / "membership.csv", header, table)
    unassigned = int((clusters < 0).sum())
    loose = f", {unassigned} of them in no cluster" if unassigned else ""
    click.echo(f"{count(len(names), 'new item')}{loose}; wrote {output}")


def _input_format(run: Path) -> str | None:
    """Return the format of what was clustered, None if only the model is there."""
    if not run.is_dir():
        return None
    from odsymnmf import runs

    return str(runs.read_record(run).get("input", {}).get("format"))


def _form(run: Path, paths: "Sequence[str]") -> dict[str, Any]:
    """Return how the texts of the run were read, if this is a file of the same kind."""
    if not run.is_dir() or len(paths) != 1 or Path(paths[0]).is_dir():
        return {}
    from odsymnmf import runs

    record = runs.read_record(run)
    before = record.get("input", {}).get("paths", [])
    if [Path(path).suffix for path in before] != [Path(paths[0]).suffix]:
        return {}
    words = record.get("words", {})
    return {"column": words.get("text_column"), "lines": bool(words.get("lines"))}


def _texts(paths: "Sequence[str]", features: Any, form: dict[str, Any]) -> tuple[list[str], Any]:
    from odsymnmf import io
    from odsymnmf.cli.words import readable, weigh_known

    names, texts = io.read_texts(paths, **form)
    return readable(names), weigh_known(texts, features)


def _similarities(
    path: str, format: str | None, known: list[str] | None, before: str | None
) -> tuple[list[str], Any]:
    """Return new items and their similarities to the known ones: of links, or of a table."""
    from odsymnmf import io

    if (format or before) not in GRAPHS or known is None:
        found = io.read(path, format=format, features=True)
        return found.names, _aligned(path, found, known)
    from scipy import sparse

    found = io.read(path, format=format)
    place = {name: i for i, name in enumerate(found.names)}
    old = set(known)
    new = [name for name in found.names if name not in old]
    if not new:
        raise io.InputError(f"{path}: all its items are in the run already; give new ones")
    # Items of the run that have no link to new ones get a column of zeros.
    links = sparse.csr_array(found.matrix)[[place[name] for name in new]].tocoo()
    column = {name: j for j, name in enumerate(known)}
    at = [column.get(found.names[j], -1) for j in links.col.tolist()]
    kept = [p for p, j in enumerate(at) if j >= 0]
    if not kept:
        raise io.InputError(f"{path}: no new item is linked to one of the run; compare their names")
    where = (links.row[kept], [at[p] for p in kept])
    return new, sparse.csr_array((links.data[kept], where), shape=(len(new), len(known)))


def _aligned(path: str, found: Any, wanted: list[str] | None) -> Any:
    """Return the columns in the order of the run, where both have names."""
    from odsymnmf import io

    width = found.matrix.shape[1]
    if wanted is None or found.features is None:
        if wanted is not None and width != len(wanted):
            raise io.InputError(
                f"{path}: {width} columns, but the run has {len(wanted)}; give one for each, in "
                "its order, or with its names above them"
            )
        return found.matrix
    column = {name: j for j, name in enumerate(found.features)}
    missing = [name for name in wanted if name not in column]
    if missing or width != len(wanted):
        odd = missing[0] if missing else next(n for n in found.features if n not in set(wanted))
        verb = "is missing" if missing else "is not in the run"
        raise io.InputError(f"{path}: the column {plain(odd)!r} {verb}; give those of the run")
    return found.matrix[:, [column[name] for name in wanted]]


def _strengths(model: Any, H: Any, clusters: Any) -> list[float]:
    """Return the share of an item's explained similarities that its cluster explains."""
    import numpy as np
    from scipy import sparse

    totals = np.asarray(model.membership_.sum(axis=0), dtype=np.float64).ravel()
    items, clusters = np.arange(len(clusters)), np.maximum(clusters, 0)
    if sparse.issparse(H):
        ties = sparse.csr_array((H.data * totals[H.indices], H.indices, H.indptr), shape=H.shape)
        rows = np.repeat(items, np.diff(ties.indptr))
        mine = ties.indices == clusters[rows]
        own = np.bincount(rows[mine], weights=ties.data[mine], minlength=len(items))
    else:
        ties = H.astype(np.float64) * totals
        own = ties[items, clusters]
    whole = ties.sum(axis=1)
    shares = np.divide(own, whole, out=np.zeros_like(own), where=whole > 0)
    return [float(share) for share in shares.round(6)]
