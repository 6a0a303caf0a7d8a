"""Clustering of AnnData with the interface of scanpy.tl: ``odsymnmf.scanpy.cluster(adata, 8)``."""

from typing import Any

from odsymnmf.estimators import ODSymNMF
from odsymnmf.inputs import to_similarity_matrix
from odsymnmf.plots import palette

__all__ = ["cluster"]


def cluster(
    adata: Any,
    n_clusters: int | str = "auto",
    *,
    resolution: float | None = None,
    key_added: str = "odsymnmf",
    obsp: str | None = None,
    neighbors_key: str | None = None,
    random_state: int = 0,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Cluster the cells by their neighborhood graph, and write the results into adata.

    Parameters
    ----------
    adata : AnnData
        With the neighbors that ``scanpy.pp.neighbors`` computes.
    n_clusters : int or "auto"
        Number of clusters; "auto" chooses it (`odsymnmf.choose.n_clusters`).
    resolution : float, optional
        With ``n_clusters="auto"``: the resolution of modularity, as for ``scanpy.tl.leiden``;
        larger values give more clusters. Default: the most stable one.
    key_added : str
        Key under which the results are written.
    obsp : str, optional
        The matrix in ``adata.obsp`` to cluster, "connectivities" by default.
    neighbors_key : str, optional
        The ``key_added`` of ``scanpy.pp.neighbors``, whose connectivities are to be used.
    random_state : int
        Random seed.
    copy : bool
        Return a copy with the results, and leave adata as it is.
    **options
        As for `odsymnmf.ODSymNMF`, for example ``loss="l1"``.

    Returns
    -------
    AnnData or None
        None unless ``copy``. These are set:

        - ``obs[key_added]``: the cluster of each cell, a categorical of "0", "1", ...; missing for
          a cell that belongs to none.
        - ``obsm[key_added]``: the memberships, one column per cluster.
        - ``uns[key_added]``: the parameters, the number of clusters, and the status of the fit.
        - ``uns[key_added + "_colors"]``: the colors of the clusters, as in `odsymnmf.plots`.

    Examples
    --------
    >>> import odsymnmf as od
    >>> od.scanpy.cluster(adata, 8)  # doctest: +SKIP
    >>> scanpy.pl.umap(adata, color="odsymnmf")  # doctest: +SKIP
    """
    import pandas as pd

    if not (hasattr(adata, "obsp") and hasattr(adata, "uns")):
        raise ValueError(f"adata must be AnnData; got {type(adata).__name__}.")
    key = obsp or "connectivities"
    if obsp is None and neighbors_key is not None:
        if neighbors_key not in adata.uns:
            raise ValueError(
                f"adata.uns holds no neighbors {neighbors_key!r}; compute them with "
                f"scanpy.pp.neighbors(adata, key_added={neighbors_key!r})."
            )
        key = str(adata.uns[neighbors_key]["connectivities_key"])
    for name in sorted(set(options) - set(ODSymNMF().get_params())):
        raise TypeError(
            f"cluster() got an unexpected keyword argument {name!r}; besides its own, it takes "
            "those of odsymnmf.ODSymNMF."
        )
    data = to_similarity_matrix(adata, obsp=key)
    options = {"resolution": resolution, "random_state": random_state, **options}
    model = ODSymNMF(n_clusters, affinity="precomputed", **options).fit(data)
    adata = adata.copy() if copy else adata
    r = model.n_clusters_
    names = [str(l) for l in range(r) if (model.labels_ == l).any()]
    labels = pd.Series(model.labels_, index=adata.obs_names).astype(str)
    adata.obs[key_added] = pd.Categorical(labels.where(model.labels_ >= 0), categories=names)
    adata.obsm[key_added] = model.membership_
    adata.uns[key_added] = {
        "params": {
            **{k: v for k, v in options.items() if isinstance(v, bool | int | float | str)},
            "n_clusters": n_clusters,
            "obsp": key,
        },
        "n_clusters": r,
        "objective": model.objective_,
        "n_iter": model.n_iter_,
        "status": model.status_,
    }
    adata.uns[f"{key_added}_colors"] = [palette(r)[int(name)] for name in names]
    return adata if copy else None
