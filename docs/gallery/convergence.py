"""
Convergence
===========

The objective after every sweep. Rings mark columns that were removed and rebuilt because that
lowered it. See :func:`odsymnmf.plots.plot_convergence`.
"""

import odsymnmf as od

A, truth = od.datasets.cliques([20] * 5)
A = od.datasets.flip(A, 0.1, random_state=0)
f = od.factorize(A, 5, loss="l1", init="random", random_state=0)
ax = od.plots.plot_convergence(f)
