import io
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from scipy import sparse
from sklearn.exceptions import NotFittedError

from odsymnmf import ODSymNMF, choose, datasets, memberships, plots
from odsymnmf.membership_view import as_view
from odsymnmf.plots import matrix_picture, palette, pie_slices
from odsymnmf.similarity import cosine, gram

A = np.array(
    [[0, 9, 0, 0, 0], [9, 0, 0, 1, 0], [0, 0, 0, 4, 0], [0, 1, 4, 0, 0], [0, 0, 0, 0, 0.0]]
)
# Item 1 is in both clusters, item 4 in none.
H = np.array([[3, 0], [3, 1], [0, 2], [0, 2.5], [0, 0]])
SEARCH = choose.n_clusters(datasets.planted_partition([30] * 3, 0.4, 0.02, random_state=0)[0])
NAMES = ["a", "b$x", "c", "$\\broken$", "e"]


@pytest.fixture(autouse=True)
def agg():
    mpl.use("Agg")
    plt.close("all")  # figures of the doctests
    yield
    plt.close("all")


def words(ticks):
    return [tick.get_text() for tick in ticks]


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plots.plot_matrix(A, H, ax=ax),
        lambda ax: plots.plot_convergence([3.0, 2.0, 1.5], ax=ax),
        lambda ax: plots.plot_memberships(H, NAMES, ax=ax),
        lambda ax: plots.plot_graph(A, H, NAMES, ax=ax),
        lambda ax: plots.plot_n_clusters(SEARCH, ax=ax),
    ],
    ids=["matrix", "convergence", "memberships", "graph", "n_clusters"],
)
def test_plots_draw_on_given_or_new_axes(draw, tmp_path):
    figure, ax = plt.subplots()
    assert draw(ax) is ax
    assert plt.get_fignums() == [figure.number]
    new = draw(None)
    assert new is not ax
    for kind in ("png", "svg"):
        new.figure.savefig(tmp_path / f"picture.{kind}")
        assert (tmp_path / f"picture.{kind}").stat().st_size > 1000


def test_matrix_is_sorted_with_borders_between_clusters():
    noisy = A + np.diag([np.nan] * 5)
    for kind in (A, noisy, sparse.csr_array(A), matrix_picture(A, H)):
        ax = plots.plot_matrix(kind, H)
        shown = np.ma.filled(ax.images[0].get_array(), np.nan)
        order = [0, 1, 3, 2, 4]
        expected = A[np.ix_(order, order)]
        off = ~np.eye(5, dtype=bool)
        np.testing.assert_array_equal(shown[off] > 0, expected[off] > 0)
        assert shown[off].max() == shown[0, 1] == 1
        assert len(ax.lines) == 2 * 2  # behind item 2 and behind item 4, both ways
        assert words(ax.get_xticklabels()) == words(ax.get_yticklabels()) == ["0", "1", "none"]
    negative = plots.plot_matrix(-A, H).images[0].get_array()
    assert (negative.min(), negative.max() <= 0) == (-1, True)


def test_convergence_with_restarts_marked():
    ax = plots.plot_convergence([300.0, 20.0, 1.0])
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 300], [1, 20], [2, 1]])
    assert ax.get_yscale() == "log"
    assert plots.plot_convergence([3.0, 2.0]).get_yscale() == "linear"
    assert plots.plot_convergence([0.0]).get_yscale() == "linear"
    assert ax.get_xlabel() == "iterations"
    assert ax.get_legend() is None
    result = SimpleNamespace(history=[9.0, 7.0, 6.0, 5.0], restart_steps=[2])
    ax = plots.plot_convergence(result)
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[2, 6]])
    assert ax.get_xlabel() == "iterations and restarts"
    assert words(ax.get_legend().get_texts()) == ["accepted column restart"]


def test_cluster_numbers_do_not_overlap():
    many = np.repeat(np.eye(50), [20, 3, *[4] * 48], axis=0)
    ax = plots.plot_matrix(many @ many.T, many)
    ax.figure.draw_without_rendering()
    for ticks in (ax.get_xticklabels(), ax.get_yticklabels()):
        boxes = [tick.get_window_extent() for tick in ticks]
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))
        assert 10 <= len(boxes) < 20
        assert ticks[0].get_text() == "0"  # the largest
    assert ax.lines[0].get_linewidth() < 0.6


def test_memberships_are_sorted_and_named():
    ax = plots.plot_memberships(H, NAMES)
    assert words(ax.get_yticklabels()) == ["a", "b$x", "$\\broken$", "c", "e"]
    shown = ax.images[0].get_array()
    assert shown.shape == (5, 2)
    np.testing.assert_array_equal(shown > 0, H[[0, 1, 3, 2, 4]] > 0)
    many = plots.plot_memberships(np.ones((200, 1)), range(200))
    assert len(many.get_yticks()) < 20


def test_graph_has_links_nodes_pies_and_names():
    ax = plots.plot_graph(A, H, NAMES)
    lines, wedges = ax.collections
    assert len(lines.get_segments()) == 3
    assert len(wedges.get_paths()) == 6  # five items, one of them a pie of two
    first, second = palette(2)
    fills = [mpl.colors.to_hex(c) for c in wedges.get_facecolors()]
    assert fills == [first, first, second, second, second, plots.UNASSIGNED]
    assert words(ax.texts) == NAMES
    ax = plots.plot_graph(A, H, ["a" * 999, *NAMES[1:]])
    assert max(map(len, words(ax.texts))) == 40


def test_layout_is_deterministic_and_linked_items_are_close():
    # A shuffled ring in one cluster: only the links determine positions.
    order = np.random.default_rng(0).permutation(40)
    W = np.roll(np.eye(40), 1, axis=0)[np.ix_(order, order)]
    first, second = (
        np.array(plots.plot_graph(W + W.T, np.ones((40, 1))).collections[0].get_segments())
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    points = np.unique(first.reshape(-1, 2), axis=0)
    apart = np.linalg.norm(points[:, None] - points, axis=2).mean()
    assert np.linalg.norm(first[:, 0] - first[:, 1], axis=1).mean() < 0.5 * apart


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_memberships(kind):
    for draw in (plots.plot_matrix, plots.plot_graph):
        draw(A, kind(H)).figure.savefig(a := io.BytesIO(), format="png")
        draw(A, H).figure.savefig(b := io.BytesIO(), format="png")
        assert a.getvalue() == b.getvalue()
    shown = [plots.plot_memberships(form).images[0].get_array() for form in (H, kind(H))]
    np.testing.assert_array_equal(*shown)
    with pytest.raises(ValueError, match=r"100,000 x 40,000 entries, too many to draw"):
        plots.plot_memberships(kind((100_000, 40_000)))


def test_bad_input():
    with pytest.raises(ValueError, match="history must be a list of objectives"):
        plots.plot_convergence([])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        plots.plot_convergence(ODSymNMF())
    with pytest.raises(ValueError, match="pixels must be at least 1"):
        matrix_picture(A, H, 0)
    with pytest.raises(ValueError, match="A has 5 items, but H has 4 rows"):
        plots.plot_graph(A, H[:4])
    with pytest.raises(ValueError, match="there are 1 names for 5 items"):
        plots.plot_memberships(H, ["a"])
    with pytest.raises(ValueError, match=r"3000 items would be unreadable .*plot_matrix"):
        plots.plot_graph(sparse.csr_array((3000, 3000)), np.ones((3000, 1)))


def test_without_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from odsymnmf import plots, report\n"
        "print(len(report.page([[1]], [[0]])) > 1000)\n"
        "try: plots.plot_convergence([1.0])\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "True"
    assert 'pip install "odsymnmf[plots]"' in done.stdout


@given(n=st.integers(1, 12), r=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_pie_slices_form_a_circle(n, r, seed):
    rng = np.random.default_rng(seed)
    H = rng.integers(0, 5, (n, r)) / 4 * (rng.random((n, r)) < 0.6)
    view = as_view(H)
    for item in range(n):
        slices = pie_slices(view, item)
        assert bool(slices) == H[item].any()
        if slices:
            assert slices[0][0] == view.labels[item]
            assert slices[0][2] == 0
            assert slices[-1][3] == pytest.approx(1)
            assert all(a[3] == b[2] for a, b in pairwise(slices))


def test_colors_are_different_and_repeat():
    assert len(set(plots.COLORS)) == len(plots.COLORS)
    assert palette(len(plots.COLORS) + 1) == [*plots.COLORS, plots.COLORS[0]]


def block_means(A, H, pixels):
    """Sort the items, then average every pair of every pixel."""
    label = memberships.labels(H)
    n, r = H.shape
    order = sorted(range(n), key=lambda i: (label[i] % (r + 1), -H[i].max(), i))
    p = min(n, pixels)
    cells = [[[] for _ in range(p)] for _ in range(p)]
    for s, i in enumerate(order):
        for t, j in enumerate(order):
            if i != j:
                cells[s * p // n][t * p // n].append(A[i, j])
    return np.array([[np.mean(c) if c else np.nan for c in row] for row in cells])


@given(
    n=st.integers(1, 25),
    r=st.integers(1, 5),
    pixels=st.integers(1, 30),
    seed=st.integers(0, 10**6),
    negative=st.booleans(),
)
def test_picture_matches_brute_force(n, r, pixels, seed, negative):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) if negative else rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    A = np.triu(A, 1)
    A = A + A.T
    H = rng.random((n, r)) * (rng.random((n, r)) < 0.7)
    noisy = A + np.diag(np.full(n, np.nan))
    for form in (A, noisy, sparse.csr_array(A), sparse.coo_matrix(noisy)):
        picture = matrix_picture(form, H, pixels)
        assert picture.values.dtype == np.float32
        expected = block_means(A, H, pixels)
        np.testing.assert_allclose(picture.values, expected, rtol=1e-5, atol=1e-6)
    X = A[:, : max(1, n // 2)]
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    for form in (X, sparse.csr_array(X)):
        for make, rows in ((gram, X), (cosine, unit)):
            picture = matrix_picture(make(form), H, pixels)
            expected = block_means(rows @ rows.T, H, pixels)
            np.testing.assert_allclose(picture.values, expected, rtol=1e-5, atol=1e-5)
