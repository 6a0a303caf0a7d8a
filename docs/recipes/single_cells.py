"""
Single cells
============

Which kinds of cells are there, which genes mark them, and which cells are not clear enough to
count?

The data are 700 blood cells that come with scanpy (``pip install scanpy``): a part of the 68,000
PBMCs of 10x Genomics, with labels made by comparing each cell with sorted populations.
"""

# %%
# The data
# --------
# scanpy's ``pp.neighbors`` has been run already. What it leaves in ``obsp["connectivities"]`` is
# a sparse symmetric matrix of similarities, just what is needed.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc

import odsymnmf as od

adata = sc.datasets.pbmc68k_reduced()
A = adata.obsp["connectivities"]
print(f"{adata.n_obs} cells, {adata.n_vars} genes, {A.nnz // 2} pairs of neighbours")

# %%
# The fit
# -------
# The spectral start suits graphs of neighbours, where groups are connected all through.
#
# These settings were picked with the labels in view: of 6 to 9 clusters, each with two bounds, they
# agree best with the labels (NMI 0.66; the others 0.57 to 0.66). Without labels,
# expect somewhat less.

model = od.ODSymNMF(8, normalize="degree", upper=0.4, init="spectral", random_state=0).fit(A)
adata.obs["odsymnmf"] = pd.Categorical(model.labels_.astype(str))
adata.obsm["X_odsymnmf"] = model.membership_

pd.crosstab(adata.obs["bulk_labels"], adata.obs["odsymnmf"])

# %%
# The picture
# -----------
# Left: the cluster of every cell. Right: how much of the cell's explained similarity that cluster
# stands for. Cells between two clusters are dark.

share = od.memberships.strength(model.membership_).max(axis=1)
x, y = adata.obsm["X_umap"].T
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
for label in np.unique(model.labels_):
    own = model.labels_ == label
    axes[0].scatter(x[own], y[own], s=8, color=plt.cm.tab10(label), label=label)
axes[0].legend(title="cluster", fontsize=8)
points = axes[1].scatter(x, y, s=8, c=share, cmap="viridis", vmin=0.4, vmax=1)
fig.colorbar(points, ax=axes[1], label="share of the cell's own cluster")
for ax in axes:
    ax.set(xlabel="UMAP 1", xticks=[], yticks=[])
axes[0].set_ylabel("UMAP 2")
plt.show()

# %%
# The decision
# ------------
# A cell with a third or more of its similarity in other clusters may be a doublet, in transition,
# or simply not well measured. Set such cells aside before looking for marker genes.

clear = share >= 2 / 3
pd.DataFrame(
    {
        "cells": pd.Series(model.labels_).value_counts().sort_index(),
        "set aside": pd.Series(model.labels_[~clear]).value_counts().sort_index(),
    }
).fillna(0).astype(int)

# %%
# The genes whose mean among the clear cells of a cluster is highest above the mean of all others,
# in units of the standard deviation (``raw`` holds log-normalised counts of all cells):

genes = adata.raw.to_adata().to_df()
genes = (genes - genes.mean()) / genes.std().replace(0, 1)
markers = {}
for label in range(8):
    own = (model.labels_ == label) & clear
    difference = genes[own].mean() - genes[(model.labels_ != label) & clear].mean()
    markers[label] = ", ".join(difference.nlargest(5).index)
pd.Series(markers, name="marker genes").rename_axis("cluster").to_frame()

# %%
# What to do next: name the clusters by their markers, leave the unclear cells out of
# every comparison between clusters, and keep their memberships (``obsm["X_odsymnmf"]``)
# for questions about transitions, where a single label would hide what is going on.
