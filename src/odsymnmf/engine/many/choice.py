"""Whether memberships are stored in full or by their non-zeros: what is possible, and what pays."""

from typing import Any

from scipy import sparse

from odsymnmf.engine.losses import loss_class, names
from odsymnmf.engine.sets import as_sets
from odsymnmf.problem import Similarity
from odsymnmf.resources import available_memory

# The starts that need no full array; "auto" is the first.
STARTS = ("ego", "leiden", "label_propagation")
# Beyond so many clusters and entries of H, full storage takes many times as long.
MANY, LARGE = 500, 2**24
# Full storage holds H, its last complete state, and as much again on the way.
COPIES = 3


def sparse_is_chosen(
    memberships: Any, A: Similarity, r: int | None, *, loss: str, diagonal: str, init: Any
) -> bool:
    """Say whether memberships are to be sparse; ValueError where that is not possible.

    Parameters
    ----------
    memberships : {"auto", "sparse", "full"}
        "auto" is full wherever it can be: r is given, and is at most 500 or n r at most 2^24, and
        the arrays fit into the memory that is available.
    A : Dense, Sparse or Gram
    r : int or None
        None for as many as the start finds.
    loss, diagonal, init
        As for `odsymnmf.factorize`.
    """
    if memberships not in ("auto", "sparse", "full"):
        raise ValueError(
            f'memberships={memberships!r} is not known; use "auto", "sparse" or "full".'
        )
    named = isinstance(init, str) and init in STARTS
    if memberships == "full":
        if r is None:
            raise ValueError(
                'r="auto" takes the number that a start for sparse memberships finds; give r, or '
                'leave memberships="full" out.'
            )
        if named:
            raise ValueError(f'init="{init}" is a start for memberships="sparse" only.')
        return False
    reason = _refusal(A, loss, diagonal, init)
    if memberships == "sparse" or r is None or named:
        if reason is not None:
            why = 'memberships="sparse"' if memberships == "sparse" else 'r="auto"'
            raise ValueError(f"{f'init={init!r}' if named else why} {reason}")
        return True
    # Who has a full array has the room for it.
    full = not (isinstance(init, str) or sparse.issparse(init)) and as_sets(init, A.n, r) is None
    return reason is None and not full and _too_large(A, r)


def _refusal(A: Similarity, loss: str, diagonal: str, init: Any) -> str | None:
    """Return why memberships cannot be sparse, None if they can."""
    if A.sparser is not None:
        return f"needs similarities that are stored as a sparse matrix: give {A.sparser}."
    if diagonal != "ignore":
        return "cannot fit the diagonal, which every column of H has a part in."
    if not loss_class(loss).sparse:
        able = " and ".join(f'loss="{name}"' for name in names() if loss_class(name).sparse)
        return f"is for {able}, not for loss={loss!r}."
    if isinstance(init, str) and init not in ("auto", *STARTS):
        known = ", ".join(repr(name) for name in STARTS)
        return f"cannot start from init={init!r}; use {known}, labels, sets or a CSR array."
    return None


def _too_large(A: Similarity, r: int) -> bool:
    if r > MANY and A.n * r > LARGE:
        return True
    needed = COPIES * A.n * r * A.dtype.itemsize
    if needed < LARGE:  # nobody has so little
        return False
    left = available_memory()
    return left is not None and needed > left
