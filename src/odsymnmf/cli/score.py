"""`odsymnmf score`: how close labels come to a known truth."""

from pathlib import Path

import click

from odsymnmf.cli.options import FilePath

UNASSIGNED = "-1"


@click.command(short_help="Compare labels with a known truth.")
@click.argument("labels", type=FilePath())
@click.argument("truth", type=FilePath())
@click.option("--covers", is_flag=True, help="Compare clusters that may overlap.")
def score(labels: str, truth: str, covers: bool) -> None:
    """Compare LABELS, such as run/labels.csv, with TRUTH, both tables of names and groups.

    Items are matched by name. Accuracy is the share of items that are right under the best
    matching of clusters with groups; NMI and ARI are those of scikit-learn.

    With --covers, LABELS is a run, or like TRUTH a file with the names of one cluster per line;
    a name may be on several. The output is the overlapping NMI, the mean best-match F1 and the
    omega index.
    """
    from odsymnmf.io import InputError, read_labels

    if covers:
        return _score_covers(labels, truth)
    for path in (labels, truth):
        if Path(path).is_dir():
            raise InputError(f"{path} is a folder; give a table such as {Path(path, 'labels.csv')}")
    found, known = read_labels(labels), read_labels(truth)
    common = [name for name in found if name in known]
    if not common:
        raise InputError(f"{labels} and {truth} have no name in common; compare their first column")
    _say_missing(len(found) - len(common), labels, truth)
    _say_missing(len(known) - len(common), truth, labels)
    values = scores([found[n] for n in common], [known[n] for n in common])
    lines = [f"{name:10}{value:.4f}" for name, value in values.items()]
    unknown = sum(known[name] == UNASSIGNED for name in common)
    loose = sum(found[n] == UNASSIGNED and known[n] != UNASSIGNED for n in common)
    lines.append(f"{'items':10}{len(common) - unknown}")
    if loose:
        lines.append(
            f"{loose} unassigned (-1): never right for accuracy, one cluster for NMI and ARI"
        )
    if unknown:
        lines.append(f"{unknown} of unknown group (-1 in {truth}): left out")
    click.echo("\n".join(lines))  # at once: who reads the first line only is no error


def scores(found: list[str], known: list[str]) -> dict[str, float]:
    """Return accuracy, NMI and ARI of labels as they stand in files, -1 among them."""
    from odsymnmf import metrics

    pairs = ([-1 if v == UNASSIGNED else v for v in values] for values in (found, known))
    return metrics.scores(*pairs)


def _score_covers(found: str, truth: str) -> None:
    from odsymnmf import metrics
    from odsymnmf.io import InputError, read_cover

    ours, known = _cover_of(found), read_cover(truth)
    items = {name for names in known for name in names}
    everybody = {name for names in ours for name in names}
    common = items & everybody
    if not common:
        raise InputError(f"{found} and {truth} have no name in common; compare their spelling")
    loose = len(items - everybody)
    number = {name: i for i, name in enumerate(sorted(items))}
    # What the truth says nothing of can be neither right nor wrong.
    _say_missing(len(everybody - items), found, truth)
    kept = [[number[n] for n in names if n in number] for names in ours]
    sets = [[number[n] for n in names] for names in known]
    kept = [names for names in kept if names]
    n = len(number)
    values = {
        "overlapping NMI": metrics.overlapping_nmi(kept, sets, n),
        "best-match F1": metrics.best_match_f1(kept, sets),
        "omega index": metrics.omega_index(kept, sets, n),
    }
    lines = [f"{name:17}{value:.4f}" for name, value in values.items()]
    lines.append(f"{'clusters':17}{len(kept)}, compared with {len(sets)}")
    lines.append(f"{'items':17}{n}" + (f", {loose} of them in no cluster" if loose else ""))
    click.echo("\n".join(lines))


def _cover_of(path: str) -> list[list[str]]:
    """Return the clusters of a file, or of a run: as written, or by `overlapping_sets`."""
    from odsymnmf.io import read_cover

    written = Path(path, "clusters.txt")
    if not Path(path).is_dir() or written.exists():
        return read_cover(written if written.exists() else path)
    from odsymnmf import runs
    from odsymnmf.drawing import as_members

    names, H = runs.read_membership(Path(path))
    return [[names[i] for i in items.tolist()] for items in as_members(H).sets()]


def _say_missing(count: int, here: str, there: str) -> None:
    if count:
        verb = "name of {} is" if count == 1 else "names of {} are"
        click.echo(f"{count} {verb.format(here)} not in {there}: left out", err=True)
