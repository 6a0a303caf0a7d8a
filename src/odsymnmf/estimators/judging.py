"""Questions to a fitted model: where new items belong, how well it predicts, who is where."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from odsymnmf.arrays import as_csr, blocks
from odsymnmf.engine.losses.new_items import solve_rows
from odsymnmf.estimators.scoring import foretold
from odsymnmf.inputs import called
from odsymnmf.memberships import Rule, labels, overlapping_sets
from odsymnmf.options import bound
from odsymnmf.problem import blocking, without_diagonal_entries


class JudgingMixin:
    """`predict_membership`, `predict`, `score` and `overlapping_sets` of an estimator."""

    membership_: Any
    similarity_: Any
    zero_weight: float
    _affinities: Any
    _scales: Any
    settings_: Any
    item_names_: Any
    _validated: Any

    def predict_membership(self, X: Any) -> Any:
        """Find memberships of new items, with those of the fitted items held fixed.

        Row x minimises sum_j |S_j - x . h_j|^p over 0 <= x <= upper, where S_j is the similarity
        of the new item to the fitted item j. This is a convex problem, solved to optimality for
        l2; for l1, until no single entry of x can be improved.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_samples) or (n_new, n_features)
            Similarities of the new items to the fitted ones if ``affinity="precomputed"``, else
            one row of features per new item. NaN marks a similarity that is not known: the pair
            is left out. So row k of the fitted matrix, with NaN in place k, asks where item k
            belongs as far as the others can tell: at convergence, that is row k of
            ``membership_`` (with l1, if coordinate descent gets there; not with `SymNMF`, which
            fits the diagonal too).

        Returns
        -------
        membership : ndarray or scipy.sparse.csr_array of shape (n_new, n_clusters)
            Sparse where ``membership_`` is; then a membership has its price here, too.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        H = self.membership_
        kept_sparse = sparse.issparse(H)
        if kept_sparse:  # Numba, which takes time to import
            from odsymnmf.engine.many.new_items import solve_sparse_rows
        solve = partial(
            solve_sparse_rows if kept_sparse else solve_rows,
            H=H,
            scales=self._scales,
            upper=bound(self.settings_["upper"]),
            zero_weight=self.zero_weight,
        )
        pieces = blocks(X.shape[0], max(1, blocking.BLOCK_ENTRIES // H.shape[0]))
        found = [solve(self._affinities.to_fitted(X[b])) for b in pieces]
        return sparse.vstack(found, format="csr") if kept_sparse else np.concatenate(found)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Find the clusters of new items: the largest entry of `predict_membership`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_samples) or (n_new, n_features)
            As for `predict_membership`.

        Returns
        -------
        labels : ndarray of shape (n_new,)
            -1 for an item that belongs to no cluster.
        """
        return labels(self.predict_membership(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of new items' similarities that is foretold: larger is better.

        1 - f / f(0), where each similarity of a new item is foretold from its similarities to four
        fifths of the other fitted items, so that more clusters do not score better just because
        they are more. Works with GridSearchCV and cross_val_score, for any affinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_samples) or (n_new, n_features)
            As for `predict_membership`. Similarities of as many items as were fitted are taken for
            those of the fitted items themselves, and their diagonal is not looked at.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        float
            At most 1. 0 is what no memberships at all would score.
        """
        check_is_fitted(self)
        H = self.membership_
        n = H.shape[0]
        if self._affinities.given:
            X = _without_own(X, n)
        X = self._validated(X, reset=False)
        rest = self._scales, bound(self.settings_["upper"]), self.zero_weight
        # Sparse memberships have sparse similarities, which take no more room at once.
        size = X.shape[0] if sparse.issparse(H) else max(1, blocking.BLOCK_ENTRIES // n)
        pieces = blocks(X.shape[0], size)
        parts = [foretold(self._affinities.to_fitted(X[b]), H, *rest) for b in pieces]
        loss, alone = np.sum(parts, axis=0)
        return float(1 - loss / alone) if alone > 0 else 0.0

    def overlapping_sets(
        self, threshold: float | None = None, *, rule: Rule = "strength"
    ) -> list[Any]:
        """Return the items of every cluster; an item may be in several, or in none.

        Parameters
        ----------
        threshold, rule
            As for `odsymnmf.memberships.overlapping_sets`; what was fitted is known here.

        Returns
        -------
        list of n_clusters lists or arrays
            Lists of the names of the members, the strongest first; arrays of their numbers if the
            items have no names.

        Examples
        --------
        >>> import networkx as nx
        >>> from odsymnmf import ODSymNMF
        >>> G = nx.Graph([("ann", "bob"), ("bob", "cleo"), ("ann", "cleo"), ("cleo", "dan")])
        >>> ODSymNMF(n_clusters=2, loss="l1").fit(G).overlapping_sets()
        [['ann', 'bob', 'cleo'], ['cleo', 'dan']]
        """
        check_is_fitted(self)
        # Not asked for where no rule needs it: a model that was loaded may come without.
        A = self.similarity_ if rule == "harm" else None
        sets = overlapping_sets(self.membership_, threshold, rule=rule, A=A, loss=self._scales)
        return called(sets, self.item_names_)


def _without_own(X: Any, n: int) -> Any:
    """Return similarities of n items to n items with the diagonal unknown; others as they are."""
    if np.shape(X) != (n, n):
        return X
    if sparse.issparse(X):
        own = sparse.csr_array(sparse.diags_array(np.full(n, np.nan)))
        rows = as_csr(X, "X").astype(np.result_type(X.dtype, np.float32))
        return without_diagonal_entries(rows) + own
    X = np.array(X, dtype=np.result_type(np.asarray(X).dtype, np.float32))
    np.fill_diagonal(X, np.nan)
    return X
