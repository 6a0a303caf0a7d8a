"""Is a sparse matrix symmetric? One pass, no transposed copy."""

from odsymnmf.kernels.compile import kernel


@kernel
def worst_asymmetry(indptr, indices, data, met, begin, end):
    """Return the largest |A_ij - A_ji| of rows and where, for CSR with sorted, unique indices.

    Rows are visited in order, so the partners (j, i) of the entries (i, j) are met in row j from
    left to right: ``met``, at first a copy of indptr, marks how far.
    """
    worst, row, column = 0.0, -1, -1
    for i in range(begin, end):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            while met[j] < indptr[j + 1] and indices[met[j]] < i:
                met[j] += 1
            found = met[j] < indptr[j + 1] and indices[met[j]] == i
            difference = abs(data[p] - data[met[j]]) if found else abs(data[p])
            if difference > worst and i != j:
                worst, row, column = difference, i, j
    return worst, row, column
