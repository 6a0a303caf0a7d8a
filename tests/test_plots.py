import io
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import sparse

from odsymnmf import plots
from odsymnmf.drawing import matrix_picture
from odsymnmf.drawing.colours import NOBODY, palette
from odsymnmf.similarity import cosine

A = np.array(
    [[0, 9, 0, 0, 0], [9, 0, 0, 1, 0], [0, 0, 0, 4, 0], [0, 1, 4, 0, 0], [0, 0, 0, 0, 0.0]]
)
# Item 1 is in both clusters, item 4 in none.
H = np.array([[3, 0], [3, 1], [0, 2], [0, 2.5], [0, 0]])
NAMES = ["a", "b$x", "c", "$\\broken$", "e"]


@pytest.fixture(autouse=True)
def agg():
    mpl.use("Agg")
    plt.close("all")  # what examples have left
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
    ],
    ids=["matrix", "convergence", "memberships", "graph"],
)
def test_axes_in_axes_out(draw, tmp_path):
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


def test_negative_similarities_have_their_own_colour():
    shown = plots.plot_matrix(-A, H).images[0].get_array()
    assert shown.min() == -1
    assert shown.max() <= 0


def test_a_picture_needs_no_memberships():
    assert plots.plot_matrix(matrix_picture(A, H), None).images
    with pytest.raises(ValueError, match="pass H"):
        plots.plot_matrix(A, None)


def test_documents_are_not_multiplied_out():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((20_000, 5)) * (rng.random((20_000, 5)) < 0.5))
    ax = plots.plot_matrix(cosine(X), X.toarray())
    assert ax.images[0].get_array().shape == (400, 400)
    assert ax.get_xlim() == (0, 20_000)


def test_convergence_shows_every_sweep():
    ax = plots.plot_convergence([300.0, 20.0, 1.0])
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 300], [1, 20], [2, 1]])
    assert ax.get_yscale() == "log"
    assert plots.plot_convergence([3.0, 2.0]).get_yscale() == "linear"
    assert plots.plot_convergence([0.0]).get_yscale() == "linear"
    assert ax.get_xlabel() == "iterations"
    assert ax.get_legend() is None
    with pytest.raises(ValueError, match="history must be a list of objectives"):
        plots.plot_convergence([])


def test_restarts_are_marked():
    ax = plots.plot_convergence([9.0, 7.0, 6.0, 5.0], [2])
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[2, 6]])
    assert ax.get_xlabel() == "iterations and restarts"
    assert words(ax.get_legend().get_texts()) == ["accepted column restart"]
    with pytest.raises(ValueError, match="restarts must be entries 1 to 3 of history"):
        plots.plot_convergence([9.0, 7.0, 6.0, 5.0], [4])


def test_numbers_of_many_clusters_do_not_cover_each_other():
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
    assert fills == [first, first, second, second, second, NOBODY]
    assert words(ax.texts) == NAMES


def test_graph_is_the_same_every_time_and_linked_items_are_near():
    # A ring in shuffled order, in one cluster: only the links can tell who belongs where.
    order = np.random.default_rng(0).permutation(40)
    W = np.roll(np.eye(40), 1, axis=0)[np.ix_(order, order)]
    first, second = (
        np.array(plots.plot_graph(W + W.T, np.ones((40, 1))).collections[0].get_segments())
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    points = np.unique(first.reshape(-1, 2), axis=0)
    assert len(points) == 40
    apart = np.linalg.norm(points[:, None] - points, axis=2).mean()
    assert np.linalg.norm(first[:, 0] - first[:, 1], axis=1).mean() < 0.5 * apart


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_memberships_are_drawn_as_others_are(kind):
    for draw in (plots.plot_matrix, plots.plot_graph):
        draw(A, kind(H)).figure.savefig(a := io.BytesIO(), format="png")
        draw(A, H).figure.savefig(b := io.BytesIO(), format="png")
        assert a.getvalue() == b.getvalue()
    ax = plots.plot_memberships(kind(H))
    np.testing.assert_array_equal(
        ax.images[0].get_array(), plots.plot_memberships(H).images[0].get_array()
    )
    with pytest.raises(ValueError, match=r"100,000 x 40,000 entries, too many to draw"):
        plots.plot_memberships(kind((100_000, 40_000)))


def test_a_long_name_leaves_room_for_the_picture():
    names = ["a" * 999, *NAMES[1:]]
    ax = plots.plot_memberships(H, names)
    ax.figure.draw_without_rendering()
    assert ax.get_position().width > 0.4
    ax = plots.plot_graph(A, H, names)
    assert max(len(text) for text in words(ax.texts)) == 40


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="A is of 5 items, but H has 4 rows"):
        plots.plot_graph(A, H[:4])
    with pytest.raises(ValueError, match="there are 1 names for 5 items"):
        plots.plot_memberships(H, ["a"])
    with pytest.raises(ValueError, match=r"3000 items would be unreadable .*plot_matrix"):
        plots.plot_graph(sparse.csr_array((3000, 3000)), np.ones((3000, 1)))


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from odsymnmf import plots, report\n"
        "print(len(report.page([[0]], [[1]], [0], names=None, title='', facts={})) > 1000)\n"
        "try: plots.plot_convergence([1.0])\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "True"
    assert 'pip install "odsymnmf[plots]"' in done.stdout
