"""
The graph
=========

Items and their links, colored by membership; an item in several clusters is a pie. See
:func:`odsymnmf.plots.plot_graph`.

Three cliques, each of which shares one or two items with the next:
"""

import numpy as np

import odsymnmf as od

A = np.zeros((14, 14))
for clique in [range(6), range(4, 10), range(9, 14)]:
    A[np.ix_(clique, clique)] = 1
model = od.ODSymNMF(3, loss="l1", upper=1).fit(A)
ax = od.plots.plot_graph(A, model, [f"item {i}" for i in range(14)])
