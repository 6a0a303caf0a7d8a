"""A DataFrame: which measurements say the same, and which few would do?

python examples/dataframe.py FOLDER      (needs odsymnmf[frames,plots])
"""

import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer

import odsymnmf as od


def main(folder: str) -> dict[str, list[str]]:
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)

    # The data: 30 measurements of cell nuclei; their correlations, each with every other.
    table = load_breast_cancer(as_frame=True).data
    similarities = table.corr().clip(lower=0)
    model = od.ODSymNMF(6, max_iter=2000, random_state=0).fit(similarities)

    # The picture: memberships with the names of the measurements.
    H = model.membership_frame()
    od.plots.plot_memberships(H).figure.savefig(home / "dataframe.png", dpi=120)

    # The decision: of every group, keep the measurement that stands for it best.
    groups = {column: H[column].idxmax() for column in H}
    labels = model.labels_series()
    found = {}
    for number, keep in enumerate(groups.values()):
        found[keep] = [name for name in labels.index[labels == number] if name != keep]
        print(f"keep {keep!r}, which stands for: {', '.join(found[keep]) or 'itself'}")
    H.join(labels).to_csv(home / "dataframe.csv")
    return found


if __name__ == "__main__":
    main(sys.argv[1])
