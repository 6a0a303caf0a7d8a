"""Numbers of names, in the order in which the names appear."""

from odsymnmf.kernels.compile import kernel


@kernel
def by_lines(codes, rank, order):
    """Number anew what columns hold (``codes[column, line]``): by lines, not by columns.

    ``rank`` comes in as -1 everywhere, and goes out as the new number of each old one; ``order`` is
    the reverse. Every old number occurs.
    """
    count = 0
    for line in range(codes.shape[1]):
        for column in range(codes.shape[0]):
            old = codes[column, line]
            if rank[old] < 0:
                rank[old] = count
                order[count] = old
                count += 1
            codes[column, line] = rank[old]
