"""Cluster the characters of Les Miserables by how often they appear together."""

import csv
from pathlib import Path

import matplotlib
import numpy as np

import odsymnmf as od

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OUT = Path("demo")
R = 6


def main() -> None:
    A, names = od.datasets.les_miserables()
    f = od.factorize(A, R, random_state=0)
    f.H[:] = f.H[:, np.argsort(-f.H.sum(axis=0))]
    labels = np.where(f.H.any(axis=1), f.H.argmax(axis=1), -1)
    print(f"Les Miserables: {len(names)} characters, {A.nnz // 2} pairs seen together; {f}")
    for l in range(R):
        members = [i for i in np.argsort(-f.H[:, l]) if labels[i] == l]
        print(f"cluster {l}: " + ", ".join(names[i] for i in members))
    shared = [
        names[i] for i in np.flatnonzero((f.H > 0.5 * f.H.max(axis=1, keepdims=True)).sum(1) > 1)
    ]
    print("in more than one: " + ", ".join(shared))
    OUT.mkdir(exist_ok=True)
    write_table(names, labels, f.H)
    draw(A.toarray(), labels, f.H)
    print(f"wrote {OUT / 'memberships.csv'} and {OUT / 'clusters.png'}")


def write_table(names: list[str], labels: np.ndarray, H: np.ndarray) -> None:
    with open(OUT / "memberships.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "cluster", *(f"membership_{l}" for l in range(R))])
        rows.writerows(
            [name, label, *h.round(4)] for name, label, h in zip(names, labels, H, strict=True)
        )


def draw(A: np.ndarray, labels: np.ndarray, H: np.ndarray) -> None:
    order = np.lexsort((-H.max(axis=1), labels))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.5), width_ratios=[2, 1])
    left.imshow(np.log1p(A[np.ix_(order, order)]), cmap="Greys", interpolation="nearest")
    left.set_title("scenes together, sorted by cluster")
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
