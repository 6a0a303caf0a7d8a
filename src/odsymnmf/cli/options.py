"""Options of the commands, in tables, and text for the terminal."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

# Key of the exit code of an interrupted command in the context of click.
EXIT_CODE = "odsymnmf.exit_code"


def parsed(parse: Callable[[str], Any], form: str) -> Callable[[str], Any]:
    """Return an option type: ``parse``, whose ValueError becomes a usage error."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not of the form {form}") from None

    convert.__name__ = form  # shown by --help
    return convert


def cluster_numbers(text: str) -> Any:
    """Return a number of clusters, the numbers of a range, or "auto"."""
    low, dash, high = text.partition("-")
    if text == "auto" or not dash:
        return text if text == "auto" else int(text)
    numbers = range(int(low), int(high) + 1)
    if not 0 < len(numbers) <= 10_000:
        raise ValueError
    return [*numbers]


def bound(text: str) -> Any:
    """Return a number, "auto" or "none"."""
    return text if text in ("auto", "none") else float(text)


def count_or_fraction(text: str) -> Any:
    """Return an int for a number of texts, a float for a fraction of them."""
    return int(text) if text.isdecimal() else float(text)


# Copies of names in the library, which help texts do not import; a test compares them.
FORMATS = (
    *("edges", "table", "npy", "npz", "mtx", "parquet"),
    *("graphml", "gexf", "gml", "pajek", "adjlist"),
)
INITIALIZATIONS = ("auto", "multilevel", "greedy", "spectral", "random", "zero", "ego")

COLUMNS = parsed(lambda text: text.split(","), "SOURCE,TARGET[,WEIGHT]")

# Options with the names of arguments: type, default, help, and further flags.
Table = Mapping[str, Sequence[Any]]

# Arguments of ODSymNMF, with its defaults except for n_clusters, affinity and random_state.
FIT: Table = {
    "n_clusters": (
        parsed(cluster_numbers, "N|N-N|auto"),
        "auto",
        "Number of clusters; auto, or a range such as 2-30, chooses the best number.",
        "-r",
    ),
    "resolution": (float, None, "With -r auto, for graphs: larger values give more clusters."),
    "sparse_membership": (bool, False, "For thousands of clusters: store only nonzeros.", "--many"),
    "loss": (
        click.Choice(["l2", "l1", "mixed", "robust"]),
        "l2",
        "Squared errors, absolute errors, both (--l1-ratio), or the larger of the two.",
    ),
    "l1_ratio": (float, 0.5, "Weight of absolute errors, with --loss mixed."),
    "affinity": (
        click.Choice(["precomputed", "cosine", "rbf", "nearest_neighbors"]),
        None,
        "precomputed (default): INPUT contains similarities or links. Otherwise it contains "
        "features, one row per item, compared in this way; cosine for texts.",
    ),
    "n_neighbors": (int, 10, "Neighbors of each item, with --affinity nearest_neighbors."),
    "gamma": (float, None, "exp(-gamma |x - y|^2), with --affinity rbf; 1 / features by default."),
    "init": (click.Choice(INITIALIZATIONS), "auto", "First initialization; ego only with --many."),
    "n_init": (int, 1, "Number of initializations; all but the first are random."),
    "normalize": (click.Choice(["auto", "degree", "none"]), "auto", "Normalization by degrees."),
    "upper": (parsed(bound, "FLOAT|auto|none"), "auto", "Upper bound on memberships."),
    "zero_weight": (float, 1.0, "Weight of the pairs that INPUT does not list."),
    "restarts": (int, None, "Rounds of column restarts; default 10 for l1 and mixed, else 0."),
    "max_iter": (int, 200, "Maximum number of iterations."),
    "tol": (float, 1e-4, "Tolerance for stopping."),
    "n_jobs": (int, None, "Number of threads, -1 for all cores; any number gives the same result."),
    "random_state": (int, 0, "Random seed."),
    "checkpoint": (click.Path(), None, "File from which the same command resumes the fit."),
    "checkpoint_every": (float, 60.0, "Seconds between two checkpoints."),
}
# Arguments of io.read.
READING: Table = {
    "format": (click.Choice(FORMATS), None, "Format of the file; recognized by default."),
    "header": (bool, None, "Whether the first row of an edge list or a table is a header."),
    "columns": (COLUMNS, None, "Columns of an edge list, by name or by number from 1."),
    "weight_column": (str, None, "Column of the weights; of a graph file, the edge attribute."),
    "symmetrize": (click.Choice(["max", "mean", "sum"]), None, "Combination of both directions."),
}
OUTPUT: Table = {
    "output": (click.Path(path_type=Path), None, "Folder to create; named after the input.", "-o"),
}


def options(*tables: Table) -> Callable[[Any], Any]:
    """Return a decorator that adds the options of tables to a command."""

    def add(command: Any) -> Any:
        entries = [entry for table in tables for entry in table.items()]
        for name, (kind, default, text, *flags) in reversed(entries):
            flag = "--" + name.replace("_", "-")
            if kind is bool and default is None:
                flag = f"{flag}/--no-{name}"
            decorator = click.option(flag, *flags, name, type=kind, default=default, help=text)
            if kind is bool and default is False:
                decorator = click.option(flag, *flags, name, is_flag=True, help=text)
            command = decorator(command)
        return command

    return add


def given(parameters: dict[str, Any], table: Table) -> dict[str, Any]:
    """Remove the options of a table from the parameters; return those that are not the default."""
    values = {name: parameters.pop(name) for name in table}
    return {name: value for name, value in values.items() if value is not table[name][1]}


def output_name(path: str, ending: str) -> Path:
    """Return the default output folder, such as graph-clusters for data/graph.tsv.gz."""
    name = Path(path).resolve().name.strip(".").partition(".")[0]
    return Path(f"{name or 'odsymnmf'}-{ending}")


def one_line(error: BaseException) -> str:
    """Return the message of an error, in one line."""
    if isinstance(error, MemoryError):
        return plain(f"not enough memory: {str(error) or 'the input is too large'}", 2000)
    return plain(str(error), 2000)


def plain(name: str, length: int = 30) -> str:
    """Return a name in one line without control characters, for a terminal."""
    line = " ".join(str(name).split())
    line = "".join("?" if unicodedata.category(c) in {"Cc", "Cf", "Cs"} else c for c in line)
    return line if len(line) <= length else line[: length - 1] + "…"
