"""Names of the items: taken from what was fitted, given back with what was found."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from odsymnmf.inputs import (
    first_difference,
    is_frame,
    is_igraph,
    is_networkx,
    row_names,
    similarities,
)
from odsymnmf.memberships import frame


class NamedItems:
    """What an estimator says with the names of the items: labels, memberships, sets."""

    def labels_series(self: Any) -> Any:
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

    def membership_frame(self: Any) -> Any:
        """Return ``membership_`` as a pandas DataFrame, whose index holds the names of the items.

        Returns
        -------
        pandas.DataFrame
            Columns are called as by ``get_feature_names_out``, the names that
            ``set_output(transform="pandas")`` gives them.

        Examples
        --------
        >>> import networkx as nx
        >>> from odsymnmf import ODSymNMF
        >>> G = nx.Graph([("ann", "bob")])
        >>> ODSymNMF(n_clusters=1, normalize=None).fit(G).membership_frame()
             odsymnmf0
        ann        1.0
        bob        1.0
        """
        check_is_fitted(self)
        return frame(self.membership_, self.item_names_, self.get_feature_names_out())

    def _named(self: Any, X: Any) -> tuple[Any, list[Any] | None]:
        """Return X as scikit-learn takes it, and the names of the items."""
        if not self._precomputed:
            return X, row_names(X)
        A, names = similarities(X)
        # scikit-learn notes the names of a DataFrame's columns itself.
        return (X if is_frame(X) else A), names

    def _to_the_fitted(self: Any, X: Any) -> Any:
        """Return similarities of new items, once their columns are the fitted items in order."""
        if is_networkx(X) or is_igraph(X):
            raise ValueError(
                "X is a graph; pass the similarities of the new items to the fitted ones, one row "
                "per new item and one column per fitted item."
            )
        if not is_frame(X) or self.item_names_ is None:
            return X
        columns = list(X.columns)
        if columns != list(range(len(columns))) and columns != self.item_names_:
            where = first_difference(columns, self.item_names_)
            raise ValueError(
                f"the columns of X are not the fitted items in their order: {where}. Use "
                "X[model.item_names_]."
            )
        # Of a graph's nodes scikit-learn knows nothing, and would warn.
        return X if hasattr(self, "feature_names_in_") else X.to_numpy()
