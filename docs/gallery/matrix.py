"""
The sorted matrix
=================

Similarities with the items sorted by cluster: blocks along the diagonal are clusters, and entries
outside the blocks are links between clusters. See :func:`odsymnmf.plots.plot_matrix`.
"""

import odsymnmf as od

A, groups = od.datasets.planted_partition([60, 40, 30, 20], 0.4, 0.03, random_state=0)
model = od.ODSymNMF(4, random_state=0).fit(A)
ax = od.plots.plot_matrix(A, model.membership_)

# %%
# Large matrices are averaged to the resolution of a screen: 20,000 items here.

A, groups = od.datasets.planted_partition([1000] * 20, 0.02, 0.0002, random_state=0)
model = od.ODSymNMF(20, random_state=0).fit(A)
ax = od.plots.plot_matrix(A, model.membership_)
