"""Links between items, each given once, as the rows of a symmetric matrix: sorted by counting.

Threads share the links, or the rows: each first counts what it will write to every row, and so
knows where. Written in order, the columns of a row come out in the order of the links; written once
more, row by row into the rows of the columns (the matrix is symmetric), they come out sorted.
"""

from odsymnmf.kernels.compile import kernel


@kernel
def count(items, counts):
    """Add how often each item occurs to ``counts``."""
    for k in range(len(items)):
        counts[items[k]] += 1


@kernel
def write_links(i, j, weights, at, indices, data):
    """Write links into the rows of both their items, of which the next entries are ``at``.

    Weights are written unless their length is 0, and so they are in `write_rows`.
    """
    for k in range(len(i)):
        a, b = i[k], j[k]
        p = at[a]
        at[a] = p + 1
        q = at[b]
        at[b] = q + 1
        indices[p], indices[q] = b, a
        if len(weights):
            data[p] = data[q] = weights[k]


@kernel
def write_rows(indptr, indices, data, begin, end, at, new_indices, new_data):
    """Write the entries of rows ``begin`` to ``end`` into the rows of their columns."""
    for i in range(begin, end):
        for s in range(indptr[i], indptr[i + 1]):
            j = indices[s]
            p = at[j]
            at[j] = p + 1
            new_indices[p] = i
            if len(data):
                new_data[p] = data[s]


@kernel
def are_rising(indptr, indices, begin, end):
    """Whether the columns in each of some rows rise: they are sorted, and none is there twice."""
    for i in range(begin, end):
        for s in range(indptr[i] + 1, indptr[i + 1]):
            if indices[s] <= indices[s - 1]:
                return False
    return True
