"""AnnData as input and output, as in the tools of scanpy."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import odsymnmf as od
from odsymnmf import ODSymNMF, inputs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import anndata
    import scanpy as sc

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cells():
    X, groups = make_blobs(150, 8, centers=3, cluster_std=1.5, random_state=0)
    adata = anndata.AnnData(X.astype(np.float32))
    adata.obs["known"] = groups
    adata.obs_names = [f"cell{i}" for i in range(150)]
    sc.pp.neighbors(adata, n_neighbors=15, use_rep="X", random_state=0)
    return adata


def test_results_are_written_into_adata(cells, tmp_path):
    adata = cells.copy()
    assert od.scanpy.cluster(adata, 3) is None
    labels = adata.obs["odsymnmf"]
    assert list(labels.cat.categories) == ["0", "1", "2"]
    assert adjusted_rand_score(adata.obs["known"], labels) > 0.95
    assert adata.obsm["odsymnmf"].shape == (150, 3)
    assert adata.uns["odsymnmf"]["params"]["n_clusters"] == 3
    assert len(adata.uns["odsymnmf_colors"]) == 3
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert_array_equal(again.obsm["odsymnmf"], adata.obsm["odsymnmf"])
    assert list(again.obs["odsymnmf"]) == list(labels)


def test_the_same_as_the_estimator_on_adata(cells):
    adata = od.scanpy.cluster(cells, 3, key_added="soft", loss="l1", copy=True)
    assert "soft" not in cells.obs
    model = ODSymNMF(3, loss="l1", random_state=0).fit(cells)
    assert_array_equal(adata.obsm["soft"], model.membership_)
    assert model.item_names_ == list(cells.obs_names)
    assert adata.uns["soft"]["params"]["loss"] == "l1"
    few, many = (od.scanpy.cluster(cells, resolution=t, copy=True) for t in (0.05, 2.0))
    assert few.uns["odsymnmf"]["n_clusters"] < many.uns["odsymnmf"]["n_clusters"]


def test_other_neighbors(cells):
    adata = cells.copy()
    sc.pp.neighbors(adata, n_neighbors=5, use_rep="X", key_added="few", random_state=0)
    one = od.scanpy.cluster(adata, 3, neighbors_key="few", copy=True)
    two = od.scanpy.cluster(adata, 3, obsp="few_connectivities", copy=True)
    assert_array_equal(one.obsm["odsymnmf"], two.obsm["odsymnmf"])
    assert inputs.to_similarity_matrix(adata, obsp="few_connectivities").matrix.nnz < (
        inputs.to_similarity_matrix(adata).matrix.nnz
    )


def test_a_cell_without_cluster_is_missing(cells):
    adata = cells.copy()
    A = adata.obsp["connectivities"].tolil()
    A[7, :] = A[:, 7] = 0
    adata.obsp["connectivities"] = A.tocsr()
    od.scanpy.cluster(adata, 3)
    assert adata.obs["odsymnmf"].isna().tolist() == [i == 7 for i in range(150)]


def test_scanpy_draws_it(cells):
    import matplotlib

    matplotlib.use("Agg")
    adata = od.scanpy.cluster(cells, 3, copy=True)
    adata.obsm["X_umap"] = adata.X[:, :2]
    sc.pl.umap(adata, color="odsymnmf", show=False)
    sc.tl.rank_genes_groups(adata, "odsymnmf")


def test_bad_input(cells):
    bare = anndata.AnnData(np.ones((5, 2), dtype=np.float32))
    for attempt in (lambda: od.scanpy.cluster(bare, 2), lambda: ODSymNMF(2).fit(bare)):
        with pytest.raises(ValueError, match=r"no 'connectivities' \(it is empty\).*pp\.neighbors"):
            attempt()
    with pytest.raises(ValueError, match="no neighbors 'many'"):
        od.scanpy.cluster(cells, 2, neighbors_key="many")
    with pytest.raises(TypeError, match="multiple values for keyword argument 'affinity'"):
        od.scanpy.cluster(cells, 2, affinity="cosine")
    with pytest.raises(ValueError, match=r"obsm\['X_pca'\]"):
        ODSymNMF(2, affinity="cosine").fit(cells)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'n_iterations'; .*ODSymNMF"):
        od.scanpy.cluster(cells, 2, n_iterations=1)
    with pytest.raises(ValueError, match=r"resolution=1 determines the number of clusters"):
        od.scanpy.cluster(cells, 2, resolution=1)
    with pytest.raises(ValueError, match="must be AnnData"):
        od.scanpy.cluster(np.ones((2, 2)), 2)
