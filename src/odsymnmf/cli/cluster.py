"""`odsymnmf cluster`: from a file to a folder with tables and a page to look at."""

import errno
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import ClusterCount, FilePath, Number, OrAuto, jobs
from odsymnmf.cli.words import Words, read_words, text_options

if TYPE_CHECKING:
    from odsymnmf.cli.summary import Outcome

AFFINITIES = ("precomputed", "cosine", "rbf", "nearest_neighbors")
# These are the library's, which is too heavy to be imported for a help text; a test compares.
LOSSES = ("l2", "l1", "mixed", "robust")
STARTS = ("greedy", "spectral", "nndsvd", "random", "zero", "l2", "mixed")
MANY_STARTS = ("ego", "leiden", "label_propagation")
FORMATS = (
    *("edges", "adjlist", "table", "mtx", "npy", "npz"),
    *("parquet", "graphml", "gexf", "gml", "pajek", "cluto"),
)
# The exit code of a program that Ctrl-C has ended.
INTERRUPTED = 130


@click.command(short_help="Cluster the items of a file.", context_settings={"show_default": True})
@click.argument("inputs", nargs=-1, required=True, type=FilePath(), metavar="INPUT...")
@click.option(
    "-r",
    "n_clusters",
    type=ClusterCount(),
    default="auto",
    help="Number of clusters; 2-30 chooses the best of these, auto any number.",
)
@click.option(
    "--many",
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
    type=Number(0, 1),
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
    type=Number(0),
    show_default="1 / number of features",
    help="exp(-gamma |x - y|^2) is the similarity, with --affinity rbf.",
)
@click.option(
    "--init",
    type=click.Choice(["auto", *STARTS, *MANY_STARTS]),
    default="auto",
    help="Initialisation of the first start. With --many: ego (sets of neighbours), leiden or "
    "label_propagation (both need igraph).",
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
    type=OrAuto(Number(0, min_open=True), "FLOAT|auto|none"),
    default="auto",
    help="Upper bound on memberships.",
)
@click.option(
    "--zero-weight",
    type=Number(0),
    default=1.0,
    help="Weight of the pairs that INPUT does not list; with less than 1, fewer items stay "
    "unassigned.",
)
@click.option(
    "--weights",
    type=FilePath(),
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
@click.option("--tol", type=Number(0), default=1e-4, help="Tolerance for stopping.")
@click.option(
    "--n-jobs",
    type=int,
    callback=jobs,
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
    "--seed",
    "random_state",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="Random seed.",
)
@click.option(
    "--checkpoint",
    type=FilePath(),
    metavar="FILE",
    help="Save the state of the fit here every minute; after a crash or kill, the same command "
    "resumes from it.",
)
@click.option(
    "--format", type=click.Choice(FORMATS), help="Format of INPUT; by default it is recognised."
)
@click.option(
    "--symmetrize",
    type=click.Choice(["max", "mean", "sum"]),
    help="How to combine the two directions of a pair where they differ.",
)
@text_options
@click.option(
    "-o",
    "--output",
    type=FilePath(path_type=Path),
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
    format: str | None,
    symmetrize: str | None,
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
    GEXF, GML, Pajek or CLUTO; with --text, it holds texts. Output: tables (labels.csv,
    membership.csv; for texts also topics.csv with the top words), run.json, model.odsym for
    odsymnmf predict and report.html, to be opened in a browser.

    \b
    a graph         odsymnmf cluster graph.csv
    eight clusters  odsymnmf cluster graph.csv -r 8
    documents       odsymnmf cluster letters/ --text
    one column      odsymnmf cluster reviews.csv --text-column review
    many clusters   odsymnmf cluster big.edges --many
    """
    words = Words.of(parameters)
    text = words is not None
    _check_many(many, text, parameters)
    parameters["memberships"] = "sparse" if many else "auto"
    parameters["affinity"] = _affinity(inputs, parameters["affinity"], text, format, symmetrize)
    if parameters["init"] == parameters["loss"]:
        start = parameters["init"]
        raise click.UsageError(f"--init {start} is a start for other losses; leave it out")
    if scheduler is not None and (many or text or parameters["affinity"] != "precomputed"):
        raise click.UsageError("--scheduler is for links; leave --many, --text and --affinity out")
    folder = output or Path(_default_name(inputs[0]))

    from odsymnmf.cli.fit import finishing, fit, read_items, read_weights
    from odsymnmf.cli.summary import Outcome, advice, notes, summary
    from odsymnmf.runs import check_folder

    def say(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    check_folder(folder, force=force)  # before the work, not after
    features = parameters["affinity"] != "precomputed"
    begun = time.perf_counter()
    used = None
    if scheduler is not None:
        from odsymnmf.cli.scheduler import connected, read_links

        ctx.with_resource(connected(scheduler))
        items, fingerprint = read_links(inputs[0], symmetrize)
    elif words is None:
        items, fingerprint = read_items(
            inputs[0], format=format, features=features, symmetrize=symmetrize
        )
    else:
        items, fingerprint, used = read_words(inputs, words)
    pairs = None if weights is None else read_weights(weights, items.names)
    read = time.perf_counter() - begun
    for note in notes(items, parameters["n_clusters"]):
        say(f"note: {note}")
    say(f"read {len(items.names)} items in {read:.1f} s; clustering")
    import odsymnmf.estimators  # noqa: F401  (takes time that is not the fit's)

    begun = time.perf_counter()
    model, ended = fit(items.matrix, parameters, pairs and pairs.matrix, verbose=_verbose(quiet))
    interrupted = ended != 0
    seconds = {"read": read, "fit": time.perf_counter() - begun}
    topics = None if words is None else _topics(model, items)
    outcome = Outcome(
        inputs,
        items,
        fingerprint,
        parameters,
        model,
        interrupted,
        seconds,
        topics=topics,
        words=used,
        weights=pairs,
    )
    with finishing(interrupted, say) as pressed:
        if interrupted:
            say(f"interrupted; saving {outcome.kept}; Ctrl-C again: do not save")
        missing = _save(outcome, folder, force)
        if not interrupted:
            _remove_checkpoints(parameters)
        try:
            for line in [*missing, *advice(outcome, folder)]:
                say(line)
            if not quiet:
                _print(summary(outcome, folder, page=not missing), folder)
        except KeyboardInterrupt:
            click.echo(f"interrupted while printing; {folder} was written", err=True)
    if pressed:
        ctx.exit(128 + ended if ended else INTERRUPTED)


def _remove_checkpoints(parameters: dict[str, Any]) -> None:
    """Remove what a fit that is done and saved was written down in."""
    if parameters["checkpoint"] is not None:
        for start in range(parameters["n_init"]):
            name = parameters["checkpoint"] + (f".{start}" if start else "")
            Path(name).unlink(missing_ok=True)


def _topics(model: Any, items: Any) -> Any:
    """Return the top words of every cluster."""
    from odsymnmf.memberships import top_features

    return top_features(model.membership_, items.matrix, items.features)


def _check_many(many: bool, text: bool, parameters: dict[str, Any]) -> None:
    """Refuse what only goes with --many, or does not go with it, in the words of the command."""
    init = parameters["init"]
    if not many and init in MANY_STARTS:
        raise click.UsageError(f"--init {init} requires --many")
    if many and init not in ("auto", *MANY_STARTS):
        raise click.UsageError(
            f"--init {init} cannot be combined with --many; use {', '.join(MANY_STARTS)}"
        )
    if many and isinstance(parameters["n_clusters"], list):
        raise click.UsageError("-r: with --many, give one number, or auto")
    if many and parameters["n_init"] > 1:
        raise click.UsageError("--n-init: with --many there is one start; leave it out")
    if many and parameters["restarts"]:
        raise click.UsageError("--restarts cannot be combined with --many; leave it out")
    graph = parameters["affinity"] in (None, "precomputed", "nearest_neighbors")
    if many and (text or not graph):
        raise click.UsageError("--many needs a graph; use --affinity nearest_neighbors")


def _print(text: str, folder: Path) -> None:
    try:
        click.echo(text)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise OSError(f"{folder} was written; only printing failed: {error.strerror}") from error


def _verbose(quiet: bool) -> int:
    """Return what the estimator is to show: nothing, a bar, or a line now and then."""
    if quiet:
        return 0
    return 1 if sys.stderr.isatty() and find_spec("tqdm") else 2


def _save(outcome: "Outcome", folder: Path, force: bool) -> list[str]:
    """Write the run; return what could not be written."""
    from scipy import sparse

    from odsymnmf import report, runs
    from odsymnmf.cli.summary import facts, record
    from odsymnmf.cli.words import features_of
    from odsymnmf.estimators import saving

    model, names = outcome.model, outcome.items.names
    H = model.membership_
    with runs.new_run(folder, force=force) as new:
        sets = outcome.sets if sparse.issparse(H) else None
        runs.write_result(new, names, H, record(outcome), sets, model.labels_)
        saving.save(
            model, new / "model.odsym", names=list(names), features=features_of(outcome.items)
        )
        if outcome.topics is not None:
            runs.write_topics(new, outcome.topics)
        if outcome.similarity is None:
            return ["no report.html: it shows the matrix, which stays on the cluster"]
        try:
            page = report.page(
                outcome.similarity,
                outcome.members,
                model.history_,
                names=names,
                title=outcome.title,
                facts=facts(outcome),
                restarts=model.restarts_.tolist(),
                picture=outcome.picture,
                sets=outcome.sets,
                choice=outcome.choice,
                topics=outcome.topics,
                settings=outcome.settings,
            )
            runs.write_page(new, outcome.picture, page)
        except MemoryError:
            (new / "report.html").unlink(missing_ok=True)  # half of it
            return ["not enough memory for report.html: the tables were written without it"]
    return []


def _affinity(
    inputs: tuple[str, ...],
    affinity: str | None,
    text: bool,
    format: str | None,
    symmetrize: str | None,
) -> str:
    """Return the affinity, if the options go together."""
    if not text:
        if len(inputs) > 1:
            raise click.UsageError("give one INPUT, or --text with several files of plain text")
        return affinity or "precomputed"
    if affinity not in (None, "cosine"):
        raise click.UsageError("--text compares by cosine; leave --affinity out")
    if format or symmetrize:
        raise click.UsageError("--text cannot be combined with --format or --symmetrize")
    return "cosine"


def _default_name(path: str) -> str:
    """Return graph-clusters for data/graph.tsv.gz, in the current folder."""
    name = Path(path).resolve().name
    return (name.strip(".").partition(".")[0] or "odsymnmf") + "-clusters"
