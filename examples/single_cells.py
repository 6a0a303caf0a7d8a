"""Single cells: which types are there, and which cells are in between?

python examples/single_cells.py FOLDER   (needs odsymnmf[cells])
"""

import sys
from pathlib import Path

import scanpy as sc

import odsymnmf as od


def main(folder: str) -> float:
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)

    # The data: 700 blood cells that ship with scanpy, with their nearest neighbours.
    adata = sc.datasets.pbmc68k_reduced()
    od.scanpy.cluster(adata, 8, normalize="degree", init="spectral", max_iter=1000)

    # The picture: scanpy's own, in the colours of the clusters.
    figure = sc.pl.umap(adata, color=["odsymnmf", "bulk_labels"], return_fig=True)
    figure.savefig(home / "single_cells.png", dpi=120, bbox_inches="tight")

    # The decision: cells that are split between types are set aside before marker genes are sought.
    share = od.memberships.strength(adata.obsm["odsymnmf"]).max(axis=1)
    clear = adata[(share > 0.7) & adata.obs["odsymnmf"].notna()].copy()
    print(f"{clear.n_obs} of {adata.n_obs} cells are clearly of one type")
    sc.tl.rank_genes_groups(clear, "odsymnmf", method="t-test", use_raw=False)
    for number in clear.obs["odsymnmf"].cat.categories:
        genes = sc.get.rank_genes_groups_df(clear, number)["names"].head(5)
        known = clear.obs.loc[clear.obs["odsymnmf"] == number, "bulk_labels"].mode()[0]
        print(f"{number} (mostly {known}): {', '.join(genes)}")
    adata.write_h5ad(home / "single_cells.h5ad")
    return float(clear.n_obs / adata.n_obs)


if __name__ == "__main__":
    main(sys.argv[1])
