"""Memberships as a DataFrame."""

from typing import Any

from scipy import sparse

from odsymnmf.memberships._checks import as_memberships


def frame(H: Any, names: Any = None, columns: Any = None) -> Any:
    """Return memberships as a pandas DataFrame, one row per item and one column per cluster.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    names : sequence of n names, optional
        The index; numbers if not given.
    columns : sequence of r names, optional
        0, 1, ... if not given.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> from odsymnmf import memberships
    >>> H = memberships.frame([[1.0, 0.0], [1.0, 0.6], [0.0, 2.5]], ["ann", "bob", "cleo"])
    >>> memberships.labels(H).to_dict()
    {'ann': 0, 'bob': 0, 'cleo': 1}
    >>> memberships.overlapping_sets(H)
    [['ann', 'bob'], ['cleo', 'bob']]
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'a DataFrame needs pandas; install it with: pip install "odsymnmf[frames]"'
        ) from error
    make = pd.DataFrame.sparse.from_spmatrix if sparse.issparse(H) else pd.DataFrame
    values = H if sparse.issparse(H) else as_memberships(H)
    # Nodes may be tuples, of which pandas would make an index of several levels.
    index = None if names is None else pd.Index(list(names), tupleize_cols=False)
    return make(values, index=index, columns=columns)
