"""
Single cells
============

Which types of cells are there, which genes mark them, and which cells are too unclear to be
counted?

The data are 700 blood cells that come with scanpy: a part of the 68,000 PBMCs of 10x Genomics, with
labels made by comparing each cell with sorted populations. This page needs
``pip install "odsymnmf[cells]"``.
"""

# %%
# The data
# --------
# ``scanpy.pp.neighbors`` has been run already; its graph of neighbors is clustered.

import pandas as pd
import scanpy as sc

import odsymnmf as od

adata = sc.datasets.pbmc68k_reduced()
print(f"{adata.n_obs} cells, {adata.n_vars} genes")

# %%
# The fit
# -------
# As scanpy's own tools do, it writes its results into ``adata``: labels into ``obs["odsymnmf"]``,
# memberships into ``obsm["odsymnmf"]``. The number of clusters is chosen from the data; if you know
# it, give it: ``od.scanpy.cluster(adata, 8)``.

od.scanpy.cluster(adata)

print(pd.crosstab(adata.obs["bulk_labels"], adata.obs["odsymnmf"]).to_string())

# %%
# The picture
# -----------
# Left: the cluster of every cell. Right: the share of the cell's explained similarity that this
# cluster stands for. Cells between two clusters are dark.

adata.obs["share"] = od.memberships.strength(adata.obsm["odsymnmf"]).max(axis=1)
figure = sc.pl.umap(adata, color=["odsymnmf", "share"], return_fig=True)

# %%
# The decision
# ------------
# A cell with a third or more of its similarity in other clusters may be a doublet, in transition,
# or not well measured. Set such cells aside before looking for marker genes:

clear = adata[adata.obs["share"] >= 2 / 3].copy()
cells = adata.obs["odsymnmf"].value_counts().sort_index()
aside = cells - clear.obs["odsymnmf"].value_counts()
print(pd.DataFrame({"cells": cells, "set aside": aside}).to_string())

# %%
sc.tl.rank_genes_groups(clear, "odsymnmf", method="t-test")
table = {}
for cluster in clear.obs["odsymnmf"].cat.categories:
    members = clear.obs["odsymnmf"] == cluster
    table[cluster] = {
        "mostly": clear.obs.loc[members, "bulk_labels"].mode()[0],
        "marker genes": ", ".join(sc.get.rank_genes_groups_df(clear, cluster)["names"].head(5)),
    }
print(pd.DataFrame(table).T.to_string())

# %%
# What to do next: name the clusters by their markers, leave the unclear cells out of every
# comparison between clusters, and keep their memberships (``obsm["odsymnmf"]``) for questions about
# transitions, where a single label would hide what is going on.
