"""Cluster the characters of Les Miserables by how often they appear together."""

import csv
from pathlib import Path

import matplotlib
import numpy as np

import odsymnmf as od
from odsymnmf.memberships import overlapping_sets

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OUT = Path("demo")


def main() -> None:
    A, names = od.datasets.les_miserables()
    model = od.ODSymNMF(6, max_iter=2000, random_state=0).fit(A)
    print(f"Les Miserables: {len(names)} characters, {A.nnz // 2} pairs seen together")
    sets = overlapping_sets(model.membership_, "auto", A=A, tolerance=0.1)
    for l, members in enumerate(sets):
        print(f"\ncluster {l}: " + ", ".join(names[i] for i in members))
    clusters = np.bincount(np.concatenate(sets), minlength=len(names))
    print("\nin several: " + ", ".join(names[i] for i in np.flatnonzero(clusters > 1)))
    OUT.mkdir(exist_ok=True)
    write_table(names, model)
    draw(A.toarray(), model)
    print(f"\nwrote {OUT / 'memberships.csv'} and {OUT / 'clusters.png'}")


def write_table(names: list[str], model: od.ODSymNMF) -> None:
    with open(OUT / "memberships.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["name", "cluster", *model.get_feature_names_out()])
        for name, label, h in zip(names, model.labels_, model.membership_, strict=True):
            table.writerow([name, label, *h.round(4)])


def draw(A: np.ndarray, model: od.ODSymNMF) -> None:
    H, labels = model.membership_, model.labels_
    order = np.lexsort((-H.max(axis=1), labels))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.5), width_ratios=[2, 1])
    left.imshow(np.log1p(A[np.ix_(order, order)]), cmap="Greys", interpolation="nearest")
    left.set_title("scenes together, characters sorted by cluster")
    right.imshow(H[order], aspect="auto", cmap="viridis", interpolation="nearest")
    right.set_title("membership H")
    right.set_xlabel("cluster")
    for edge in np.flatnonzero(np.diff(labels[order])) + 0.5:
        left.axhline(edge, color="tab:red", lw=0.6)
        left.axvline(edge, color="tab:red", lw=0.6)
        right.axhline(edge, color="white", lw=0.6)
    figure.tight_layout()
    figure.savefig(OUT / "clusters.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
