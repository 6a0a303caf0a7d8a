"""`odsymnmf predict`: memberships of new items in a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import plain, reading_options
from odsymnmf.cli.texts import COLUMN, LINES, refuse_both

if TYPE_CHECKING:
    from collections.abc import Sequence

# Formats that hold links, so that a file of new items has links to the old ones.
GRAPHS = ("edges", "parquet", "adjlist", "graphml", "gexf", "gml", "pajek")


@click.command(short_help="Find the clusters of new items.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="NEW...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="Folder for the results, to be created.",
)
@reading_options
@COLUMN
@LINES
def predict(
    run: Path,
    inputs: tuple[str, ...],
    output: Path,
    text_column: str | None,
    lines: bool,
    **reading: Any,
) -> None:
    """Find memberships of the items in NEW, with those of RUN held fixed.

    RUN is a folder that odsymnmf cluster has written, or the model.npz in it. NEW is like its
    input: links of new items to those of the run; a table of similarities, a row for each new item
    and a column for each item of the run; rows of features; or texts. Two files are written,
    labels.csv and membership.csv (membership.npz for a run with --many). A file of texts is read as
    that of the run was (--text-column, --lines) if its name ends in the same way.

    \b
    odsymnmf predict run new.csv -o predicted
    """
    from odsymnmf import io, load, runs
    from odsymnmf.memberships import labels
    from odsymnmf.plots import count

    if runs.is_run(output):
        raise io.InputError(
            f"{output} holds a run, which predict does not replace; choose another name"
        )
    refuse_both(text_column, lines)
    runs.check_directory(output)  # before the work
    path = run / "model.npz" if run.is_dir() else run
    if not path.exists():
        raise io.InputError(
            f"{path}: no such file; give a folder that odsymnmf cluster has written"
        )
    model = load(path)
    if not hasattr(model, "labels_"):
        raise io.InputError(f"{path} holds a factorization, which cannot predict; give a run")
    if model._idf is not None:
        form = {"text_column": text_column, "lines": lines}
        names, X = _texts(inputs, model, form if text_column or lines else _form(run, inputs))
    elif len(inputs) > 1:
        raise click.UsageError("give one file of new items (several only of texts)")
    elif model.affinity == "precomputed":
        known = getattr(model, "item_names_", None)
        names, X = _similarities(inputs[0], reading, known, _input_format(run))
    else:
        items = io.read(inputs[0], features=True, **reading)
        names, X = items.names, _aligned(inputs[0], items, model._terms)
    H = model.predict_membership(X)
    clusters = labels(H)
    with runs.new_run(output) as new:
        rows = zip(names, clusters.tolist(), _strengths(model, H, clusters), strict=True)
        runs.write_table(new / "labels.csv", ["name", "cluster", "strength"], rows)
        runs.write_membership(new, names, H)
    unassigned = int((clusters < 0).sum())
    note = f", {unassigned} of them in no cluster" if unassigned else ""
    click.echo(f"{count(len(names), 'new item')}{note}; wrote {output}")


def _input_format(run: Path) -> str | None:
    """Return the format of the input of the run; None without run.json."""
    if not run.is_dir():
        return None
    from odsymnmf import runs

    return str(runs.read_record(run).get("input", {}).get("format"))


def _form(run: Path, paths: "Sequence[str]") -> dict[str, Any]:
    """Return the reading options of the run for a file with the same suffix."""
    if not run.is_dir() or len(paths) != 1 or Path(paths[0]).is_dir():
        return {}
    from odsymnmf import runs

    record = runs.read_record(run)
    before = record.get("input", {}).get("paths", [])
    if [Path(path).suffix for path in before] != [Path(paths[0]).suffix]:
        return {}
    words = record.get("words", {})
    return {"text_column": words.get("text_column"), "lines": bool(words.get("lines"))}


def _texts(paths: "Sequence[str]", model: Any, form: dict[str, Any]) -> tuple[list[str], Any]:
    from odsymnmf import io
    from odsymnmf.cli.texts import printable_names, tfidf_of_model

    names, texts = io.read_texts(paths, **form)
    return printable_names(names), tfidf_of_model(texts, model._terms, model._idf)


def _similarities(
    path: str, reading: dict[str, Any], known: list[str] | None, before: str | None
) -> tuple[list[str], Any]:
    """Return the names of new items and their similarities to the fitted items."""
    from odsymnmf import io

    if (reading["format"] or before) not in GRAPHS or known is None:
        items = io.read(path, features=True, **reading)
        return items.names, _aligned(path, items, known)
    import numpy as np
    import pandas as pd
    from scipy import sparse

    items = io.read(path, **reading)
    column = pd.Index(known).get_indexer(items.names)  # -1 for new items
    new = np.flatnonzero(column < 0)
    if len(new) == 0:
        raise io.InputError(f"{path}: all its items are in the run already; give new ones")
    S = sparse.csr_array(items.matrix)[new][:, column >= 0].tocoo()
    if S.nnz == 0:
        raise io.InputError(f"{path}: no new item is linked to one of the run; compare their names")
    columns = column[column >= 0][S.col]
    shape = (len(new), len(known))
    return [items.names[i] for i in new], sparse.csr_array((S.data, (S.row, columns)), shape=shape)


def _aligned(path: str, items: Any, wanted: list[str] | None) -> Any:
    """Return the columns in the order of the run if both have names."""
    from odsymnmf import io

    width = items.matrix.shape[1]
    if wanted is None or items.feature_names is None:
        if wanted is not None and width != len(wanted):
            raise io.InputError(
                f"{path}: {width} columns, but the run has {len(wanted)}; give one for each, in "
                "its order, or with its names above them"
            )
        return items.matrix
    different = {*wanted}.symmetric_difference(items.feature_names)
    if different:
        name = min(different)
        verb = "is missing" if name in wanted else "is not in the run"
        raise io.InputError(f"{path}: the column {plain(name)!r} {verb}; give those of the run")
    column = {name: j for j, name in enumerate(items.feature_names)}
    return items.matrix[:, [column[name] for name in wanted]]


def _strengths(model: Any, H: Any, clusters: Any) -> list[float]:
    """Return the fraction of an item's explained similarity that its cluster explains."""
    import numpy as np
    from scipy import sparse

    explained = sparse.csr_array(H, dtype=np.float64, copy=True)
    explained.data *= model.membership_.sum(axis=0)[explained.indices]
    own = explained[np.arange(len(clusters)), np.maximum(clusters, 0)]
    total = explained.sum(axis=1)
    strengths = np.divide(own, total, out=np.zeros(len(clusters)), where=total > 0)
    return strengths.round(6).tolist()
