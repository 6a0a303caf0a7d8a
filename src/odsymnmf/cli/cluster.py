"""`odsymnmf cluster`: from a file to a folder with tables and a page to look at."""

import errno
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import FilePath, Number

if TYPE_CHECKING:
    from odsymnmf.cli.summary import Outcome

AFFINITIES = ("precomputed", "cosine", "rbf", "nearest_neighbors")
STARTS = ("greedy", "spectral", "nndsvd", "random", "zero", "l2")
# Those of odsymnmf.io, which is too heavy to be imported for a help text; a test compares.
FORMATS = (
    *("edges", "adjlist", "table", "mtx", "npy", "npz"),
    *("parquet", "graphml", "gexf", "gml", "pajek", "cluto"),
)
# The exit code of a program that Ctrl-C has ended.
INTERRUPTED = 130


@click.command(short_help="Cluster the items of a file.", context_settings={"show_default": True})
@click.argument("inputs", nargs=-1, required=True, type=FilePath(), metavar="INPUT...")
@click.option(
    "-r", "n_clusters", type=click.IntRange(1, 10**9), required=True, help="Number of clusters."
)
@click.option(
    "--loss", type=click.Choice(["l2", "l1"]), default="l2", help="Squared or absolute errors."
)
@click.option(
    "--affinity",
    type=click.Choice(AFFINITIES),
    show_default="precomputed, with --text cosine",
    help="precomputed: INPUT holds similarities or links. Else it holds features, one row per "
    "item, to be compared so.",
)
@click.option("--init", type=click.Choice(STARTS), default="greedy", help="The first start.")
@click.option(
    "--n-init",
    type=click.IntRange(1),
    default=1,
    help="Number of starts, all but the first random; the best is kept.",
)
@click.option(
    "--normalize",
    type=click.Choice(["degree"]),
    help="Divide each link by the root of what its two items have in all: for graphs.",
)
@click.option("--upper", type=Number(0, min_open=True), help="Upper bound on memberships.")
@click.option(
    "--restarts",
    type=click.IntRange(0),
    show_default="0 for l2, 10 for l1",
    help="Most rounds that build clusters anew.",
)
@click.option("--max-iter", type=click.IntRange(0), default=200, help="Most sweeps of a start.")
@click.option("--tol", type=Number(0), default=1e-4, help="Stop when less than this moves.")
@click.option(
    "--seed",
    "random_state",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="Seed of all that is random.",
)
@click.option(
    "--checkpoint",
    type=FilePath(),
    metavar="FILE",
    help="Write the fit down here every minute; the same command goes on from it after a kill.",
)
@click.option(
    "--format", type=click.Choice(FORMATS), help="Format of INPUT, if it is not recognised."
)
@click.option(
    "--symmetrize",
    type=click.Choice(["max", "mean", "sum"]),
    help="Make one link of i to j and j to i, where they differ.",
)
@click.option("--text", is_flag=True, help="INPUT is a folder, or several files, of plain text.")
@click.option(
    "-o",
    "--output",
    type=FilePath(path_type=Path),
    metavar="DIR",
    show_default="named after INPUT",
    help="New folder for the results.",
)
@click.option("--force", is_flag=True, help="Replace the run that DIR holds.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def cluster(
    ctx: click.Context,
    /,
    inputs: tuple[str, ...],
    format: str | None,
    symmetrize: str | None,
    text: bool,
    output: Path | None,
    force: bool,
    quiet: bool,
    **parameters: Any,
) -> None:
    """Cluster the items of INPUT: a graph, a table of similarities, or rows of features.

    INPUT is an edge list or a table (csv, tsv, spaces), Matrix Market, npy, npz, GraphML, GML or
    CLUTO, or with --text a folder of texts. The results are tables (labels.csv, membership.csv),
    run.json, model.odsym for odsymnmf predict and, to be opened in a browser, report.html.

    \b
    a graph     odsymnmf cluster graph.csv -r 8 --normalize degree --upper 0.4 --n-init 20
    documents   odsymnmf cluster letters/ -r 12 --text
    """
    parameters["affinity"] = _affinity(inputs, parameters["affinity"], text, format, symmetrize)
    if parameters["init"] == "l2" and parameters["loss"] != "l1":
        raise click.UsageError("--init l2 is a start for --loss l1; leave it out")
    folder = output or Path(_default_name(inputs[0]))

    from odsymnmf.cli.fit import finishing, fit, read_items
    from odsymnmf.cli.summary import Outcome, advice, notes, summary
    from odsymnmf.runs import check_folder

    def say(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    check_folder(folder, force=force)  # before the work, not after
    features = parameters["affinity"] != "precomputed"
    begun = time.perf_counter()
    items, fingerprint = read_items(
        inputs, text=text, format=format, features=features, symmetrize=symmetrize
    )
    read = time.perf_counter() - begun
    for note in notes(items, parameters["n_clusters"]):
        say(f"note: {note}")
    say(f"read {len(items.names)} items in {read:.1f} s; clustering")
    import odsymnmf.estimators  # noqa: F401  (takes time that is not the fit's)

    begun = time.perf_counter()
    model, ended = fit(items.matrix, parameters, verbose=_verbose(quiet))
    interrupted = ended != 0
    seconds = {"read": read, "fit": time.perf_counter() - begun}
    outcome = Outcome(inputs, items, fingerprint, parameters, model, interrupted, seconds)
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
    from odsymnmf.cli.fit import features_of
    from odsymnmf.cli.summary import facts, record
    from odsymnmf.estimators import saving

    model, names = outcome.model, outcome.items.names
    H = model.membership_
    with runs.new_run(folder, force=force) as new:
        runs.write_result(
            new, names, H, record(outcome), outcome.sets if sparse.issparse(H) else None
        )
        saving.save(
            model, new / "model.odsym", names=list(names), features=features_of(outcome.items)
        )
        if outcome.topics is not None:
            runs.write_topics(new, outcome.topics)
        try:
            page = report.page(
                model.similarity_,
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
        raise click.UsageError("--text goes with neither --format nor --symmetrize")
    return "cosine"


def _default_name(path: str) -> str:
    """Return graph-clusters for data/graph.tsv.gz, in the current folder."""
    name = Path(path).resolve().name
    return (name.strip(".").partition(".")[0] or "odsymnmf") + "-clusters"
