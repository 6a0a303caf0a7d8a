"""Methods of a fitted model: new items, score, overlapping sets, names, and saving."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

import odsymnmf
from odsymnmf.affinity import make_affinity
from odsymnmf.inputs import Dataset, features_and_names, first_difference, kind_of
from odsymnmf.memberships import Rule, frame, labels, overlapping_sets
from odsymnmf.persistence import checked_names, prefixed, without_prefix, write_arrays
from odsymnmf.similarity import base, from_arrays
from odsymnmf.similarity.weights import entry_rows
from odsymnmf.solvers.new_items import solve_new_rows
from odsymnmf.solvers.objective import Scales, pair_losses
from odsymnmf.utils import Array, as_csr, blocks, bound

# Fitted attributes that are saved: those with plain values, and arrays.
PLAIN = (
    "objective_",
    "n_iter_",
    "status_",
    "converged_",
    "loss_terms_",
    "settings_",
    "n_clusters_",
    "n_unassigned_",
    "n_features_in_",
    "item_names_",
)
ARRAYS = ("membership_", "labels_", "history_", "restart_steps_")
# Number of folds of the fitted items in `score`.
N_FOLDS = 5


class FittedModelMixin:
    """Methods of `ODSymNMF` that use a fitted model."""

    if TYPE_CHECKING:  # parameters, fitted attributes and methods of the estimator

        def __getattr__(self, name: str) -> Any: ...

    # Names of the features, and inverse document frequencies of words, for `odsymnmf predict`.
    _terms: list[str] | None = None
    _idf: Any = None

    def predict_membership(self, X: Any) -> Any:
        """Find memberships of new items, with those of the fitted items held fixed.

        Row x minimizes sum_j |S_j - x . h_j|^p over 0 <= x <= upper, where S_j is the similarity
        of the new item to the fitted item j. This is a convex problem, solved to optimality for
        l2; for l1, until no single entry of x can be improved.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_samples) or (n_new, n_features)
            Similarities of the new items to the fitted ones if ``affinity="precomputed"``, else
            one row of features per new item. NaN marks an unknown similarity: the pair is left
            out. At convergence, row k of the fitted matrix with NaN in place k gives row k of
            ``membership_`` (with l1, if coordinate descent reaches the optimum; not with
            `SymNMF`, which fits the diagonal).

        Returns
        -------
        membership : ndarray or scipy.sparse.csr_array of shape (n_new, n_clusters)
            Sparse where ``membership_`` is; memberships are penalized as in the fit.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        H, options = self.membership_, self._row_options
        pieces = blocks(X.shape[0], width=H.shape[0])
        rows = [solve_new_rows(self._affinity.to_fitted(X[b]), H, *options) for b in pieces]
        return sparse.vstack(rows, format="csr") if sparse.issparse(H) else np.concatenate(rows)

    @property
    def _row_options(self) -> tuple[Scales, float, float, bool]:
        """Options of `solve_new_rows`: scales, upper, zero_weight, penalized."""
        penalized = self.settings_["init"] != "multilevel"
        return self._scales, bound(self.settings_["upper"]), self.zero_weight, penalized

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
        """Score how well memberships predict held-out similarities.

        Returns 1 - f / f(0), the fraction of similarity explained in a 5-fold split over the fitted
        items; higher is better. Larger models are not favored, because every similarity is
        predicted without using it. Works with GridSearchCV and cross_val_score, for any affinity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_samples) or (n_new, n_features)
            As for `predict_membership`. A square matrix of similarities is taken as that of the
            fitted items themselves, and its diagonal is ignored.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        float
            At most 1; 0 is the score of H = 0.

        Examples
        --------
        Shuffle the folds: the items of a group are often next to each other.

        >>> import odsymnmf as od
        >>> from sklearn.model_selection import GridSearchCV, KFold
        >>> A, groups = od.datasets.planted_partition([30] * 4, 0.5, 0.05, random_state=0)
        >>> folds = KFold(5, shuffle=True, random_state=0)
        >>> search = GridSearchCV(od.ODSymNMF(), {"n_clusters": range(2, 7)}, cv=folds).fit(A)
        >>> search.best_params_
        {'n_clusters': 4}
        """
        check_is_fitted(self)
        H = self.membership_
        n = H.shape[0]
        if self.affinity == "precomputed":
            X = _without_self_similarities(X.matrix if isinstance(X, Dataset) else X, n)
        X = self._validated(X, reset=False)
        options = self._row_options
        # Sparse memberships have sparse similarities, which need no blocks.
        pieces = blocks(X.shape[0], X.shape[0] if sparse.issparse(H) else None, width=n)
        parts = [_held_out_loss(self._affinity.to_fitted(X[b]), H, *options) for b in pieces]
        loss, zero_loss = np.sum(parts, axis=0)
        return float(1 - loss / zero_loss) if zero_loss > 0 else 0.0

    def overlapping_sets(
        self, threshold: float | None = None, *, rule: Rule = "strength"
    ) -> list[list[Any]]:
        """Return the items of every cluster; an item may be in several, or in none.

        Parameters
        ----------
        threshold, rule
            As for `odsymnmf.memberships.overlapping_sets`.

        Returns
        -------
        list of n_clusters lists
            The members of every cluster, the strongest first: their names, or their numbers if the
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
        A = getattr(self, "similarity_", None)
        return overlapping_sets(self, threshold, rule=rule, A=A, loss=self._scales)

    def labels_series(self) -> Any:
        """Return ``labels_`` as a pandas Series, whose index holds the names of the items.

        Returns
        -------
        pandas.Series

        Examples
        --------
        >>> import pandas as pd
        >>> from odsymnmf import ODSymNMF
        >>> df = pd.DataFrame([[0, 1, 0], [1, 0, 0], [0, 0, 0]], list("abc"), list("abc"))
        >>> ODSymNMF(n_clusters=1).fit(df).labels_series().to_dict()
        {'a': 0, 'b': 0, 'c': -1}
        """
        check_is_fitted(self)
        return frame(self.labels_[:, None], self.item_names_, ["cluster"])["cluster"]

    def membership_frame(self) -> Any:
        """Return ``membership_`` as a pandas DataFrame, whose index holds the names of the items.

        Returns
        -------
        pandas.DataFrame
            Columns are "cluster_0", "cluster_1", ..., as with ``set_output(transform="pandas")``.

        Examples
        --------
        >>> import networkx as nx
        >>> from odsymnmf import ODSymNMF
        >>> G = nx.Graph([("ann", "bob")])
        >>> ODSymNMF(n_clusters=1, normalize=None).fit(G).membership_frame()
             cluster_0
        ann        1.0
        bob        1.0
        """
        check_is_fitted(self)
        return frame(self)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of ``membership_``, "cluster_0", "cluster_1", ...

        Parameters
        ----------
        input_features : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array([f"cluster_{l}" for l in range(self.n_clusters_)], dtype=object)

    def save(
        self, path: str | Path, *, similarities: bool = False, names: list[str] | None = None
    ) -> None:
        """Save the fitted model to one .npz file, which `odsymnmf.load` reads.

        The file contains the parameters, the memberships and the arrays that `predict` needs.
        Reading it does not execute code. A generator given as ``random_state`` is not saved.

        Parameters
        ----------
        path : path
            An existing file is replaced.
        similarities : bool, default=False
            Whether to save ``similarity_`` as well, which may be large.
        names : list of str or numbers, default=None
            Names of the fitted items, loaded as ``item_names_``; by default those of the fit.

        Raises
        ------
        ValueError
            If ``affinity`` is a callable, or names are neither strings nor numbers.
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self)
        if type(self) is not getattr(odsymnmf, type(self).__name__, None):
            raise TypeError(
                f"only an ODSymNMF or a SymNMF can be saved, not a {type(self).__name__}; save its "
                "membership_, or pickle it."
            )
        if similarities and not hasattr(self, "similarity_"):
            raise ValueError(
                "the model has no similarity_, because it was loaded without it or fitted on a "
                "cluster; leave similarities=True out."
            )
        names = self.item_names_ if names is None else list(names)
        if names is not None and len(names) != len(self.labels_):
            raise ValueError(f"{len(names)} names for {len(self.labels_)} items; give one each.")
        header, arrays = self._to_arrays(similarities)
        header["fitted"]["item_names_"] = checked_names(names)
        write_arrays(path, type(self).__name__, header, arrays)

    def _to_arrays(self, similarities: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        parameters = self.get_params(deep=False)
        if callable(self.affinity):
            raise ValueError(
                "affinity is a callable, and a file must not contain code; compute the "
                'similarities first, and fit them with affinity="precomputed".'
            )
        if not isinstance(self.random_state, int | np.integer | None):
            parameters["random_state"] = None  # its state has changed since the fit
        arrays = {name: getattr(self, name) for name in ARRAYS}
        if sparse.issparse(self.init) or isinstance(self.init, np.ndarray):
            arrays["init"] = parameters.pop("init")
        arrays |= prefixed("affinity", self._affinity.to_arrays())
        header = {
            "parameters": parameters,
            "fitted": {name: getattr(self, name) for name in PLAIN},
            "scales": self._scales,
            "feature_names": list(getattr(self, "feature_names_in_", [])),
            "terms": self._terms,
        }
        if self._idf is not None:
            arrays["idf"] = self._idf
        if similarities:
            header["similarity"] = type(self.similarity_).__name__
            arrays |= prefixed("similarity", self.similarity_.to_arrays())
        return header, arrays

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        init = {"init": arrays["init"]} if "init" in arrays else {}
        model: Any = cls(**header["parameters"], **init)
        for name in PLAIN:
            setattr(model, name, header["fitted"][name])
        for name in ARRAYS:
            setattr(model, name, arrays[name])
        model._scales = Scales(*header["scales"])
        if header["feature_names"]:
            model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        model._terms, model._idf = header["terms"], arrays.get("idf")
        model._affinity = make_affinity(model)
        model._affinity.load(without_prefix("affinity", arrays))
        if "similarity" in header:
            parts = without_prefix("similarity", arrays)
            model.similarity_ = from_arrays(header["similarity"], parts)
        if model.membership_.shape != (len(model.labels_), model.n_clusters_):
            raise ValueError("its arrays differ in their numbers of items or clusters")
        return model

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "similarity_"}

    def _validated(self, X: Any, reset: bool) -> Any:
        X = X.matrix if isinstance(X, Dataset) else X
        if isinstance(X, base.Similarity):
            raise ValueError(
                f"X is {type(X).__name__} of odsymnmf.similarity, which odsymnmf.factorize takes; "
                'pass the features here, with an affinity such as "cosine".'
            )
        is_precomputed = self.affinity == "precomputed"
        finite: Any = not is_precomputed  # `as_similarity` checks all but the diagonal
        if is_precomputed and not reset:
            X, finite = self._in_fitted_order(X), "allow-nan"
        elif not is_precomputed:
            X, _ = features_and_names(X)
        if sparse.issparse(X):
            X = as_csr(X, "X")
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
            ensure_min_samples=2 if reset else 1,
        )
        if reset and is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square matrix of similarities, but has shape {X.shape}. For a table "
                'of items x features, choose an affinity such as "cosine" or "nearest_neighbors"; '
                "of a list of edges, make a graph: networkx.Graph(edges)."
            )
        return X

    def _in_fitted_order(self, X: Any) -> Any:
        """Return similarities of new items; ValueError unless the columns are the fitted items."""
        kind = kind_of(X)
        if kind in ("networkx", "igraph"):
            raise ValueError(
                "X is a graph; pass the similarities of the new items to the fitted ones, one row "
                "per new item and one column per fitted item."
            )
        if kind != "pandas" or self.item_names_ is None:
            return X
        columns = list(X.columns)
        if columns != list(range(len(columns))) and columns != self.item_names_:
            where = first_difference(columns, self.item_names_)
            raise ValueError(
                f"the columns of X are not the fitted items in their order: {where}. Use "
                "X[model.item_names_]."
            )
        # After the fit of a graph there are no feature names, and scikit-learn would warn.
        return X if hasattr(self, "feature_names_in_") else X.to_numpy()


def _without_self_similarities(X: Any, n: int) -> Any:
    """Return square similarities with NaN on the diagonal, and other similarities unchanged."""
    if np.shape(X) != (n, n):
        return X
    if sparse.issparse(X):
        rows = as_csr(X, "X").astype(np.result_type(X.dtype, np.float32))
        return rows + sparse.diags_array(np.full(n, np.nan)).tocsr()
    X = np.array(X, dtype=np.result_type(np.asarray(X).dtype, np.float32))
    np.fill_diagonal(X, np.nan)
    return X


def _held_out_loss(
    S: Any, H: Any, scales: Scales, upper: float, zero_weight: float, penalized: bool
) -> Array:
    """Return the loss of similarities S predicted in a 5-fold split, and the loss of H = 0.

    For each fold of the fitted items, memberships of the new items are computed from their
    similarities to the other folds and predict the similarities to this fold. NaN is unknown.
    """
    if sparse.issparse(H):
        zero_weight, S = zero_weight if sparse.issparse(S) else 1.0, sparse.csr_array(S)
    loss = _sparse_loss if sparse.issparse(H) else _dense_loss
    total, fold = np.zeros(2), np.arange(H.shape[0]) % N_FOLDS
    for k in range(min(N_FOLDS, len(fold))):
        test, train = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        X = solve_new_rows(S[:, train], H[train], scales, upper, zero_weight, penalized)
        X, K = X.astype(np.float64), H[test].astype(np.float64)
        total += loss(S[:, test], X, K, scales, zero_weight)
    return total


def _dense_loss(S: Any, X: Array, H: Array, scales: Scales, zero_weight: float) -> Array:
    """Return the loss between S and X H^T, and that of S."""
    weights: Any = 1.0
    if sparse.issparse(S):
        stored = sparse.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape).toarray()
        S, weights = S.toarray(), np.where(stored > 0, 1.0, zero_weight)
    weights = np.where(np.isnan(S), 0.0, weights)
    S = np.nan_to_num(S.astype(np.float64))
    return np.array(
        [np.sum(weights * pair_losses(residual, scales)) for residual in (S - X @ H.T, S)]
    )


def _sparse_loss(S: Any, X: Any, H: Any, scales: Scales, zero_weight: float) -> Array:
    """Return the loss between S and X H^T, and that of S, at the cost of the stored entries.

    First for all pairs: sum_pi x_p . h_i and sum_pi (x_p . h_i)^2 = <X^T X, H^T H>. Then stored
    pairs are corrected; an unknown one (NaN) has weight 0.
    """
    products = float(X.sum(axis=0) @ H.sum(axis=0))
    squares = float((X.T @ X).multiply(H.T @ H).sum())
    loss, zero_loss = zero_weight * (scales.l1 * products + scales.l2 * squares), 0.0
    rows = entry_rows(S)
    for b in blocks(S.nnz):
        p = np.asarray(X[rows[b]].multiply(H[S.indices[b]]).sum(axis=1)).ravel()
        loss -= zero_weight * float(np.sum(pair_losses(p, scales)))
        known = ~np.isnan(S.data[b])
        truth = S.data[b][known].astype(np.float64)
        loss += float(np.sum(pair_losses(truth - p[known], scales)))
        zero_loss += float(np.sum(pair_losses(truth, scales)))
    return np.array([loss, zero_loss])
