"""
The report
==========

A run as one page that needs no network: search for an item, sort the table, point at the matrix.
``odsymnmf cluster FILE`` writes one for every run; from Python it is
:func:`odsymnmf.report.write`.
"""

# sphinx_gallery_thumbnail_path = 'figures/report.png'

import odsymnmf as od

data = od.datasets.les_miserables()
model = od.ODSymNMF(6, random_state=0).fit(data)
# sphinx_gallery_start_ignore
import os

if os.path.isdir("../made/pages"):  # the site is being built: where its pages are taken from
    os.chdir("../made/pages")
# sphinx_gallery_end_ignore
od.report.write(model, "les_miserables.html", title="Les Misérables")

# %%
# .. raw:: html
#
#    <p><a href="../../les_miserables.html">Open the page by itself</a></p>
#    <iframe class="report" src="../../les_miserables.html" title="The report"></iframe>
