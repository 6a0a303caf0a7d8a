"""
A network
=========

Who belongs together in a network, who stands between the groups, and whom to ask first?

The characters of *Les Misérables* stand for any network of people: two of them are linked by the
number of chapters in which they appear together.
"""

# %%
# The data
# --------
# Any symmetric array or sparse matrix of similarities will do. A networkx graph becomes one with
# ``networkx.to_scipy_sparse_array(G)``, where row i is ``list(G)[i]``; a file on the disk with
# ``odsymnmf.io.read("graph.csv")``.

import matplotlib.pyplot as plt
import pandas as pd

import odsymnmf as od

A, names = od.datasets.les_miserables()
print(f"{len(names)} characters, {A.nnz // 2} pairs that share a chapter")

# %%
# The fit
# -------
# In a network some items have many links and most have few. ``normalize="degree"`` makes them
# comparable, and ``upper=0.4`` says that a group of fewer than six or so is not what we look for.

model = od.ODSymNMF(6, normalize="degree", upper=0.4, n_init=20, random_state=0).fit(A)
H = model.membership_

sets = od.memberships.overlapping_sets(H)
pd.DataFrame(
    {
        "members": [len(items) for items in sets],
        "strongest": [", ".join(names[i] for i in items[:4]) for items in sets],
    }
)

# %%
# The picture
# -----------
# Every item has the colour of its cluster. An item that belongs to several clusters is drawn as a
# pie.

ax = od.plots.plot_graph(A, H, names)

# %%
# Sorted by cluster, the groups are blocks along the diagonal. What is off the blocks are the links
# between groups.

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
od.plots.plot_matrix(model.similarity_, H, ax=axes[0])
od.plots.plot_memberships(H, ax=axes[1])
plt.show()

# %%
# The decision
# ------------
# Suppose that you want to reach every group by talking to few people. Those who stand between
# groups are the ones whose explained similarity is spread over several clusters: the *strength* of
# a membership is its share.

strength = od.memberships.strength(H)
between = pd.DataFrame({"name": names, "own cluster": model.labels_})
between["share"] = strength.max(axis=1)
between["links"] = (A != 0).sum(axis=1)
between = between[between["links"] >= 10].sort_values("share").head(8).round(2)
between.set_index("name")

# %%
# Before acting on it, ask why. These are the pairs that hold the first of them in its own cluster,
# with how much the fit of each pair would lose without it:

name = between["name"].iloc[0]
item = names.index(name)
cluster = model.labels_[item]
partners, gains = od.memberships.supporting_pairs(H, model.similarity_, item, cluster)
print(f"{name} is in cluster {cluster} because of")
print("\n".join(f"{names[partners[k]]} ({gains[k]:.3f})" for k in range(6)))

# %%
# So: one conversation with each of the characters above reaches all groups that they connect, and
# one with the strongest member of each cluster (first table) reaches every group from within.
