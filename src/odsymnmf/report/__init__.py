"""A run as one page: what was clustered, how it went, who belongs together.

The page is a single HTML file that needs no network. `matrix_picture` is the picture of the
sorted similarities behind it, small enough to keep.
"""

from odsymnmf.report._page import page
from odsymnmf.report._picture import MatrixPicture, matrix_picture

__all__ = ["MatrixPicture", "matrix_picture", "page"]
