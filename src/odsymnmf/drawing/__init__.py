"""What every picture of a result needs: colours, layout, shades, the matrix in small.

`odsymnmf.plots` draws with it for matplotlib, `odsymnmf.report` for a page. Memberships may be an
array or sparse, with any number of columns: nothing here makes an n x r array of sparse ones.
"""

from odsymnmf.drawing.picture import MOST_CLUSTERS, MatrixPicture, matrix_picture
from odsymnmf.members import Members, as_members

__all__ = ["MOST_CLUSTERS", "MatrixPicture", "Members", "as_members", "matrix_picture"]
