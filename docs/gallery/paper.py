"""
The paper's figures
===================

``odsymnmf reproduce all --out DIR`` draws every table and figure of the paper again, next to the
numbers that it prints. This one is accuracy by random noise:

.. image:: /results/figure-random-noise.png
   :alt: Accuracy by random noise
   :target: ../../results/figure-random-noise.html

:doc:`All of them </paper_figures>`, each with its numbers and settings.
"""

# sphinx_gallery_thumbnail_path = 'results/figure-random-noise.png'
