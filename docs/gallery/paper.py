"""
The paper's figures
===================

``python -m benchmarks.paper all --out DIR`` writes every table and figure of the paper, next to the
published numbers. This one is accuracy by random noise:

.. image:: /results/figure-random-noise.png
   :alt: Accuracy by random noise
   :target: ../../results/figure-random-noise.html

:doc:`All of them </paper_figures>`, each with its numbers and settings.
"""

# sphinx_gallery_thumbnail_path = 'results/figure-random-noise.png'
