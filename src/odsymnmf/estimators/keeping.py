"""What a model was fitted to: as it was then or not at all, and never in a pickle."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from odsymnmf.problem import Similarity, copied, fingerprint, taken_apart

# So many bytes are copied. What is larger may be the caller's own array, and is checked instead: a
# fingerprint takes as long as the first look at A does.
COPIED = 2**25


class Kept:
    """Similarities, and a fingerprint that tells whether somebody has changed them since."""

    def __init__(self, A: Similarity, diagonal: bool):
        self.small = sum(_bytes(array) for array in taken_apart(A)[1].values()) <= COPIED
        self.A, self.diagonal = copied(A) if self.small else A, diagonal
        self.mark = None if self.small else fingerprint(A, diagonal)

    def as_fitted(self) -> Similarity:
        """Return the similarities; ValueError if they are no longer what was fitted."""
        if not self.small and fingerprint(self.A, self.diagonal) != self.mark:
            raise ValueError(
                "the array that was fitted has been changed since, and it was too large to be "
                "copied: its similarities are lost. Fit again, or fit A.copy() before changing A."
            )
        return self.A


def _bytes(array: Any) -> int:
    parts = (array.data, array.indices, array.indptr) if hasattr(array, "indptr") else (array,)
    return sum(int(part.nbytes) for part in parts)


class KeepsSimilarity:
    """`similarity_` of an estimator; a pickle leaves it out, as `save` does."""

    _kept: Kept | None = None

    @property
    def similarity_(self) -> Similarity:
        """What was fitted, after ``affinity`` and ``normalize``."""
        check_is_fitted(self)
        if self._kept is None:
            raise AttributeError(
                "this model has no similarity_: what it was fitted to is left out of files, "
                "pickles and copies of a model, and stays on a cluster. Fit again, or write it "
                "with save(path, similarities=True)."
            )
        return self._kept.as_fitted()

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_kept"}
