"""The result of a search for the number of clusters."""

from dataclasses import dataclass, field

from odsymnmf.utils import Array


def header(name: str) -> str:
    """Return the header of a column of the table."""
    return name.removeprefix("n_").replace("_", " ")


@dataclass(frozen=True)
class NumberOfClusters:
    """A recommended number of clusters, the evidence for it, and the alternatives.

    Attributes
    ----------
    n_clusters : int
        The recommended number.
    evidence : {"clear", "weak", "none"}
        "clear": the clusters are reproduced in every run. "weak": the clusters depend on the run,
        or the graph is small; other numbers may be as good. "none": no clusters beyond those of a
        random graph with the same degrees; ``n_clusters`` is 1, unless candidates or a resolution
        were given.
    reason : str
        The reason for the choice, in one or two sentences.
    row : int or None
        The row of the table that was chosen; None if no partition was.
    table : dict of str to ndarray
        One row per partition, from coarse to fine. "n_clusters"; "stability", from 0 to 1; for
        graphs "resolution", "modularity" (at resolution 1) and "description_length" (in nats), for
        other input "explained", the fraction 1 - f(H) / f(0) of the similarities. It can be passed
        to ``pandas.DataFrame``.
    partitions : list of ndarray of shape (n,)
        The labels of every row of the table; -1 for items that were left out. Those of graphs with
        more than 3,000 items were computed on a coarse graph, unless a resolution was given; a fit
        improves them.
    """

    n_clusters: int
    evidence: str
    reason: str
    row: int | None
    table: dict[str, Array] = field(repr=False)
    partitions: list[Array] = field(repr=False)

    def __str__(self) -> str:
        rows = [[header(name) for name in self.table]]
        for row in zip(*self.table.values(), strict=True):
            rows.append([f"{x:.6g}" for x in row])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in rows)
        number = f"{self.n_clusters} cluster" + "s" * (self.n_clusters != 1)
        return "\n".join([*lines, f"{number}: {self.reason}"])

    @property
    def resolution(self) -> float | None:
        """For graphs: the resolution of modularity that gives ``n_clusters``."""
        if self.row is None or "resolution" not in self.table:
            return None
        return float(self.table["resolution"][self.row])
