"""`odsymnmf cluster`: cluster the items of a file and write tables and a report."""

import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import EXIT_CODE, ClusterCount, OrAuto, reading_options
from odsymnmf.cli.texts import TextOptions, features_of, read_texts, text_options

if TYPE_CHECKING:
    from odsymnmf import ODSymNMF
    from odsymnmf.cli.summary import Outcome

AFFINITIES = ("precomputed", "cosine", "rbf", "nearest_neighbors")
# Copied from the library, so that help texts need not import it; a test compares them.
LOSSES = ("l2", "l1", "mixed", "robust")
STARTS = ("multilevel", "greedy", "spectral", "nndsvd", "random", "zero", "l2", "mixed")
# Options that are passed to io.read.
READING = ("format", "symmetrize", "header", "columns", "weight_column")
MANY_STARTS = ("ego",)


@click.command(short_help="Cluster the items of a file.", context_settings={"show_default": True})
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option(
    "--n-clusters",
    "-r",
    type=ClusterCount(),
    default="auto",
    help="Number of clusters; 2-30 chooses the best of these, auto any number.",
)
@click.option(
    "--resolution",
    type=click.FloatRange(0, min_open=True),
    show_default="chosen from the data",
    help="With -r auto, for graphs: resolution of modularity; larger values give more clusters.",
)
@click.option(
    "--sparse-membership",
    "--many",
    "many",
    is_flag=True,
    help="For thousands of clusters: only non-zero memberships are stored. INPUT must be a graph.",
)
@click.option(
    "--loss",
    type=click.Choice(LOSSES),
    default="l2",
    help="Squared errors (l2), absolute errors (l1), a mixture of both (--l1-ratio), or the larger "
    "of the two (robust).",
)
@click.option(
    "--l1-ratio",
    type=click.FloatRange(0, 1),
    default=0.5,
    help="Share of absolute errors, with --loss mixed.",
)
@click.option(
    "--affinity",
    type=click.Choice(AFFINITIES),
    show_default="precomputed, with --text cosine",
    help="precomputed: INPUT holds similarities or links. Otherwise it holds features, one row per "
    "item, and this is how rows are compared.",
)
@click.option(
    "--n-neighbors",
    type=click.IntRange(1),
    default=10,
    help="Neighbours of each item, with --affinity nearest_neighbors.",
)
@click.option(
    "--gamma",
    type=click.FloatRange(0),
    show_default="1 / number of features",
    help="exp(-gamma |x - y|^2) is the similarity, with --affinity rbf.",
)
@click.option(
    "--init",
    type=click.Choice(["auto", *STARTS, *MANY_STARTS]),
    default="auto",
    help="Initialization of the first start. With --many: multilevel or ego (sets of neighbors).",
)
@click.option(
    "--n-init",
    type=click.IntRange(1),
    default=1,
    help="Number of starts; all but the first are random, and the best is kept.",
)
@click.option(
    "--normalize",
    type=OrAuto(click.Choice(["degree"]), "[auto|degree|none]"),
    default="auto",
    help="Divide each similarity by the square root of the product of the degrees of its two "
    "items: for graphs.",
)
@click.option(
    "--upper",
    type=OrAuto(click.FloatRange(0, min_open=True), "FLOAT|auto|none"),
    default="auto",
    help="Upper bound on memberships.",
)
@click.option(
    "--zero-weight",
    type=click.FloatRange(0),
    default=1.0,
    help="Weight of the pairs that INPUT does not list; with less than 1, fewer items stay "
    "unassigned.",
)
@click.option(
    "--weights",
    type=click.Path(),
    metavar="FILE",
    help="Weights of pairs by name, as an edge list, a table, mtx or npz: 0 marks an unknown pair; "
    "pairs that FILE does not list have weight 1.",
)
@click.option(
    "--restarts",
    type=click.IntRange(0),
    show_default="0 for l2 and robust, 10 for l1 and mixed",
    help="Maximum number of rounds in which clusters are rebuilt from scratch.",
)
@click.option(
    "--max-iter",
    type=click.IntRange(0),
    default=200,
    help="Maximum number of iterations per start.",
)
@click.option("--tol", type=click.FloatRange(0), default=1e-4, help="Tolerance for stopping.")
@click.option(
    "--n-jobs",
    type=int,
    show_default="one thread",
    help="Number of threads, -1 for all cores; every number gives the same result.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Cluster on the workers of this Dask scheduler; INPUT is a parquet file of links, or a "
    "folder of some, that they can read.",
)
@click.option(
    "--random-state",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="Random seed.",
)
@click.option(
    "--checkpoint",
    type=click.Path(),
    metavar="FILE",
    help="Save the state of the fit here every minute; after a crash or kill, the same command "
    "resumes from it.",
)
@reading_options
@click.option(
    "--symmetrize",
    type=click.Choice(["max", "mean", "sum"]),
    help="How to combine the two directions of a pair where they differ.",
)
@text_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    show_default="named after INPUT",
    help="Folder for the results, to be created.",
)
@click.option("--force", is_flag=True, help="Replace an existing run in DIR.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.pass_context
def cluster(
    ctx: click.Context,
    /,
    inputs: tuple[str, ...],
    output: Path | None,
    force: bool,
    quiet: bool,
    many: bool,
    weights: str | None,
    scheduler: str | None,
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
    texts = TextOptions.of(parameters)
    reading = {name: parameters.pop(name) for name in READING}
    reading = {name: value for name, value in reading.items() if value is not None}
    parameters["sparse_membership"] = True if many else "auto"
    parameters["affinity"] = _affinity(inputs, parameters["affinity"], texts, reading)
    if scheduler is not None and (many or texts or parameters["affinity"] != "precomputed"):
        raise click.UsageError("--scheduler is for links; leave --many, --text and --affinity out")
    folder = output or Path(_default_name(inputs[0]))

    from odsymnmf import io, runs
    from odsymnmf.cli.summary import Outcome, advice, notes, summary

    def note(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    runs.check_directory(folder, force=force)  # before the fit
    begin = time.perf_counter()
    if scheduler is not None:
        from odsymnmf.cli.scheduler import connected

        ctx.with_resource(connected(scheduler))
        if {"format", "header"} & {*reading}:
            raise click.UsageError("--scheduler reads parquet; leave --format and --header out")
    data, used = _read(inputs, parameters["affinity"], texts, scheduler, reading)
    pairs = None if weights is None else io.read_weights(weights, data.names)
    seconds = {"read": time.perf_counter() - begin}
    for line in notes(data, parameters["n_clusters"]):
        note(f"note: {line}")
    note(f"read {len(data.names)} items in {seconds['read']:.1f} s; clustering")
    import odsymnmf.estimators  # noqa: F401  (not timed as part of the fit)

    begin = time.perf_counter()
    model = _fit(data.matrix, parameters, pairs, verbose=_verbose(quiet))
    seconds["fit"] = time.perf_counter() - begin
    outcome = Outcome(inputs, data, parameters, model, seconds, used, weights, pairs, reading)
    if outcome.interrupted:
        note(f"interrupted; saving {outcome.kept}")
    _save(outcome, folder, force)
    if not outcome.interrupted:
        _remove_checkpoints(parameters)
    for line in advice(outcome, folder):
        note(line)
    if not quiet:
        click.echo(summary(outcome, folder))
    if outcome.interrupted:
        ctx.exit(ctx.meta[EXIT_CODE])


def _read(
    inputs: tuple[str, ...],
    affinity: str,
    texts: TextOptions | None,
    scheduler: str | None,
    reading: dict[str, Any],
) -> tuple[Any, dict[str, Any] | None]:
    """Return the items, and of texts the settings for their words."""
    from odsymnmf import io

    if texts is not None:
        return read_texts(inputs, texts)
    if scheduler is not None:
        from odsymnmf.cli.scheduler import read_edges

        return read_edges(inputs[0], **reading), None
    data = io.read(inputs[0], features=affinity != "precomputed", **reading)
    if len(data.names) < 2:
        raise io.InputError(f"{inputs[0]}: one item only; give at least two, to compare")
    return data, None


def _fit(X: Any, parameters: dict[str, Any], weights: Any, *, verbose: int) -> "ODSymNMF":
    """Return a fitted model; KeyboardInterrupt if it was interrupted before the first sweep."""
    from sklearn.exceptions import ConvergenceWarning

    from odsymnmf import ODSymNMF
    from odsymnmf.fit import InterruptedWarning

    model = ODSymNMF(**parameters, verbose=verbose)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        model.fit(X, weights=weights)
    for message in messages:
        # The summary reports these two.
        if not issubclass(message.category, ConvergenceWarning | InterruptedWarning):
            click.echo(f"warning: {message.message}", err=True)
    if model.status_ == "interrupted" and model.n_iter_ == 0:
        raise KeyboardInterrupt
    return model


def _remove_checkpoints(parameters: dict[str, Any]) -> None:
    """Remove the checkpoints of a fit that is complete and saved."""
    if parameters["checkpoint"] is not None:
        for start in range(parameters["n_init"]):
            name = parameters["checkpoint"] + (f".{start}" if start else "")
            Path(name).unlink(missing_ok=True)


def _verbose(quiet: bool) -> int:
    """Return what the estimator shows: nothing, a progress bar, or lines for a log."""
    if quiet:
        return 0
    return 1 if sys.stderr.isatty() and find_spec("tqdm") else 2


def _save(outcome: "Outcome", folder: Path, force: bool) -> None:
    """Write the run."""
    from scipy import sparse

    from odsymnmf import report, runs
    from odsymnmf.cli.summary import facts, record

    model, names = outcome.model, outcome.data.names
    H = model.membership_
    with runs.new_run(folder, force=force) as new:
        sets = outcome.sets if sparse.issparse(H) else None
        runs.write_result(new, names, H, record(outcome), sets, model.labels_)
        model._terms, model._idf = features_of(outcome.data)
        model.save(new / "model.npz", names=list(names))
        if outcome.topics is not None:
            runs.write_topics(new, outcome.topics)
        if outcome.similarity is None:
            return
        page = report.page(
            outcome.similarity,
            outcome.members,
            model.history_,
            names=names,
            title=outcome.title,
            facts=facts(outcome),
            restarts=model.restart_steps_.tolist(),
            picture=outcome.picture,
            sets=outcome.sets,
            choice=outcome.search,
            topics=outcome.topics,
            settings=outcome.settings,
        )
        runs.write_page(new, outcome.picture, page)


def _affinity(
    inputs: tuple[str, ...],
    affinity: str | None,
    texts: TextOptions | None,
    reading: dict[str, Any],
) -> str:
    """Return the affinity; UsageError if options contradict each other."""
    if texts is None:
        if len(inputs) > 1:
            raise click.UsageError("give one INPUT, or --text with several files of plain text")
        return affinity or "precomputed"
    if affinity not in (None, "cosine"):
        raise click.UsageError("--text compares by cosine; leave --affinity out")
    if reading:
        option = next(iter(reading)).replace("_", "-")
        raise click.UsageError(f"--text cannot be combined with --{option}")
    return "cosine"


def _default_name(path: str) -> str:
    """Return graph-clusters for data/graph.tsv.gz, in the current folder."""
    name = Path(path).resolve().name
    return (name.strip(".").partition(".")[0] or "odsymnmf") + "-clusters"
