"""`odsymnmf predict`: memberships of new items in a run."""

from pathlib import Path
from typing import Any

import click

from odsymnmf.cli.options import OUTPUT, READING, options, output_name, plain
from odsymnmf.cli.texts import FORM, check_options, tfidf_of_model

# Formats that hold links, so that a file of new items has links to the fitted ones.
GRAPHS = ("edges", "parquet", "adjlist", "graphml", "gexf", "gml", "pajek")


@click.command(short_help="Find the clusters of new items.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="NEW...")
@options(READING, FORM, OUTPUT)
def predict(
    run: Path,
    inputs: tuple[str, ...],
    output: Path | None,
    text_column: str | None,
    lines: bool,
    **reading: Any,
) -> None:
    """Find memberships of the items in NEW, with those of RUN held fixed.

    RUN is a folder written by odsymnmf cluster, or the model.npz in it. NEW has the form of its
    input: links of new items to those of the run; a table of similarities, a row for each new item
    and a column for each item of the run; rows of features; or texts. Two files are written,
    labels.csv and membership.csv (membership.npz for a run with --many). A file of texts is read
    with the options of the run (--text-column, --lines) if its name has the same ending.

    \b
    odsymnmf predict run new.csv -o predicted
    """
    from odsymnmf import io, load, runs
    from odsymnmf.memberships import labels
    from odsymnmf.plots import count

    output = output or output_name(inputs[0], "predicted")
    form: dict[str, Any] = {"text_column": text_column, "lines": lines}
    check_options({name: value for name, value in form.items() if value})
    runs.check_directory(output)  # before reading
    path = run / "model.npz" if run.is_dir() else run
    if not path.exists():
        raise io.InputError(f"{path}: no such file; give a folder written by odsymnmf cluster")
    model, record = load(path), runs.read_record(run) if run.is_dir() else {}
    if not hasattr(model, "labels_"):
        raise io.InputError(f"{path} contains a factorization, which cannot predict; give a run")
    if model._idf is not None:
        form = form if any(form.values()) else _form(record, inputs)
        names, texts = io.read_texts(inputs, **form)
        X = tfidf_of_model(texts, model._terms, model._idf)
    elif len(inputs) > 1:
        raise click.UsageError("give one file of new items (several only of texts)")
    elif model.affinity == "precomputed":
        fitted_format = record.get("input", {}).get("format")
        names, X = _similarities(inputs[0], reading, model.item_names_, fitted_format)
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


def _form(record: dict[str, Any], paths: tuple[str, ...]) -> dict[str, Any]:
    """Return the reading options of the run for a file with the same suffix."""
    fitted = record.get("input", {}).get("paths", [])
    if Path(paths[0]).is_dir() or [Path(path).suffix for path in fitted] != [
        Path(path).suffix for path in paths
    ]:
        return {}
    return {name: value for name, value in record.get("words", {}).items() if name in FORM}


def _similarities(
    path: str, reading: dict[str, Any], fitted: list[str] | None, fitted_format: str | None
) -> tuple[list[str], Any]:
    """Return the names of new items and their similarities to the fitted items."""
    import numpy as np
    from scipy import sparse

    from odsymnmf import io

    if (reading["format"] or fitted_format) not in GRAPHS or fitted is None:
        items = io.read(path, features=True, **reading)
        return items.names, _aligned(path, items, fitted)
    items = io.read(path, **reading)
    column = {name: j for j, name in enumerate(fitted)}
    new = [i for i, name in enumerate(items.names) if name not in column]
    known = [i for i, name in enumerate(items.names) if name in column]
    S = sparse.csr_array(items.matrix)[new][:, known]
    if S.nnz == 0:
        raise io.InputError(
            f"{path}: no item that is new is linked to one of the run; compare their "
            "names, or choose columns= (--columns)"
        )
    columns = np.array([column[items.names[i]] for i in known])[S.indices]
    shape = (len(new), len(fitted))
    return [items.names[i] for i in new], sparse.csr_array((S.data, columns, S.indptr), shape=shape)


def _aligned(path: str, items: Any, fitted: list[str] | None) -> Any:
    """Return the columns in the order of the run if both have names."""
    from odsymnmf import io

    if fitted is None or items.feature_names is None:
        return items.matrix
    different = {*fitted}.symmetric_difference(items.feature_names)
    if different:
        name = min(different)
        verb = "is missing" if name in fitted else "is not in the run"
        raise io.InputError(f"{path}: the column {plain(name)!r} {verb}; give those of the run")
    column = {name: j for j, name in enumerate(items.feature_names)}
    return items.matrix[:, [column[name] for name in fitted]]


def _strengths(model: Any, H: Any, clusters: Any) -> list[float]:
    """Return the fraction of an item's explained similarity that its cluster explains."""
    import numpy as np
    from scipy import sparse

    H = sparse.csr_array(H, dtype=np.float64)
    explained = sparse.csr_array(H * model.membership_.sum(axis=0))
    by_label = explained[np.arange(len(clusters)), np.maximum(clusters, 0)]
    total = explained.sum(axis=1)
    strengths = np.divide(by_label, total, out=np.zeros(len(clusters)), where=total > 0)
    return strengths.round(6).tolist()
