"""The answer to "how many": a number, a reason, and the table behind both."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.result import Factorization

# Column of the table -> what it is called.
COLUMNS = {
    "n_clusters": "clusters",
    "description_length": "description length",
    "held_out_error": "held-out error",
    "standard_error": "+-",
    "stability": "stability",
    "starts": "between starts",
    "explained": "explained",
    "seconds": "seconds",
}
MEASURES = {
    "description_length": "description length of the graph, in nats: smaller is better",
    "held_out_error": "error on held-out pairs, relative to none explained: smaller is better",
    "stability": "agreement of clusters with 30 % of the items left out: larger is better",
}


@dataclass(frozen=True)
class NumberOfClusters:
    """How many clusters there are, and why.

    Attributes
    ----------
    n_clusters : int
        The recommended number.
    reason : str
        Why, in a sentence or two.
    measure : {"description_length", "held_out_error", "stability"}
        The criterion: a column of the table.
    table : dict of str to ndarray
        One row per candidate, in ascending order: "n_clusters"; "description_length" (graphs),
        "held_out_error" and its "standard_error"; "stability", the mean `agreement` of the clusters
        when items are left out; "starts", the same with a fit from a random start; "explained",
        the share 1 - f(H) / f(0) of the similarities; "seconds". NaN is what was not measured.
        It is what ``pandas.DataFrame`` takes.
    fits : dict of int to Factorization
        The short fit of every candidate.
    bethe_hessian : int or None
        For graphs: the number of negative eigenvalues of the Bethe-Hessian, an estimate of the
        number of groups.
    """

    n_clusters: int
    reason: str
    measure: str
    table: dict[str, Array]
    fits: dict[int, Factorization] = field(repr=False)
    bethe_hessian: int | None = None

    @property
    def candidates(self) -> Array:
        """The numbers of clusters that were tried."""
        return self.table["n_clusters"]

    @property
    def values(self) -> Array:
        """The values of `measure`, for every candidate."""
        return self.table[self.measure]

    def __str__(self) -> str:
        shown = {c: v for c, v in self.table.items() if np.isfinite(v).any()}
        rows = [[COLUMNS[name] for name in shown]]
        for row in zip(*shown.values(), strict=True):
            rows.append(["-" if not np.isfinite(x) else f"{x:.6g}" for x in row])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in rows)
        return "\n".join([*lines, f"{self.n_clusters} clusters: {self.reason}"])

    def plot(self, ax: Any = None) -> Any:
        """Draw the values of `measure` and the number that was chosen.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            try:
                from matplotlib import pyplot as plt
            except ImportError as error:
                raise ImportError('plot needs matplotlib: pip install "odsymnmf[plots]"') from error
            ax = plt.subplots(layout="constrained")[1]
        known = np.isfinite(self.values)
        r, values = self.candidates[known], self.values[known]
        spread = self.table["standard_error"][known]
        if self.measure == "held_out_error":
            ax.errorbar(r, values, yerr=spread, marker="o", capsize=2)
        else:
            ax.plot(r, values, marker="o")
        ax.axvline(self.n_clusters, color="0.6", linestyle="--", zorder=0)
        ax.set(xlabel="number of clusters", ylabel=MEASURES[self.measure].partition(":")[0])
        ax.set_title(f"{self.n_clusters} clusters recommended")
        return ax
