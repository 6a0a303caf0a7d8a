"""Problems, methods and formulas of the benchmarks, on small cases."""

import importlib

import pytest

from benchmarks import graphs, methods, quality
from benchmarks.__main__ import ON_REQUEST, TABLES
from odsymnmf.datasets import planted_partition


@pytest.fixture(scope="module")
def graph():
    return planted_partition([30] * 4, p_in=0.5, p_out=0.02, random_state=0)


@pytest.mark.parametrize("name", [*TABLES, *ON_REQUEST])
def test_every_table_has_a_main(name):
    if name == "distributed":
        pytest.importorskip("distributed")
    assert callable(importlib.import_module(f"benchmarks.{name}").main)


@pytest.mark.parametrize(
    "make",
    [
        lambda: graphs.cover(300, 6, 0.3, seed=1),
        lambda: graphs.many_overlapping(2000, seed=1),
        lambda: graphs.many_planted(2000, seed=1),
    ],
)
def test_random_graphs_are_symmetric_with_most_links_inside_groups(make):
    A, sets = make()
    assert (A != A.T).nnz == 0
    assert set(A.data) == {1.0}
    assert not A.diagonal().any()
    inside = sum(A[s][:, s].sum() for s in sets) / A.sum()
    assert 0.6 < inside < 1


def test_quality_scores(graph):
    score = quality.score(*graph, quality.estimator("planted"))
    assert score.nmi == pytest.approx(1)
    assert score.seconds > 0
    with_spectral = quality.methods("kernels")["SpectralClustering"]
    assert quality.score(graph[0].toarray(), graph[1], with_spectral).nmi == pytest.approx(1)

    def not_installed(X, r):
        raise ImportError

    assert quality.score(*graph, not_installed) is None


def test_other_methods_find_clear_groups(graph):
    pytest.importorskip("igraph")
    for name in ("Leiden", "Leiden with r", "Infomap"):
        assert quality.score(*graph, methods.METHODS[name]).nmi == pytest.approx(1)
    assert len(methods.leiden_sets(graph[0], 4)) == 4
