"""Small data sets from elsewhere."""

from scipy.sparse import csr_array


def les_miserables() -> tuple[csr_array, list[str]]:
    """The characters of Victor Hugo's *Les Misérables* and how often they meet.

    A_ij is the number of chapters in which characters i and j appear together; the diagonal is
    zero. The counts are Donald Knuth's (The Stanford GraphBase, 1993), as networkx ships them.

    Returns
    -------
    A : csr_array of shape (77, 77), float64
    names : list of str

    Raises
    ------
    ImportError
        Without networkx: ``pip install "odsymnmf[graphs]"``.

    Examples
    --------
    >>> from odsymnmf.datasets import les_miserables
    >>> A, names = les_miserables()
    >>> A.shape, A.nnz // 2
    ((77, 77), 254)
    >>> int(A[names.index("Valjean"), names.index("Cosette")])
    31
    """
    try:
        import networkx as nx
    except ImportError as error:
        raise ImportError(
            'les_miserables() needs networkx; install it with: pip install "odsymnmf[graphs]"'
        ) from error
    graph = nx.les_miserables_graph()
    A = csr_array(nx.to_scipy_sparse_array(graph, weight="weight", dtype=float, format="csr"))
    return A, list(graph)
