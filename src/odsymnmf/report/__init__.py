"""A result as one HTML page: the clusters, the fit, and a table of all items.

The page is a single file that needs no network. `matrix_picture` is the picture of the sorted
similarities in it, small enough to save.
"""

from odsymnmf.plots import MatrixPicture, matrix_picture
from odsymnmf.report._page import page, write
from odsymnmf.report._tables import Topics

__all__ = ["MatrixPicture", "Topics", "matrix_picture", "page", "write"]
