"""`odsymnmf score`, `plot` and `info`."""

from itertools import chain
from pathlib import Path
from typing import Any

import click

import odsymnmf
from odsymnmf.cli.options import Table, options

UNASSIGNED = "-1"
PLOT: Table = {
    "kind": (click.Choice(["matrix", "convergence", "memberships"]), "matrix", "What to draw."),
    "graph": (click.Path(), None, "Draw the graph in this file, the input of the run, instead."),
    "force": (bool, False, "Replace the picture if it exists."),
}


@click.command(short_help="Compare labels with known groups.")
@click.argument("labels", type=click.Path())
@click.argument("truth", type=click.Path())
@click.option("--covers", is_flag=True, help="Compare clusters that may overlap.")
def score(labels: str, truth: str, covers: bool) -> None:
    """Compare LABELS, a run or its labels.csv, with TRUTH; both are tables of names and groups.

    Items are matched by name. Accuracy is the fraction of correctly labeled items under the best
    matching of clusters with groups; NMI and ARI are those of scikit-learn.

    With --covers, TRUTH has the names of one cluster per line, and LABELS is a run or another such
    file; a name may be on several lines. The output is the overlapping NMI, the mean best-match F1
    and the omega index.
    """
    from odsymnmf import metrics
    from odsymnmf.io import InputError, read_labels

    if covers:
        return _score_covers(labels, truth)
    labels = str(Path(labels, "labels.csv")) if Path(labels).is_dir() else labels
    clusters, classes = read_labels(labels), read_labels(truth)
    common = [name for name in clusters if name in classes]
    if not common:
        raise InputError(f"{labels} and {truth} have no name in common; compare their first column")
    _report_missing(len(clusters) - len(common), labels, truth)
    _report_missing(len(classes) - len(common), truth, labels)
    pairs = (
        [-1 if table[name] == UNASSIGNED else table[name] for name in common]
        for table in (clusters, classes)
    )
    unassigned = sum(clusters[n] == UNASSIGNED and classes[n] != UNASSIGNED for n in common)
    unknown = sum(classes[name] == UNASSIGNED for name in common)
    lines: dict[str, Any] = {k: f"{x:.4f}" for k, x in metrics.scores(*pairs).items()}
    lines["items"] = len(common) - unknown
    lines["unassigned"] = f"{unassigned} (-1): never right for accuracy, one cluster for NMI, ARI"
    lines["unknown"] = f"{unknown} (-1 in {truth}): left out"
    _print(lines)


def _score_covers(path: str, truth: str) -> None:
    from odsymnmf import metrics
    from odsymnmf.io import InputError, read_cover

    cover, true_cover = _cover_of(path), read_cover(truth)
    clustered, known = {*chain(*cover)}, {*chain(*true_cover)}
    if clustered.isdisjoint(known):
        raise InputError(f"{path} and {truth} have no name in common; compare their spelling")
    # Items without a known group are left out.
    _report_missing(len(clustered - known), path, truth)
    clusters = [names for row in cover if (names := [name for name in row if name in known])]
    n = len(known)
    lines = {
        "overlapping NMI": f"{metrics.overlapping_nmi(clusters, true_cover, n):.4f}",
        "best-match F1": f"{metrics.best_match_f1(clusters, true_cover):.4f}",
        "omega index": f"{metrics.omega_index(clusters, true_cover, n):.4f}",
        "clusters": f"{len(clusters)}, compared with {len(true_cover)}",
        "items": f"{n}, {len(known - clustered)} of them in no cluster",
    }
    _print(lines)


def _cover_of(path: str) -> list[list[str]]:
    """Return the clusters of a file, or of a run: as written, or by `overlapping_sets`."""
    from odsymnmf.io import read_cover

    written = Path(path, "clusters.txt")
    if not Path(path).is_dir() or written.exists():
        return read_cover(written if written.exists() else path)
    return _model(Path(path)).overlapping_sets()


def _model(run: Path) -> Any:
    """Return the model of a run."""
    from odsymnmf import load, runs

    runs.read_record(run)
    return load(run / "model.npz")


def _print(lines: dict[str, Any]) -> None:
    for name, value in lines.items():
        click.echo(f"{name:17}{value}")


def _report_missing(number: int, path: str, compared: str) -> None:
    if number:
        click.echo(f"left out, because they are not in {compared}: {number} of {path}", err=True)


@click.command(short_help="Draw a picture of a run.", context_settings={"show_default": True})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Image.")
@options(PLOT)
def plot(run: Path, kind: str, output: Path, graph: str | None, force: bool) -> None:
    """Draw the matrix, convergence or memberships of RUN, a folder written by odsymnmf cluster.

    The picture is a .png, .svg or .pdf file.
    """
    if output.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise click.UsageError(f"{output} must end in .png, .svg or .pdf")
    import matplotlib
    from matplotlib import pyplot as plt

    from odsymnmf.persistence import atomic_write

    if output.exists() and not force:
        raise FileExistsError(f"{output} already exists; use --force to replace it")
    matplotlib.use("Agg")  # needs no screen
    figure = _axes(run, kind, graph).figure
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(output) as file:
        figure.savefig(file, format=output.suffix[1:], dpi=150)
    plt.close(figure)
    click.echo(f"wrote {output}")


def _axes(run: Path, kind: str, graph: str | None) -> Any:
    """Draw a run, or a graph with the memberships of a run."""
    from odsymnmf import io, plots, runs
    from odsymnmf.membership_view import as_view

    if kind == "matrix" and graph is None:
        return plots.plot_matrix(runs.read_picture(run), None)
    model = _model(run)
    if graph is None:
        draw = plots.plot_convergence if kind == "convergence" else plots.plot_memberships
        return draw(model)
    reading = runs.read_record(run)["input"]["options"]
    data = io.read(graph, **{"symmetrize": "max", **reading})
    if {*data.names} != {*model.item_names_}:
        raise io.InputError(f"{graph} and {run} have different items; give the input of the run")
    number = {name: i for i, name in enumerate(model.item_names_)}
    order = [number[name] for name in data.names]
    view = as_view(model.membership_[order], labels=model.labels_[order])
    return plots.plot_graph(data, view)


@click.command()
def info() -> None:
    """Show versions, threads, and the location of compiled code."""
    import numba
    import sklearn

    from odsymnmf.kernels import l2

    _print({"odsymnmf": odsymnmf.__version__, "numba": numba.__version__})
    _print({"numba cache": l2.l2_rows.stats.cache_path})
    sklearn.show_versions()
