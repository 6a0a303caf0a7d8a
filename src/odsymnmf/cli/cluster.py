"""`odsymnmf cluster`: cluster the items of a file and write tables and a report."""

import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import EXIT_CODE, FIT, OUTPUT, READING, Table, given, options, output_name
from odsymnmf.cli.texts import TEXTS, check_options, read_texts

if TYPE_CHECKING:
    from odsymnmf import ODSymNMF

RUN: Table = {
    "weights": (click.Path(), None, "File with weights of pairs; 0 marks an unknown pair."),
    "scheduler": (str, None, "Address of a Dask scheduler; INPUT is parquet, a file or a folder."),
    "force": (bool, False, "Replace an existing run."),
    "quiet": (bool, False, "Print only errors.", "-q"),
}


@click.command(short_help="Cluster the items of a file.", context_settings={"show_default": True})
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@options(FIT, READING, TEXTS, OUTPUT, RUN)
@click.pass_context
def cluster(
    ctx: click.Context,
    /,
    inputs: tuple[str, ...],
    weights: str | None,
    scheduler: str | None,
    output: Path | None,
    force: bool,
    quiet: bool,
    **parameters: Any,
) -> None:
    """Cluster the items of INPUT: a graph, a table of similarities, or rows of features.

    INPUT is an edge list or a table (csv, tsv, spaces), Matrix Market, npy, npz, parquet, GraphML,
    GEXF, GML or Pajek; with --text, it holds texts. Output: tables (labels.csv,
    membership.csv; for texts also topics.csv with the top words), run.json, model.npz for
    odsymnmf predict and report.html, to be opened in a browser.

    \b
    a graph         odsymnmf cluster graph.csv
    eight clusters  odsymnmf cluster graph.csv -r 8
    documents       odsymnmf cluster letters/ --text
    one column      odsymnmf cluster reviews.csv --text-column review
    many clusters   odsymnmf cluster big.edges --many
    """
    texts, reading = given(parameters, TEXTS), given(parameters, READING)
    is_text = check_options(texts)
    _check_usage(inputs, parameters, reading, is_text, scheduler)
    parameters = {name: None if value == "none" else value for name, value in parameters.items()}
    parameters["sparse_membership"] = parameters["sparse_membership"] or "auto"
    parameters["affinity"] = parameters["affinity"] or ("cosine" if is_text else "precomputed")
    folder = output or output_name(inputs[0], "clusters")

    from odsymnmf import io, runs
    from odsymnmf.cli import summary
    from odsymnmf.plots import count

    def note(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    runs.check_directory(folder, force=force)  # before the fit
    start = time.perf_counter()
    details: dict[str, Any] = {"input": {"options": reading}}
    idf = pairs = None
    if scheduler is not None:
        from odsymnmf.cli.scheduler import connected, read_edges

        ctx.with_resource(connected(scheduler))
        data = read_edges(inputs[0], **reading)
    elif is_text:
        data, details["words"], idf = read_texts(inputs, texts)
    else:
        data = io.read(inputs[0], features=parameters["affinity"] != "precomputed", **reading)
    if weights is not None:
        pairs = io.read_weights(weights, data.names)
        details["input"]["weights"] = f"{weights}, {pairs.nnz // 2:,} pairs"
    seconds = {"read": time.perf_counter() - start}
    for line in data.messages:
        note(f"note: {line}")
    note(f"read {count(len(data.names), 'item')} in {seconds['read']:.1f} s; clustering")
    start = time.perf_counter()
    model = _fit(data, parameters, pairs, verbose=_verbose(quiet))
    seconds["fit"] = time.perf_counter() - start
    model._terms, model._idf = data.feature_names, idf
    record = summary.record(model, data, inputs, parameters, seconds, **details)
    text = _save(model, data, record, folder, force)
    for line in summary.advice(model, record, folder):
        note(line)
    if not quiet:
        click.echo(text)
    if record["fit"]["interrupted"]:
        ctx.exit(ctx.meta[EXIT_CODE])
    if parameters["checkpoint"] is not None:
        for k in range(parameters["n_init"]):
            Path(parameters["checkpoint"] + (f".{k}" if k else "")).unlink(missing_ok=True)


def _check_usage(
    inputs: tuple[str, ...],
    parameters: dict[str, Any],
    reading: dict[str, Any],
    is_text: bool,
    scheduler: str | None,
) -> None:
    """Raise UsageError if options contradict each other."""
    affinity = parameters["affinity"]
    if len(inputs) > 1 and not is_text:
        raise click.UsageError("give one INPUT, or --text with several files of plain text")
    if is_text and affinity not in (None, "cosine"):
        raise click.UsageError("--text compares by cosine; leave --affinity out")
    if is_text and reading:
        option = next(iter(reading)).replace("_", "-")
        raise click.UsageError(f"--text cannot be combined with --{option}")
    is_local = is_text or parameters["sparse_membership"] or {"format", "header"} & {*reading}
    if scheduler is not None and (is_local or affinity not in (None, "precomputed")):
        raise click.UsageError(
            "--scheduler reads parquet files of links; leave --many, --text, --affinity, --format "
            "and --header out"
        )


def _fit(data: Any, parameters: dict[str, Any], weights: Any, *, verbose: int) -> "ODSymNMF":
    """Return a fitted model; KeyboardInterrupt if it was interrupted before the first sweep."""
    from sklearn.exceptions import ConvergenceWarning

    from odsymnmf import ODSymNMF
    from odsymnmf.fit import InterruptedWarning

    if len(data.names) < 2:
        raise ValueError(
            f"one item only: {data.names[0]!r}; give at least two (--lines: every line is a text)"
        )
    model = ODSymNMF(**parameters, verbose=verbose)
    with warnings.catch_warnings():
        # The summary reports these two.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", InterruptedWarning)
        model.fit(data.matrix, weights=weights)
    if model.status_ == "interrupted" and model.n_iter_ == 0:
        raise KeyboardInterrupt
    return model


def _verbose(quiet: bool) -> int:
    """Return ``verbose``: no output, a progress bar on a terminal, or log lines."""
    if quiet:
        return 0
    return 1 if sys.stderr.isatty() and find_spec("tqdm") else 2


def _save(model: "ODSymNMF", data: Any, record: dict[str, Any], folder: Path, force: bool) -> str:
    """Write the run; return its summary."""
    from scipy.sparse import issparse

    from odsymnmf import plots, runs
    from odsymnmf.cli import summary
    from odsymnmf.membership_view import as_view
    from odsymnmf.memberships import top_features
    from odsymnmf.report._page import fit_facts, members, overlapping, write

    H, names, A = model.membership_, data.names, getattr(model, "similarity_", None)
    view = as_view(model)
    sets, _ = overlapping(model, view)
    topics = top_features(H, data.matrix, data.feature_names) if "words" in record else None
    facts = {**summary.facts(record), **fit_facts(model, A)}
    with runs.new_run(folder, force=force) as new:
        runs.write_result(new, names, H, record, sets if issparse(H) else None, model.labels_)
        model.save(new / "model.npz", names=list(names))
        if topics is not None:
            runs.write_topics(new, topics)
        if A is not None:
            picture = plots.matrix_picture(A, view) if view.r <= plots.MAX_CLUSTERS else None
            runs.write_picture(new, picture)
            title = summary.input_name(record["input"]["paths"])
            write(
                model,
                new / "report.html",
                names=names,
                title=title,
                facts=facts,
                topics=topics,
                picture=picture,
            )
    table = summary.cluster_table(view, members(view, sets), names, topics)
    return summary.summary(record, facts, model, table, folder)
