"""Similarities as named arrays: to be written to a file, taken up again, and told apart."""

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.problem.blocking import cleared
from odsymnmf.problem.kinds import Dense, Gram, Similarity, Sparse
from odsymnmf.problem.weights import Weights

KINDS = {"dense": Dense, "sparse": Sparse, "gram": Gram}


def taken_apart(A: Similarity) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what kind of similarities these are, and their arrays by name.

    Parameters
    ----------
    A : Dense, Sparse or Gram

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray or csr_array

    Examples
    --------
    >>> from odsymnmf.problem import as_similarity
    >>> header, arrays = taken_apart(as_similarity([[0, 1], [1, 0]]))
    >>> header, list(arrays)
    ({'kind': 'dense', 'background': 1.0}, ['A'])
    """
    kind = next(name for name, made in KINDS.items() if isinstance(A, made))
    arrays = {"X": A.X} if isinstance(A, Gram) else {"A": A.A}
    if isinstance(A, Sparse):
        arrays["diagonal"] = A.diagonal
    if A.weights.pattern is not None:
        arrays |= {"weights": A.weights.pattern, "values": A.weights.values}
    return {"kind": kind, "background": A.weights.background}, arrays


def put_together(header: dict[str, Any], arrays: dict[str, Any]) -> Similarity:
    """Return the similarities that were taken apart; ValueError if the arrays make none.

    Parameters
    ----------
    header, arrays : dict
        As `taken_apart` returns them, from a file that is not to be trusted.

    Returns
    -------
    Dense, Sparse or Gram
    """
    kind, background = header["kind"], header["background"]
    whole = arrays["X" if kind == "gram" else "A"]
    n = whole.shape[0]
    sound = kind in KINDS and whole.ndim == 2 and n > 0 and isinstance(background, float)
    sound = sound and whole.dtype in (np.float32, np.float64) and 0 <= background < np.inf
    sound = sound and (kind == "gram" or whole.shape[1] == n)
    sound = sound and (kind == "gram" or sparse.issparse(whole) == (kind == "sparse"))
    if not sound:
        raise ValueError("its similarities are no square matrix of numbers")
    weights = Weights(background, *_weights(arrays, n))
    if kind == "dense":
        return Dense(whole, weights)
    if kind == "gram":
        return Gram(_canonical(whole), weights)
    diagonal = arrays["diagonal"]
    if sparse.issparse(diagonal) or diagonal.shape != (n,):
        raise ValueError("its diagonal does not fit its similarities")
    return Sparse(_canonical(whole), diagonal, weights)


def _weights(arrays: dict[str, Any], n: int) -> tuple[Any, Any]:
    if "weights" not in arrays:
        return None, None
    pattern, values = arrays["weights"], arrays["values"]
    if not sparse.issparse(pattern) or pattern.shape != (n, n) or values.shape != (pattern.nnz,):
        raise ValueError("its weights do not fit its similarities")
    return _canonical(pattern.astype(np.float64)), values.astype(np.float64)


def _canonical(X: Any) -> Any:
    """Refuse what kernels take for granted and a forged file need not have."""
    values = X.data if sparse.issparse(X) else X
    if sparse.issparse(X) and not X.has_canonical_format:
        raise ValueError("its rows are not in order")
    if not np.isfinite(values).all():
        raise ValueError("it holds infinite values")
    return X


def copied(A: Similarity) -> Similarity:
    """Return the same similarities in arrays of their own."""
    header, arrays = taken_apart(A)
    return put_together(header, {name: array.copy() for name, array in arrays.items()})


def fingerprint(A: Similarity, diagonal: bool = False) -> str:
    """Return the SHA-256 of all that a fit looks at: equal only for equal problems.

    Parameters
    ----------
    A : Dense, Sparse or Gram
    diagonal : bool
        Whether the diagonal is looked at, too.

    Returns
    -------
    str

    Examples
    --------
    >>> from odsymnmf.problem import as_similarity
    >>> one, other = (as_similarity([[d, 1], [1, d]]) for d in (0, 7))
    >>> fingerprint(one) == fingerprint(other)
    True
    >>> fingerprint(one, diagonal=True) == fingerprint(other, diagonal=True)
    False
    """
    header, arrays = taken_apart(A)
    digest = hashlib.sha256(repr((header, diagonal, A.n)).encode())
    if not diagonal:
        arrays.pop("diagonal", None)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        for piece in _numbers(array, without_own=name == "A" and not diagonal):
            digest.update(np.ascontiguousarray(piece).view(np.uint8).data)
    return digest.hexdigest()


def _numbers(array: Any, without_own: bool) -> Any:
    """Yield the numbers of an array, a bounded part at a time."""
    if sparse.issparse(array):
        for part in (array.indptr, array.indices, array.data):
            yield from _numbers(part, without_own=False)
        return
    for b in blocks(len(array), max(1, 2**20 // max(1, array[:1].size))):
        piece: Array = array[b]
        if without_own:
            piece = cleared(piece.copy(), np.arange(b.start, b.stop))
        yield piece.reshape(-1)
