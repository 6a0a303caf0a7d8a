"""The losses: the objective, and one sweep of coordinate descent over all entries of H.

`L2` is f(H) = sum_{i != j} (A_ij - h_i . h_j)^2, with ``fit_diagonal`` over all i, j (symNMF);
`L1` is f(H) = sum_{i != j} |A_ij - h_i . h_j|. A sweep changes H in place and returns by how much
f fell and how far from optimal H was, as a number that the solver compares with its tolerance.

For column restarts a loss also sweeps a few items only, and says what a column is worth: by how
much f would rise without it. What it keeps of H for that (sums over all items) can be set aside
before a trial and put back after it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf import kernels
from odsymnmf.similarity import BLOCK, Dense, Gram, Similarity, Sparse, blocks, pair_squares

Array = NDArray[Any]

# Sweeps between two exact computations of what is otherwise updated: D, Z.
REFRESH = 10


class L2:
    """sum_{i != j} (A_ij - h_i . h_j)^2: every row of H a nonnegative least squares problem."""

    def __init__(self, A: Similarity, upper: float, fit_diagonal: bool = False):
        self.A = A
        self.upper = upper
        self.fit_diagonal = fit_diagonal
        self.diagonal = _finite_diagonal(A) if fit_diagonal else None
        self._sweeps = 0
        self._first_violation = 0.0

    def objective(self, H: Array) -> float:
        """|A|^2 - 2 <A, H H^T> + |H H^T|^2, all off the diagonal, in O(K r + n r^2)."""
        H64 = H.astype(np.float64, copy=False)
        # A Gram matrix takes its large diagonal out of the product: in float32, too much is lost.
        product = self.A.product(H64 if isinstance(self.A, Gram) else H)
        inner = float(np.einsum("ij,ij->", H64, product, dtype=np.float64))
        value = max(0.0, self.A.energy - 2.0 * inner + pair_squares(H64))
        if self.diagonal is not None:
            norms = np.einsum("ij,ij->i", H64, H64)
            value += float(np.sum((self.diagonal - norms) ** 2))
        return value

    def sweep(self, H: Array, empty: float = 0.0) -> tuple[float, float]:
        """Update every row of H; the violation is relative to that of the first sweep."""
        if self._sweeps % REFRESH == 0:
            if empty == 0.0 and not self.fit_diagonal:
                tidy(H)
            self.refresh(H)
        self._sweeps += 1
        falls, violations = zip(*self._pieces(H, np.arange(len(H)), empty), strict=True)
        violation = float(sum(violations))
        self._first_violation = self._first_violation or violation
        if violation <= self._rounding(H):
            return float(sum(falls)), 0.0
        return float(sum(falls)), violation / self._first_violation

    def _rounding(self, H: Array) -> float:
        """What rounding leaves of the violation: the sum of H D, which A H balances, times eps."""
        total = np.ones(len(H), dtype=H.dtype) @ H @ self._D.sum(axis=1)
        return 16.0 * float(np.finfo(H.dtype).eps * total)

    def refresh(self, H: Array) -> None:
        """Compute anew what sweeps keep up to date."""
        self._sweeps = 0
        H64 = H.astype(np.float64, copy=False)
        self._D = H64.T @ H64
        self._peak = np.zeros(H.shape[1])
        if isinstance(self.A, Gram):
            pieces = (self.A.X[b].T @ H64[b] for b in blocks(len(H), 2**15))
            self._Z = np.ascontiguousarray(sum(pieces))

    def sweep_items(self, H: Array, items: Array) -> float:
        """Update the rows of the items; return the fall of f."""
        return float(sum(fall for fall, _ in self._pieces(H, items, 0.0)))

    def column_sums(self, H: Array) -> Array:
        """Return sum_i H_il for each column l."""
        return H.sum(axis=0, dtype=np.float64)

    def worth(self, H: Array, j: int, items: Array) -> tuple[float, float]:
        """Return by how much f would rise without column j, and the size of the terms of that.

        With R = A minus the other columns and x_ik = H_ij H_kj, sum_{i != k} 2 R_ik x_ik - x_ik^2.
        ``items`` are those with an entry in the column, at least.
        """
        column = H[:, j].astype(np.float64)
        h, others = column[items], H[items].astype(np.float64)
        others[:, j] = 0.0
        A_xx = float(column @ self.A.product(column if isinstance(self.A, Gram) else H[:, j]))
        sums, norms = h @ others, np.einsum("ij,ij->i", others, others)
        explained = float(sums @ sums - h**2 @ norms)
        squares = 2.0 * float(h[1:] ** 2 @ np.cumsum(h**2)[:-1])
        value = 2.0 * (A_xx - explained) - squares
        if self.diagonal is not None:
            P = self.diagonal[items] - norms
            value += float(np.sum(h**2 * (2.0 * P - h**2)))
        return value, 2.0 * (abs(A_xx) + float(sums @ sums)) + squares

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""
        h = H[items, j].astype(np.float64)
        self._D[j] = self._D[:, j] = h @ H[items]
        self._peak[j] = 0.0
        if isinstance(self.A, Gram):
            self._Z[:, j] = self.A.X[items].T @ h

    def set_aside(self, items: Array) -> tuple[Any, ...]:
        """Return what changes of the items' rows can change."""
        state = (self._D.copy(), self._peak.copy())
        if not isinstance(self.A, Gram):
            return state
        X = self.A.X[items]
        words = np.unique(X.indices) if sparse.issparse(X) else slice(None)
        return (*state, words, self._Z[words].copy())

    def put_back(self, state: tuple[Any, ...]) -> None:
        self._D, self._peak, *features = state
        if features:
            words, Z = features
            self._Z[words] = Z

    def _pieces(self, H: Array, items: Array, empty: float) -> Any:
        """Yield the fall and the violation of one block of rows after another."""
        A = self.A
        state = (H, self._D, self._peak, self.upper, empty, self.diagonal)
        rows: tuple[Any, ...]
        if isinstance(A, Sparse):
            S = A.A
            rows = (S.indptr, _unsigned(S.indices), S.data, H, None, None, None)
            for b in A.item_blocks():
                yield kernels.l2.sweep(items[b], *rows, *state)
        elif isinstance(A, Gram) and sparse.issparse(A.X):
            rows = (A.X.indptr, _unsigned(A.X.indices), A.X.data, self._Z, A.diagonal, None, None)
            for b in blocks(len(items), 2**15):
                yield kernels.l2.sweep(items[b], *rows, *state)
        else:
            for b in blocks(len(items), BLOCK):
                some = _run(items[b])
                before, square = H[some].copy(), A.square(some)
                G = (
                    A.block_product(H, some, square)
                    if isinstance(A, Dense)
                    else A.block_product(self._Z, before, some)
                )
                rows = (None, None, None, None, None, G, square)
                yield kernels.l2.sweep(items[b], *rows, *state)
                if isinstance(A, Gram):
                    self._Z += A.X[some].T @ np.subtract(H[some], before, dtype=np.float64)


class L1:
    """sum_{i != j} |A_ij - h_i . h_j|: every entry of H a weighted median over the neighbours."""

    def __init__(self, A: Similarity, upper: float):
        self.A = A
        self.upper = upper

    def objective(self, H: Array) -> float:
        """sum_{i != j} p_ij + sum over stored pairs of |A_ij - p_ij| - p_ij, p_ij = h_i . h_j.

        The first sum is 2 sum_i h_i . (sum of the rows before i), so that no h_i . h_i enters.
        """
        before = np.cumsum(H, axis=0, dtype=np.float64)
        everywhere = 2.0 * float(np.einsum("ij,ij->", H[1:], before[:-1]))
        stored = sum(
            kernels.l1.stored_error(*piece, H) for piece in self._pieces(np.arange(len(H)))
        )
        return max(0.0, everywhere + float(stored))

    def sweep(self, H: Array, empty: float = 0.0) -> tuple[float, float]:
        """Update every row of H; the violation is the largest change beside the largest entry."""
        if empty == 0.0:  # else the start's lone entries are to grow
            tidy(H)
        self.refresh(H)
        falls, changes = zip(*self._sweeps(H, np.arange(len(H)), empty), strict=True)
        top, largest = float(H.max(initial=0.0)), max(changes)
        return float(sum(falls)), largest / top if top > 0 else largest

    def refresh(self, H: Array) -> None:
        """Compute anew what sweeps keep up to date."""
        self._W = H.sum(axis=0, dtype=np.float64)
        # H.any(axis=1), in a fifth of the time.
        self._held = H @ np.ones(H.shape[1], dtype=H.dtype) > 0
        self._peak = np.zeros(H.shape[1])

    def sweep_items(self, H: Array, items: Array) -> float:
        """Update the rows of the items; return the fall of f."""
        return float(sum(fall for fall, _ in self._sweeps(H, items, 0.0)))

    def column_sums(self, H: Array) -> Array:
        """Return sum_i H_il for each column l, as kept since the last refresh."""
        return self._W.copy()

    def worth(self, H: Array, j: int, items: Array) -> tuple[float, float]:
        """Return by how much f would rise without column j, and the size of the terms of that.

        With R = A minus the other columns and x_ik = H_ij H_kj, sum_{i != k} of
        |R_ik| - |R_ik - x_ik|, which is -x_ik where nothing is stored. ``items`` are those with
        an entry in the column, at least.
        """
        h = H[items, j].astype(np.float64)
        everywhere = 2.0 * float(h[1:] @ np.cumsum(h)[:-1])
        stored = sum(kernels.l1.stored_gain(*piece, j, H) for piece in self._pieces(items))
        return float(stored) - everywhere, float(stored) + everywhere

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""
        self._W[j] = H[items, j].sum(dtype=np.float64)
        self._held[items] = True
        self._peak[j] = 0.0

    def set_aside(self, items: Array) -> tuple[Any, ...]:
        """Return what changes of the items' rows can change."""
        return self._W.copy(), self._peak.copy()

    def put_back(self, state: tuple[Any, ...]) -> None:
        self._W, self._peak = state

    def _sweeps(self, H: Array, items: Array, empty: float) -> Any:
        """Yield the fall and the largest change of one block of rows after another."""
        for piece in self._pieces(items):
            yield kernels.l1.sweep(*piece, H, self._W, self._held, self._peak, self.upper, empty)

    def _pieces(self, items: Array) -> Any:
        for b in self.A.item_blocks():
            if b.start < len(items):
                some = items[b]
                yield (some, *self.A.rows(some))


Loss = L2 | L1


def _run(items: Array) -> slice | Array:
    """Return the items as a slice where they are consecutive."""
    if items[-1] - items[0] == len(items) - 1:
        return slice(int(items[0]), int(items[-1]) + 1)
    return items


def tidy(H: Array) -> None:
    """Clear columns with one entry, which explain no pair, and balance those with two.

    Neither changes the objective: a lone entry meets only itself, and (s, t) explains one pair
    by s t, as (sqrt(s t), sqrt(s t)) does. Left alone, both can grow without bound.
    """
    counts = _entries(H)
    H[:, counts == 1] = 0
    for l in np.flatnonzero(counts == 2):
        i, j = np.flatnonzero(H[:, l])
        H[i, l] = H[j, l] = np.sqrt(float(H[i, l]) * float(H[j, l]))


def _entries(H: Array) -> Array:
    """Return how many entries each column has, as products: BLAS counts four times as fast."""
    pieces = (H[b] > 0 for b in blocks(len(H), 2**12))
    # Beyond 2^24, adding 1 changes nothing: many are many.
    return np.asarray(sum(np.ones(len(p), np.float32) @ p.astype(np.float32) for p in pieces))


def _finite_diagonal(A: Similarity) -> Array:
    diagonal = np.array(A.diagonal, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(diagonal))
    if bad.size:
        raise ValueError(
            f"A[{bad[0]}, {bad[0]}] is {diagonal[bad[0]]}, but the diagonal is to be fitted. "
            'Replace it, or leave the diagonal out with diagonal="ignore".'
        )
    return diagonal


def _unsigned(indices: Array) -> Array:
    """Return the indices without a sign, so that no kernel has to ask if one is below zero."""
    return indices.view(f"u{indices.itemsize}")
