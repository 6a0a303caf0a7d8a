"""Documents: a member has the rows of its items and the columns of its words."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.problem.following import FEATURES, WORDS, FeatureBlocks, FeatureSums
from odsymnmf.problem.rounds import Moves, Share, Task
from odsymnmf.problem.weights import ORDINARY


class DocumentsPart:
    """A = X X^T, of which a member has the rows of its items and the columns of its words.

    Attributes
    ----------
    X : csr_array or ndarray-like
        The rows of the own items.
    columns : csr_array or ndarray
        All rows, the own words alone; of a full X only these columns, one after the other.
    diagonal : ndarray
        |x_i|^2 of all items.
    owners : ndarray
        Whose each range of words is; a full X has ranges of features.
    rank : int
        Which member this is.
    exchange : callable
        Gives every member a parcel, and returns what they give.
    """

    weights = ORDINARY

    def __init__(
        self,
        X: Any,
        columns: Any,
        diagonal: Array,
        owners: Array,
        rank: int,
        m: int,
        exchange: Callable[[Any], list[Any]],
    ):
        self.X, self.columns, self.diagonal = X, columns, diagonal
        self.owners, self.rank, self.m = owners, rank, m
        self.n, self.dtype, self._exchange = len(diagonal), X.dtype, exchange

    def following(self, H: Array) -> Any:
        """Return the products X^T H that follow changes of H; they are not made here."""
        return (SharedWords if sparse.issparse(self.X) else SharedFeatures)(self, H)

    def words(self, H: Array) -> Array:
        """Return the rows of X^T H of the own words."""
        H64 = H.astype(np.float64, copy=False)
        if not sparse.issparse(self.X):
            own = self.columns
            return FeatureBlocks._sums(own, H64) if own.size else np.empty((0, H.shape[1]))
        return FeatureSums._sums(self.columns, H64)[words_of(self.owners, self.rank, self.m, WORDS)]

    def range_of(self, a: int) -> Any:
        """Return the columns of the a-th range of words, which is this member's."""
        if sparse.issparse(self.X):
            return self.columns[:, a * WORDS : (a + 1) * WORDS]
        before = np.count_nonzero(self.owners[:a] == self.rank) * FEATURES
        return self.columns[:, before : before + FEATURES]

    def own_product(self, items: Array, V: Array) -> Array:
        """Return the rows of A V of the items that are here; all members make it together."""
        return self._from_words(self._exchange(self._word_sums(V)), V, items)

    def _word_sums(self, V: Array) -> Array:
        """Return the rows of X^T V of the own words."""
        sums = self.columns.T @ V
        if not sparse.issparse(self.X):
            return sums
        return np.ascontiguousarray(sums[words_of(self.owners, self.rank, self.m, WORDS)])

    def _from_words(self, parcels: list[Array], V: Array, items: Array) -> Array:
        """Return A V of the items, without the diagonal, given everybody's rows of X^T V."""
        size = WORDS if sparse.issparse(self.X) else FEATURES
        sums = np.empty((self.m, *V.shape[1:]), parcels[0].dtype)
        for rank, some in enumerate(parcels):
            sums[words_of(self.owners, rank, self.m, size)] = some
        own = self.diagonal[items].reshape((-1,) + (1,) * (V.ndim - 1))
        return self.X[items] @ sums - own * V[items]


def words_of(owners: Array, rank: int, m: int, size: int) -> Array:
    """Return which of m words are those of a member, given whose each range of them is."""
    return np.flatnonzero(np.repeat(owners == rank, size)[:m])


class SharedWords(FeatureSums):
    """Z = X^T H of all words; a member makes the changes of its own, and learns of the others."""

    def __init__(self, part: DocumentsPart, H: Array):
        self.part = part
        self.X, self.norms = part.X, part.diagonal
        self.Z = np.zeros((part.m, H.shape[1]))
        self._words, self._staged = {}, []

    @property
    def held(self) -> Any:
        """Of every item, what it has of the own words."""
        return self.part.columns

    def shared(self) -> Any:
        """Return itself: members make the changes of a round together."""
        return self

    def owners(self, tasks: int) -> list[int]:
        """Say whose the tasks of `meetings` are."""
        return self.part.owners.tolist()

    def news(self) -> list[Any]:
        """Return what the own tasks have made: words, and their new rows of Z."""
        return [staged for staged in self._staged if staged is not None]

    def learn(self, news: list[Any]) -> None:
        """Take what others have made."""
        self._staged.extend(news)


class SharedFeatures(SharedWords, FeatureBlocks):
    """The same for a full X, in blocks of features; the columns of the own ones lie together."""

    def owners(self, tasks: int) -> list[int]:
        """Say whose the tasks of `meetings` are; the first is about the diagonal."""
        return [0, *self.part.owners.tolist()]

    def meetings(self, moves: Moves, shares: list[Share]) -> list[Task]:
        some = list(blocks(self.part.m, FEATURES))
        self._staged, steps = [None] * len(some), moves.steps
        members = moves.round.members
        X, tasks, first = self.part.columns[members], [], 0
        for p, b in enumerate(some):
            last = first + (b.stop - b.start) * bool(self.part.owners[p] == self.part.rank)
            tasks.append(partial(self._change, p, b, X[:, first:last], steps))
            first = last
        return [partial(self._own, self.norms[members], steps), *tasks]
