"""A run as one page: who belongs together, how the clusters were found, every item to search for.

The page is a single HTML file that needs no network. `matrix_picture` is the picture of the
sorted similarities behind it, small enough to keep.
"""

from odsymnmf.drawing import MatrixPicture, matrix_picture
from odsymnmf.report._choice import Choice
from odsymnmf.report._clusters import Topics
from odsymnmf.report._page import page

__all__ = ["Choice", "MatrixPicture", "Topics", "matrix_picture", "page"]
