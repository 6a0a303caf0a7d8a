"""Make the figures of docs/guide.md and print its numbers: python examples/guide_figures.py"""

import warnings
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import ODSymNMF, memberships

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OUT = Path(__file__).parents[1] / "docs" / "figures"
TRIALS = 5
COLORS = {"l2": "tab:blue", "l1": "tab:orange"}


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    losses()
    reading()


def save(figure: plt.Figure, name: str) -> None:
    figure.tight_layout()
    figure.savefig(OUT / name, dpi=90)
    plt.close(figure)


def show(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def losses() -> None:
    """Wrong links in complete clusters, and clusters that are not complete."""
    noises, densities = [0, 0.05, 0.1, 0.15, 0.2, 0.25], [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    noise = {loss: [noise_accuracy(loss, x) for x in noises] for loss in COLORS}
    sparse = {loss: [density_nmi(loss, x) for x in densities] for loss in COLORS}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for loss, color in COLORS.items():
        axes[0].plot(noises, noise[loss], "o-", color=color, label=loss)
        axes[1].plot(densities, sparse[loss], "o-", color=color, label=loss)
    axes[0].set(xlabel="share of pairs flipped", ylabel="accuracy of H", title="10 cliques of 10")
    axes[1].set(
        xlabel="share of linked pairs inside groups",
        ylabel="NMI",
        title="5 groups of 40, 5 % outside",
    )
    axes[1].yaxis.set_tick_params(labelleft=True)
    axes[0].legend()
    save(figure, "losses.png")
    for title, xs, values in [
        ("accuracy of H, cliques with flipped pairs", noises, noise),
        ("NMI, groups with missing links", densities, sparse),
    ]:
        rows = [[loss, *(f"{y:.2f}" for y in ys)] for loss, ys in values.items()]
        show(title, ["loss", *(f"{x:g}" for x in xs)], rows)


def noise_accuracy(loss: str, delta: float) -> float:
    A, truth = od.datasets.cliques([10] * 10)
    scores = []
    for seed in range(TRIALS):
        noisy = od.datasets.flip(A, delta, random_state=seed)
        H = ODSymNMF(10, loss=loss, normalize=None).fit(noisy).membership_
        scores.append(od.metrics.membership_accuracy(H, truth))
    return float(np.mean(scores))


def density_nmi(loss: str, p_in: float) -> float:
    scores = []
    for seed in range(TRIALS):
        A, groups = od.datasets.planted_partition([40] * 5, p_in, 0.05, random_state=seed)
        labels = ODSymNMF(5, loss=loss, normalize=None).fit_predict(A)
        scores.append(od.metrics.scores(labels, groups)["nmi"])
    return float(np.mean(scores))


def reading() -> None:
    """The characters of Les Miserables: who belongs where, how strongly, and why."""
    data = od.datasets.les_miserables()
    A, names = data.matrix, data.names
    model = ODSymNMF(6).fit(data)
    H, labels = model.membership_, model.labels_
    order = np.lexsort((-H.max(axis=1), labels))
    figure, axes = plt.subplots(1, 3, figsize=(10, 4.2), width_ratios=[2.2, 1, 1])
    axes[0].imshow(np.log1p(A.toarray()[np.ix_(order, order)]), cmap="Greys")
    axes[0].set_title("scenes together, by cluster")
    axes[1].imshow(H[order], aspect="auto", cmap="viridis")
    axes[1].set_title("H")
    axes[2].imshow(memberships.strength(H)[order], aspect="auto", cmap="viridis")
    axes[2].set_title("strength")
    for axis in axes:
        axis.set_yticks([])
        for edge in np.flatnonzero(np.diff(labels[order])) + 0.5:
            axis.axhline(edge, color="tab:red", lw=0.6)
    for edge in np.flatnonzero(np.diff(labels[order])) + 0.5:
        axes[0].axvline(edge, color="tab:red", lw=0.6)
    save(figure, "reading.png")

    sets = model.overlapping_sets()
    rows = [
        [str(l), str(int((labels == l).sum())), str(len(s)), ", ".join(s[:5])]
        for l, s in enumerate(sets)
    ]
    show(
        "Les Miserables",
        ["cluster", "labeled", "in the set", "top members, including overlaps"],
        rows,
    )
    valjean = names.index("Valjean")
    l = labels[valjean]
    items, _ = memberships.supporting_pairs(H, model.similarity_, valjean, l)
    shares = ", ".join(f"{x:.2f}" for x in memberships.strength(H)[valjean])
    print(f"\nValjean: strengths {shares}")
    print(f"supported in cluster {l} by " + ", ".join(names[i] for i in items[:5]))


if __name__ == "__main__":
    main()
