"""`odsymnmf score`: how close labels come to a known truth."""

from pathlib import Path

import click

from odsymnmf.cli.options import FilePath

UNASSIGNED = "-1"


@click.command(short_help="Compare labels with a known truth.")
@click.argument("labels", type=FilePath())
@click.argument("truth", type=FilePath())
def score(labels: str, truth: str) -> None:
    """Compare LABELS, such as run/labels.csv, with TRUTH, both tables of names and groups.

    Items are matched by name. Accuracy is the share of items that are right under the best
    matching of clusters with groups; NMI and ARI are those of scikit-learn.
    """
    from odsymnmf.io import InputError, read_labels

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


def _say_missing(count: int, here: str, there: str) -> None:
    if count:
        verb = "name of {} is" if count == 1 else "names of {} are"
        click.echo(f"{count} {verb.format(here)} not in {there}: left out", err=True)
