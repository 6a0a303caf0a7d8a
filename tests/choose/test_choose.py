"""How many clusters: measures beside slow oracles, and the search on planted graphs."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import odsymnmf as od
from odsymnmf.choose import candidates, fits, graphs, held_out, stability
from odsymnmf.problem import as_similarity, subset


@pytest.fixture(scope="module")
def graph():
    return od.datasets.planted_partition([40] * 5, degree_in=12, degree_out=3, random_state=0)


def test_the_bethe_hessian_counts_groups(graph, monkeypatch):
    A, _ = graph
    assert od.choose.bethe_hessian(A) == 5
    assert od.choose.bethe_hessian(3.5 * A.toarray()) == 5
    monkeypatch.setattr(graphs, "FULL", 100)
    monkeypatch.setattr(graphs, "FIRST", 3)  # has to ask for more
    assert od.choose.bethe_hessian(A) == 5
    assert od.choose.bethe_hessian(np.zeros((4, 4))) == 0


def test_the_true_groups_describe_the_graph_best(graph):
    A, groups = graph
    true = od.choose.description_length(A, groups)
    rng = np.random.default_rng(0)
    others = [groups // 2, groups * 2 + rng.integers(2, size=200), rng.permutation(groups)]
    assert all(true < od.choose.description_length(A, other) for other in others)
    assert_allclose(true, od.choose.description_length(7 * A, groups + 3))


@pytest.mark.parametrize("make", [sparse.csr_array, np.array])
def test_the_number_of_planted_groups_is_recommended(graph, make):
    A, groups = graph
    found = od.choose.n_clusters(make(A.toarray()))
    assert found.n_clusters == 5
    assert (found.measure, found.bethe_hessian) == ("description_length", 5)
    assert found.n_clusters in found.candidates
    assert set(found.fits) == set(found.candidates)
    assert (np.diff(found.table["explained"]) > 0).all()
    labels = od.memberships.labels(found.fits[5].H)
    assert od.metrics.scores(labels, groups)["ari"] > 0.9
    assert "5 clusters: the shortest description" in str(found)


@pytest.mark.parametrize("measure", ["stability", "held_out_error"])
def test_other_measures_agree(graph, measure):
    A, _ = graph
    found = od.choose.n_clusters(A, [3, 4, 5, 6, 8], measure=measure, random_state=1)
    assert (found.n_clusters, found.measure) == (5, measure)
    again = od.choose.n_clusters(A, [3, 4, 5, 6, 8], measure=measure, random_state=1, n_jobs=2)
    assert_allclose(found.values, again.values, rtol=0, atol=0)
    if measure == "held_out_error":
        assert (found.table["standard_error"] > 0).all()


def test_all_measures_fill_the_table_and_change_nothing(graph):
    A, _ = graph
    found = od.choose.n_clusters(A, [4, 5, 6], measure="all")
    assert all(np.isfinite(column).all() for column in found.table.values())
    assert found.table["stability"].argmax() == found.table["starts"].argmax() == 1
    auto = od.choose.n_clusters(A, [4, 5, 6])
    assert (found.n_clusters, found.measure, found.reason) == (5, auto.measure, auto.reason)
    assert np.isnan(auto.table["starts"]).all()


def test_agreement_is_the_best_of_all_matchings():
    rng = np.random.default_rng(0)
    H, K = rng.uniform(size=(9, 4)), rng.uniform(size=(9, 3))
    K[:, 1] = 2 * H[:, 3]

    def cosine(l, m):
        return H[:, l] @ K[:, m] / np.sqrt((H[:, l] @ H[:, l]) * (K[:, m] @ K[:, m]))

    best = max(permutations(range(4), 3), key=lambda ls: sum(map(cosine, ls, range(3))))
    expected = np.zeros(4)
    for m, l in enumerate(best):
        expected[l] = cosine(l, m)
    assert_allclose(od.choose.agreement(H, K), expected, rtol=1e-12)
    assert od.choose.agreement(H, K)[3] > 1 - 1e-12
    assert_allclose(od.choose.agreement(np.zeros((3, 2)), np.eye(3)), 0.0)
    with pytest.raises(ValueError, match=r"got shapes \(9, 4\) and \(5, 4\)"):
        od.choose.agreement(H, H[:5])


def test_noise_is_recommended_with_caution():
    noise = np.corrcoef(np.random.default_rng(0).standard_normal((120, 50)))
    assert "no number is very stable" in od.choose.n_clusters(noise, range(2, 8)).reason


def test_kernels_and_documents_are_judged_by_stability():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(4, 12), 25, axis=0) * 3 + rng.uniform(size=(100, 12))
    for A in (np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4), od.similarity.cosine(X)):
        found = od.choose.n_clusters(A, range(2, 8))
        assert (found.n_clusters, found.measure) == (4, "stability")


def test_a_graph_without_groups_says_so():
    A, _ = od.datasets.planted_partition([75, 75], degree_in=3, degree_out=3, random_state=0)
    assert (
        "the evidence for it is weak"
        in od.choose.n_clusters(A, measure="description_length").reason
    )


def test_many_candidates_are_thinned_and_then_refined(graph):
    found = od.choose.n_clusters(graph[0], range(2, 41))
    assert found.n_clusters == 5
    assert len(found.candidates) <= 15
    assert {2, 40} <= set(found.candidates)
    assert candidates.about([2, 3, 4, 5, 9], [2, 5, 9], 5) == [3, 4]


def test_held_out_pairs_are_unbiased(graph):
    """With the weights of the unlinked, the loss at H = 0 and at any H is that of all pairs."""
    A = as_similarity(graph[0])
    H = np.random.default_rng(0).uniform(size=(200, 3)) / 5
    family = fits.Fits(A, fits.Options(normalize=None, upper=None), 3)
    estimates = []
    for seed in range(30):
        for split in held_out.splits(family, seed):
            told = np.einsum("ij,ij->i", H[split.rows], H[split.columns])
            estimates.append(2 * split.importance @ (split.values - told) ** 2 / held_out.SHARE)
    truth = od.objective(A, H)
    spread = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - truth) < 4 * spread
    assert spread < 0.02 * truth


def test_held_out_pairs_are_not_seen(graph):
    family = fits.Fits(as_similarity(graph[0]), fits.Options(), 3)
    split = held_out.splits(family, 0)[0]
    weights = split.left.weights.of(np.arange(200), 200)
    assert (weights[split.rows, split.columns] == 0).all()
    assert (split.left.A[split.rows, split.columns] == 0).all()
    assert (weights == 0).sum() == 2 * len(split.rows)


@pytest.mark.parametrize("kind", ["dense", "sparse", "gram"])
def test_a_part_is_the_problem_of_its_items(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(12, 5)) * (rng.uniform(size=(12, 5)) < 0.5)
    unknown = np.ones((12, 12))
    unknown[2, 5] = unknown[5, 2] = unknown[0, 1] = unknown[1, 0] = 0
    K = X @ X.T
    raw = {"dense": K, "sparse": sparse.csr_array(K), "gram": od.similarity.gram(X)}[kind]
    A = as_similarity(raw, unknown)
    items = np.array([0, 2, 3, 5, 9])
    H = rng.uniform(size=(5, 2))
    expected = as_similarity(K[np.ix_(items, items)], unknown[np.ix_(items, items)])
    assert_allclose(od.objective(subset(A, items), H), od.objective(expected, H))
    parts = stability.parts(fits.Fits(A, fits.Options(), 2), 2, 0)
    assert all(part.fits.raw.n == 8 for part in parts)


def test_the_answer_can_be_drawn(graph):
    pytest.importorskip("matplotlib").use("agg")
    found = od.choose.n_clusters(graph[0], [4, 5], measure="held_out_error")
    ax = found.plot()
    assert ax.get_title() == "5 clusters recommended"
    from matplotlib import pyplot as plt

    plt.close(ax.figure)


def test_errors(graph):
    A, _ = graph
    with pytest.raises(ValueError, match="measure='aic' is not known"):
        od.choose.n_clusters(A, measure="aic")
    with pytest.raises(ValueError, match="candidates is empty"):
        od.choose.n_clusters(A, [])
    with pytest.raises(ValueError, match="candidates must be a whole number >= 1"):
        od.choose.n_clusters(A, [0, 2])
    with pytest.raises(ValueError, match="begin with 300, but there are 200 items only"):
        od.choose.n_clusters(A, [300])
