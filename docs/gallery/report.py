"""
The report
==========

A run as one page that needs no network: search for an item, sort the table, point at the matrix.
``odsymnmf cluster FILE`` writes one for every run; from Python it is
:func:`odsymnmf.report.page`.
"""

# sphinx_gallery_thumbnail_path = 'figures/report.png'

from pathlib import Path

import odsymnmf as od

A, names = od.datasets.les_miserables()
model = od.ODSymNMF(6, random_state=0).fit(A)
html = od.report.page(
    model.similarity_,
    model.membership_,
    model.history_,
    names=names,
    title="Les Misérables",
    facts={"items": str(len(names))},
    settings={name: str(value) for name, value in model.settings_.items()},
)
# sphinx_gallery_start_ignore
import os

if os.path.isdir("../made/pages"):  # the site is being built: where its pages are taken from
    os.chdir("../made/pages")
# sphinx_gallery_end_ignore
size = Path("les_miserables.html").write_text(html, encoding="utf-8")
print(f"one page of {size // 1000} kB")

# %%
# .. raw:: html
#
#    <p><a href="../../les_miserables.html">Open the page by itself</a></p>
#    <iframe class="report" src="../../les_miserables.html" title="The report"></iframe>
