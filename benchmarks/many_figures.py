"""The pictures of docs/many_clusters.md: python -m benchmarks.many_figures"""

from pathlib import Path
from typing import Any

import matplotlib

from benchmarks.many_problems import mean_f1, overlapping
from odsymnmf import factorize
from odsymnmf.engine.many import starts
from odsymnmf.engine.many.find import FRACTION, natural_bound
from odsymnmf.engine.many.memberships import Memberships, column_sets
from odsymnmf.engine.many.sweep import SparseL2, links

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OUT = Path(__file__).parents[1] / "docs" / "figures"
SHARES = (0.0, 0.01, 0.05, 0.2)
SWEEPS = 10


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    groups()
    prices()


def save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(OUT / name, dpi=90)
    plt.close(figure)


def groups(n: int = 1200) -> None:
    """A graph as it comes, in the order of its clusters, and H by its non-zeros."""
    A, known = overlapping(n, mixing=0.2, seed=4)
    H = factorize(A, "auto", memberships="sparse").H
    order = starts.order_by_strongest(H)
    found = column_sets(H, FRACTION, 3)
    print(f"{n} items, {len(known)} groups, {H.shape[1]} clusters, {H.nnz} memberships, "
          f"F1 {mean_f1(n, found, known):.3f}")  # fmt: skip
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), width_ratios=[3, 3, 1.4])
    for ax, links_, title in (
        (axes[0], A, "links, as they come"),
        (axes[1], A[order][:, order], "by strongest cluster"),
    ):
        ax.spy(links_, markersize=0.4, color="tab:blue")
        ax.set(title=title, xticks=[], yticks=[])
    entries = H[order].tocoo()
    axes[2].scatter(entries.col, entries.row, c=entries.data, s=2, cmap="viridis", vmin=0)
    axes[2].set(title="H", xlabel="cluster", yticks=[], ylim=(n, 0))
    save(figure, "many_groups.png")


def prices(n: int = 5000) -> None:
    """What a price for a membership does: how many there are, and what they say."""
    A, known = overlapping(n, mixing=0.4, seed=4)
    stored = links(A)
    H = starts.memberships_of(stored, starts.ego_networks(stored))
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for share in SHARES:
        fit = SparseL2(stored, Memberships(H), upper=natural_bound(stored), share=share)
        counts, agreement = [fit.H.nnz / n], [_agreement(fit, known)]
        for _ in range(SWEEPS):
            fit.sweep()
            counts.append(fit.H.nnz / n)
            agreement.append(_agreement(fit, known))
        print(f"price {share}: {counts[-1]:.2f} memberships an item, F1 {agreement[-1]:.3f}")
        axes[0].plot(counts, "o-", markersize=3, label=f"{share:g}")
        axes[1].plot(agreement, "o-", markersize=3, label=f"{share:g}")
    axes[0].set(xlabel="sweep", ylabel="memberships an item", yscale="log")
    axes[1].set(xlabel="sweep", ylabel="F1 with the planted groups")
    axes[1].legend(title="price", loc="lower right")
    save(figure, "many_price.png")


def _agreement(fit: SparseL2, known: Any) -> float:
    return mean_f1(fit.H.n, column_sets(fit.H.csr(), FRACTION, 3), known)


if __name__ == "__main__":
    main()
