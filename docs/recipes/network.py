"""
A network
=========

Which groups does a network have, who connects them, and who should be contacted first?

The characters of *Les Misérables* stand for any network of people: two of them are linked by the
number of chapters in which they appear together. This page needs
``pip install "odsymnmf[graphs,frames,plots]"``.
"""

# %%
# The data
# --------
# A networkx graph; igraph graphs, sparse matrices and DataFrames work the same way. A file is read
# by ``odsymnmf.io.read("graph.csv")``.

import networkx as nx
import pandas as pd

import odsymnmf as od

G = nx.les_miserables_graph()
print(f"{len(G)} characters, {G.number_of_edges()} pairs that share a chapter")

# %%
# The fit
# -------
# All other settings are chosen from the data. ``ODSymNMF("auto")`` would choose the number of
# clusters, too.

model = od.ODSymNMF(6, random_state=0).fit(G)

groups = model.overlapping_sets()  # of names, the strongest member first
members = pd.DataFrame(
    {
        "members": [len(names) for names in groups],
        "strongest": [", ".join(names[:4]) for names in groups],
    }
)
print(members.rename_axis("group").to_string())

# %%
# The picture
# -----------
# Every character has the color of its group. One that belongs to several groups is drawn as a pie.

ax = od.plots.plot_graph(G, model)

# %%
# The decision
# ------------
# Suppose that you want to reach every group by talking to few people. Characters that connect
# groups belong to several of them. The *strength* of a membership is the fraction of a character's
# explained links that the group explains:

strength = od.memberships.strength(model.membership_frame())
between = pd.DataFrame(
    {
        "groups": [sum(name in names for names in groups) for name in G],
        "largest share": strength.max(axis=1).round(2),
        "links": [G.degree(name) for name in G],
    },
    index=list(G),
)
between = between.sort_values(["groups", "links"], ascending=False).head(8)
print(between.to_string())

# %%
# These are the partners that support the membership of the first of them in its own group, with the
# increase of the error of each pair without that membership:

name = between.index[0]
item, group = list(G).index(name), model.labels_series()[name]
partners, gains = od.memberships.supporting_pairs(model.membership_, model.similarity_, item, group)
print(f"{name} is in group {group} because of")
print("\n".join(f"{list(G)[partners[k]]} ({gains[k]:.3f})" for k in range(6)))

# %%
# So talk to the people of the second table to reach all groups that they connect, and to the
# strongest member of a group (first table) to reach it from within. To go on in Gephi or Cytoscape,
# write the result into the graph:

od.graphs.annotate(G, model)
print(G.nodes[name])
# then, for example, nx.write_gml(G, "network.gml")
