"""
Memberships
===========

H itself: one line per item, one column per cluster. Items with color in two columns belong to two
clusters. See :func:`odsymnmf.plots.plot_memberships`.
"""

import odsymnmf as od

data = od.datasets.les_miserables()
model = od.ODSymNMF(6, random_state=0).fit(data)
ax = od.plots.plot_memberships(model)
