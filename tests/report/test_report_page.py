import base64
import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib import image
from report_problems import HOSTILE, hostile_page, les_miserables, make, two_cliques
from scipy import sparse

from odsymnmf import memberships
from odsymnmf.drawing import Members, as_members
from odsymnmf.drawing.colours import palette
from odsymnmf.report import Choice, _page, matrix_picture
from odsymnmf.report._heatmap import png
from odsymnmf.similarity import cosine

VOID = {"meta", "input", "br", "image", "rect", "circle", "path", "polyline"}


class Reader(HTMLParser):
    """Checks that tags close in order; gathers tags, attributes and text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.addresses, self.text = [], [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [v for k, v in attrs if k in ("href", "src", "action", "data")]
        assert not [k for k, _ in attrs if k.startswith("on") or k == "style"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_the_page_is_well_formed_and_points_nowhere():
    A, H, history, names = les_miserables()
    html = make(A, H, names, history, restarts=[2])
    reader = Reader(html)
    assert {a.partition(":")[0] if a[0] != "#" else "#" for a in reader.addresses} == {"#", "data"}
    assert {"h1", "nav", "main", "svg", "table", "dl", "footer"} <= set(reader.tags)
    assert "Courfeyrac" in "".join(reader.text)
    assert "http" not in html.replace("http-equiv", "")
    assert sorted(data_of(html)["names"]) == sorted(names)


def test_same_input_same_page():
    A, H, history, names = les_miserables()
    assert make(A, H, names, history) == make(A, H, names, history)


def test_hostile_text_stays_text():
    html = hostile_page()
    reader = Reader(html)
    assert reader.tags.count("script") == 2
    assert not {"img", "b"} & set(reader.tags)
    html.encode("utf-8")
    _, H = two_cliques(len(HOSTILE))
    shown = data_of(html)["names"]
    names = [shown[place] for place in np.argsort(as_members(H).order)]
    assert names[:5] == HOSTILE[:5]
    assert names[9] == names[10] == "(no name)"
    assert max(map(len, names)) == 300
    assert not any(c < " " for name in names for c in name)
    assert names[6] == "gnp.exe"  # cannot pass for "exe.png"
    assert names[7] == HOSTILE[7]


@pytest.mark.parametrize(
    ("A", "H"),
    [
        ([[np.nan]], [[1.0]]),
        ([[0.0]], [[0.0]]),
        (np.zeros((4, 4)), np.zeros((4, 3))),
        (np.where(np.eye(4), np.nan, 1.0), np.eye(4, 2)),
        (-two_cliques()[0], two_cliques()[1]),
        (np.ones((5, 5)), np.ones((5, 1))),
        (np.ones((3, 3)), np.random.default_rng(0).random((3, 60))),
        (sparse.csr_array((4, 4)), np.eye(4, 2)),
        (cosine(np.eye(4, 3)), np.eye(4, 3)),
        (matrix_picture(*two_cliques()), two_cliques()[1]),
    ],
    ids=[
        "one item", "nothing at all", "all unassigned", "NaN diagonal", "negative", "one cluster",
        "more clusters than items", "no links", "documents", "picture only",
    ],
)  # fmt: skip
@pytest.mark.parametrize("history", [[5.0], [0.0, 0.0], [1e9, 1.0, 1e-3], []])
def test_degenerate_runs_give_a_page(A, H, history):
    with np.errstate(all="raise"):
        html = make(A, H, None, history)
    Reader(html)
    assert "nan" not in re.sub("data:image[^\"]*|name|unassigned|sha256[^']*", "", html)


def test_unassigned_items_are_shown_as_such():
    A, H = two_cliques()
    H[5] = 0
    html = make(A, H, list("abcdef"))
    assert "6 items, 2 clusters, 1 unassigned" in html
    assert '<option value="-1">unassigned</option>' in html
    data = data_of(html)
    assert data["names"] == list("abcdef")
    assert data["sizes"] == [3, 2]
    assert data["counts"] == [2, 1, 1, 1, 1, 0]


def test_memberships_of_the_table_are_the_strongest():
    H = np.array([[0.1, 0, 0.5, 0.25, 0.3, 0.2]] * 2 + [[0, 0, 0, 0, 0, 1 / 3]])
    data = data_of(make(np.ones((3, 3)), H))
    assert data["names"] == ["0", "1", "2"]
    strength = memberships.strength(H)
    expected = [2, *sorted([3, 4, 5, 0], key=lambda l: -strength[0, l])]
    assert data["counts"] == [4, 4, 1]
    assert data["top"] == [*expected[:4] * 2, 5]
    assert data["percent"] == [round(100 * strength[0, l]) for l in expected[:4]] * 2 + [100]
    assert data["others"] == [1, 1, 0]


def test_drawing_and_table_say_the_same_per_cent():
    A, H, history, names = les_miserables()
    html = make(A, H, names, history)
    data = data_of(html)
    starts = np.concatenate([[0], np.cumsum(data["counts"])])
    drawn = dict(re.findall(r"<title>([^<:]*): (cluster \d+ \(\d+ %\)[^<]*)</title>", html))
    assert len(drawn) == len(names)
    for name, a, b in zip(data["names"], starts[:-1], starts[1:], strict=True):
        told = dict(zip(data["top"][a:b], data["percent"][a:b], strict=True))
        for l, percent in re.findall(r"cluster (\d+) \((\d+) %\)", drawn[name]):
            assert told[int(l)] == int(percent)


def test_the_page_begins_with_the_clusters():
    html = make(*two_cliques(), facts={"SHA-256 of the input": "abc"})
    parts = ["h-clusters", "h-matrix", "h-graph", "h-overlap", "h-items", "h-curve", "h-run"]
    places = [html.index(f'<h2 id="{part}"') for part in parts]
    assert places == sorted(places)
    assert html.index("SHA-256") > places[-1]


def test_how_many_words_and_settings_are_shown_if_given():
    A, H = two_cliques()
    choice = Choice([2, 3, 4], [0.5, np.nan, 0.75], 2, "the <error> is smallest")
    topics = [[("ship", 2.0), ("</td><b>sail", 1.0)], [("cow", 0.5)]]
    settings = {"normalize": "degree (a sparse graph)"}
    html = make(A, H, choice=choice, topics=topics, settings=settings)
    Reader(html)
    assert "Why 2 clusters" in html
    assert "the &lt;error&gt; is smallest" in html
    assert "<title>2 clusters: 0.5</title>" in html
    assert "<title>3 clusters" not in html
    assert "<bdi>ship</bdi>,</span>" in html
    assert '<span class="name"><bdi>&lt;/td&gt;&lt;b&gt;sail</bdi></span>' in html
    assert "degree (a sparse graph)" in html
    plain = make(A, H)
    for word in ("Why 2", ">Top words<", "Decided from the input"):
        assert word in html
        assert word not in plain
    with pytest.raises(ValueError, match="top words for 1 of 2 clusters"):
        make(A, H, topics=topics[:1])
    with pytest.raises(ValueError, match="1 errors for 2 candidates"):
        Choice([2, 3], [0.5], 2, "")


def test_what_is_there_already_is_not_made_again(monkeypatch):
    A, H = two_cliques()
    sets = memberships.overlapping_sets(H)
    expected = make(A, H)
    picture = matrix_picture(A, H)
    monkeypatch.setattr(_page, "matrix_picture", None)
    monkeypatch.setattr(Members, "sets", None)
    html = make(A, H, picture=picture, sets=sets)
    assert html == expected.replace(
        _page.FIFTH, "that belong to it as well as to their own cluster"
    )


def test_rounded_zeros_have_no_negative_side():
    A, H = two_cliques()
    A[0, 5] = A[5, 0] = -8.9e-17
    html = make(A, H)
    assert 'class="ramp down"' not in html
    assert "negative similarities" not in html
    A[0, 5] = A[5, 0] = -0.01
    html = make(A, H)
    assert 'class="ramp down"' in html
    assert "negative similarities are not drawn" in html


def test_every_large_item_is_labelled():
    A, H, history, names = les_miserables()
    html = make(A, H, names, history)
    degree = np.diff(sparse.csr_array(A).indptr)
    shown = {*re.findall(r'<text class="m[a-z]+(?: end| mid)?"[^>]*>([^<]*)</text>', html)}
    assert {names[i] for i in np.flatnonzero(degree >= 0.3 * degree.max())} <= shown


def test_overlap_names_who_is_shared():
    A, H = two_cliques()
    html = make(A, H, ["bridge", *"bcdef"])
    section = html[html.index("Largest overlaps") :]
    assert '1 shared member: <span class="name"><bdi>bridge</bdi></span></span>' in section
    assert "do not overlap" in make(np.eye(4), np.eye(4, 2))


def test_one_shared_member_is_an_overlap_however_small_the_cosine():
    H = np.kron(np.eye(2), np.ones((4, 1)))
    H[:4, 0] = 100
    H[7] = [0.01, 1.0]
    html = make(H @ H.T, H)
    assert 'title="clusters 0 and 1: 1 shared member, cosine 0.00"' in html
    assert "do not overlap" not in html
    assert 'cosine 0.00, 1 shared member: <span class="name"><bdi>7</bdi>' in html


def test_faint_overlaps_of_many_clusters_look_faint():
    H = np.repeat(np.eye(20), 3, axis=0)
    H[0, 1] = 0.1
    section = make(H @ H.T, H).partition('id="h-overlap"')[2]
    data = base64.b64decode(re.search(r"base64,([^\"]*)", section)[1])
    alpha = image.imread(io.BytesIO(data), format="png")[..., 3]
    assert 0 < alpha.max() < 0.1
    assert alpha.argmax() == 1


def test_bars_share_one_scale_with_the_unassigned():
    H = np.zeros((30, 1))
    H[:3] = 1
    widths = re.findall(r'<rect width="([0-9.]+)" height="8"/>', make(np.ones((30, 30)), H))
    assert [float(w) for w in widths] == [11.1, 100.0]


def test_a_graph_is_drawn_only_where_it_can_be_read():
    A, H = two_cliques()
    assert '<svg class="graph"' in make(A, H)
    assert "is not drawn" not in make(A, H)
    assert '<svg class="graph"' not in make(matrix_picture(A, H), H)
    dense = np.random.default_rng(0).random((60, 60))
    html = make(dense + dense.T, np.ones((60, 1)))
    assert '<svg class="graph"' not in html
    assert "The graph is not drawn: 1,770 links are too dense to be told apart." in html
    ring = sparse.csr_array(np.roll(np.eye(501), 1, axis=0))
    html = make(ring + ring.T, np.ones((501, 1)))
    assert '<svg class="graph"' not in html
    assert "The graph is not drawn: more than 500 items cannot be told apart." in html
    assert "not drawn: nearly all pairs of documents" in make(cosine(np.eye(4)), np.eye(4))
    assert "not drawn: it has no links" in make(np.zeros((4, 4)), np.eye(4))


def test_an_item_in_two_clusters_is_a_pie():
    A, H = two_cliques()
    html = make(A, H, ["bridge", *"bcdef"])
    words = r"bridge: cluster 0 \(55 %\), cluster 1 \(45 %\)"
    node = re.search(rf"<title>{words}</title>.*?</g>", html)[0]
    assert node.count("<path") == 1
    assert html.count('class="node"') == 6


def test_the_picture_is_a_png_that_others_read():
    shade = np.array([[0, 1, -1], [0.5, 0, 0]])
    data = base64.b64decode(png(shade).partition(",")[2])
    pixels = image.imread(io.BytesIO(data), format="png")
    assert pixels.shape == (2, 3, 4)
    np.testing.assert_allclose(pixels[..., 3], np.abs(shade), atol=0.01)
    assert pixels[0, 1, 2] > pixels[0, 1, 0]  # blue
    assert pixels[0, 2, 0] > pixels[0, 2, 2]  # orange


def test_restarts_are_marked_on_the_curve():
    A, H = two_cliques()
    html = make(A, H, history=[8.0, 5.0, 3.0], restarts=[2, 7])
    assert html.count('class="restart"') == 1
    assert "column restart, after 1 iteration and 1 restart: 3" in html
    assert ">iterations and restarts</text>" in html
    assert "accepted column restart" in html
    assert ">iterations</text>" in make(A, H, history=[8.0, 5.0, 3.0])


def test_colours_are_many_and_readable():
    colours = palette(60)
    assert len(set(colours)) == 60
    assert palette(9) == colours[:9]
    for colour in colours:
        # Contrast of at least 3 with white and with the dark page (WCAG, graphics).
        Y = luminance(colour)
        assert 1.05 / (Y + 0.05) >= 3
        assert (Y + 0.05) / (luminance("#181b21") + 0.05) >= 2.6


def luminance(colour):
    v = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    v = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    return float(v @ [0.2126, 0.7152, 0.0722])


def test_bad_input_is_named():
    A, H = two_cliques()
    with pytest.raises(ValueError, match="there are 2 names for 6 items"):
        make(A, H, ["a", "b"])
    with pytest.raises(ValueError, match="A is of 6 items, but H has 5 rows"):
        make(A, H[:5])
