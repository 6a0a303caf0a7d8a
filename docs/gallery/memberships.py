"""
Memberships
===========

H itself: one line per item, one column per cluster. Items with colour in two columns belong to two
clusters. See :func:`odsymnmf.plots.plot_memberships`.
"""

import odsymnmf as od

A, names = od.datasets.les_miserables()
model = od.ODSymNMF(6, random_state=0).fit(A)
ax = od.plots.plot_memberships(model.membership_, names)
