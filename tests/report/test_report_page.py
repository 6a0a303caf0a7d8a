"""The HTML of the page."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse

import odsymnmf as od
from odsymnmf import memberships
from odsymnmf.choose import NumberOfClusters
from odsymnmf.similarity import cosine

VOID = {"meta", "input", "img"}


class PageChecker(HTMLParser):
    """Check that tags are closed in order; collect tags, links and text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.addresses = [], [], []
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
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def data_of(html):
    """Return the JSON data of a page."""
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])


def curve_of(html):
    """Return the SVG of the convergence plot."""
    return base64.b64decode(re.search(r"data:image/svg.xml;base64,([^\"]*)", html)[1])


def test_well_formed_and_self_contained(make, les_miserables):
    A, H, names, history = les_miserables
    html = make(A, H, names, history, restarts=[2], facts={"random seed": "abc"})
    page = PageChecker(html)
    assert {a.partition(":")[0] if a[0] != "#" else "#" for a in page.addresses} == {"#", "data"}
    assert "http" not in html.replace("http-equiv", "")
    assert sorted(data_of(html)["names"]) == sorted(names)
    sections = ["clusters", "matrix", "graph", "overlap", "items", "curve", "run"]
    positions = [html.index(f'<h2 id="h-{name}"') for name in sections]
    assert positions == sorted(positions)
    assert html.index("random seed") > positions[-1]
    assert html == make(A, H, names, history, restarts=[2], facts={"random seed": "abc"})


def test_hostile_names(hostile_page, hostile_names):
    page = PageChecker(hostile_page)
    assert page.tags.count("script") == 2
    assert page.tags.count("img") == 1  # the curve
    assert "b" not in page.tags
    hostile_page.encode("utf-8")
    names = data_of(hostile_page)["names"]
    assert names[:5] == hostile_names[:5]
    assert names[9] == names[10] == "(no name)"
    assert max(map(len, names)) == 300
    assert not any(c < " " for name in names for c in name)
    assert names[6] == "gnp.exe"  # cannot pass for "exe.png"
    assert names[7] == hostile_names[7]


@pytest.mark.parametrize("history", [[5.0], [0.0, 0.0], [1e9, 1.0, 1e-3], []])
def test_degenerate_runs(make, two_cliques, history):
    cliques, members = two_cliques
    for A, H in [
        ([[np.nan]], [[1.0]]),
        ([[0.0]], [[0.0]]),
        (np.zeros((4, 4)), np.zeros((4, 3))),
        (np.where(np.eye(4), np.nan, 1.0), np.eye(4, 2)),
        (-cliques, members),
        (np.ones((5, 5)), np.ones((5, 1))),
        (np.ones((3, 3)), np.random.default_rng(0).random((3, 60))),
        (sparse.csr_array((4, 4)), np.eye(4, 2)),
        (cosine(np.eye(4, 3)), np.eye(4, 3)),
    ]:
        with np.errstate(all="raise"):
            html = make(A, H, None, history)
        PageChecker(html)
        assert "nan" not in re.sub("data:image[^\"]*|name|unassigned|sha256[^']*", "", html)


def test_items_have_their_strongest_memberships(make):
    H = np.array([[0.1, 0, 0.5, 0.25, 0.3, 0.2]] * 2 + [[0, 0, 0, 0, 0, 1 / 3], [0] * 6])
    html = make(np.ones((4, 4)), H, list("abcd"))
    assert "4 items, 6 clusters, 1 unassigned" in html
    assert '<option value="-1">unassigned</option>' in html
    data = data_of(html)
    strength = memberships.strength(H)
    expected = [2, *sorted([3, 4, 5, 0], key=lambda l: -strength[0, l])]
    assert data["names"] == list("abcd")
    assert data["sizes"] == [0, 0, 2, 0, 0, 1]
    assert data["counts"] == [4, 4, 1, 0]
    assert data["top"] == [*expected[:4] * 2, 5]
    assert data["percent"] == [round(100 * strength[0, l]) for l in expected[:4]] * 2 + [100]
    assert data["others"] == [1, 1, 0, 0]
    bars = re.findall(r'<rect width="([0-9.]+)" height="8"/>', html)
    assert bars == ["0.0", "0.0", "100.0", "0.0", "0.0", "50.0", "50.0"]  # the last: unassigned


def test_graph_and_table_have_the_same_percentages(make, les_miserables):
    A, H, names, history = les_miserables
    html = make(A, H, names, history)
    data = data_of(html)
    starts = np.concatenate([[0], np.cumsum(data["counts"])])
    drawn = dict(re.findall(r"<title>([^<:]*): (cluster \d+ \(\d+ %\)[^<]*)</title>", html))
    assert len(drawn) == len(names)
    for name, a, b in zip(data["names"], starts[:-1], starts[1:], strict=True):
        listed = dict(zip(data["top"][a:b], data["percent"][a:b], strict=True))
        for l, percent in re.findall(r"cluster (\d+) \((\d+) %\)", drawn[name]):
            assert listed[int(l)] == int(percent)
    degree = np.diff(sparse.csr_array(A).indptr)
    labels = {*re.findall(r'<text class="m[a-z]+(?: end| mid)?"[^>]*>([^<]*)</text>', html)}
    assert {names[i] for i in np.flatnonzero(degree >= 0.3 * degree.max())} <= labels


def test_choice_topics_and_settings(make, two_cliques):
    table = {"n_clusters": np.array([2, 3]), "stability": np.array([0.875, 0.5])}
    choice = NumberOfClusters(2, "clear", "the <error> is smallest", 0, table, [])
    topics = [[("ship", 2.0), ("</td><b>sail", 1.0)], [("cow", 0.5)]]
    settings = {"normalize": "degree (a sparse graph)"}
    attributes = {"n_clusters_search_": choice, "settings_": settings}
    html = make(*two_cliques, attributes=attributes, topics=topics)
    PageChecker(html)
    for text in (
        "Why 2 clusters",
        "The &lt;error&gt; is smallest",
        '<tr class="chosen"><td class="num">2</td><td class="num">0.875</td><td>chosen</td></tr>',
        '<tr><td class="num">3</td><td class="num">0.5</td><td></td></tr>',
        "<bdi>ship</bdi>,</span>",
        '<span class="name"><bdi>&lt;/td&gt;&lt;b&gt;sail</bdi></span>',
        "degree (a sparse graph)",
    ):
        assert text in html
    hidden = re.compile(r'class="card" hidden>\s*<h2 id="h-choice"|<div hidden>\s*<h3>Chosen')
    assert len(hidden.findall(make(*two_cliques))) == 2
    assert not hidden.search(html)


def test_negative_similarities(make, two_cliques):
    A, H = two_cliques
    for value, visible in ((-8.9e-17, False), (-0.01, True)):  # the first is round-off
        A[0, 5] = A[5, 0] = value
        html = make(A, H)
        assert ('class="ramp down"' in html) == visible
        assert ("negative similarities are not drawn" in html) == visible


def test_overlap(make, two_cliques):
    html = make(*two_cliques, ["bridge", *"bcdef"])
    section = html[html.index("Largest overlaps") :]
    assert '1 shared member: <span class="name"><bdi>bridge</bdi></span></span>' in section
    assert "do not overlap" in make(np.eye(4), np.eye(4, 2))
    H = np.kron(np.eye(2), np.ones((4, 1)))
    H[:4, 0] = 100
    H[7] = [0.01, 1.0]
    html = make(H @ H.T, H)
    assert 'title="clusters 0 and 1: 1 shared member, cosine 0.00"' in html
    assert 'cosine 0.00, 1 shared member: <span class="name"><bdi>7</bdi>' in html


def test_shared_members_are_items_of_other_clusters(make, two_cliques):
    shared = re.compile(r'<td class="num set">(\d*)</td>')
    assert shared.findall(make(*two_cliques)) == ["0", "1"]
    # A refined label may differ from the memberships: item 5 is in the set of cluster 1 only.
    labels = {"labels_": [0, 0, 0, 1, 1, 0]}
    assert shared.findall(make(*two_cliques, attributes=labels)) == ["0", "2"]


def test_readable_graphs_are_drawn(make, two_cliques):
    A, H = two_cliques
    html = make(A, H, ["bridge", *"bcdef"])
    assert '<svg class="graph"' in html
    node = re.search(r"<title>bridge: cluster 0 \(55 %\), cluster 1 \(45 %\)</title>.*?</g>", html)
    assert node[0].count("<path") == 1
    x, y, ax, ay, large, bx, by = np.array(
        re.search(r'd="M(\S+) (\S+)L(\S+) (\S+)A\S+ \S+ 0 (\d) 1 (\S+) (\S+)z', node[0]).groups(),
        dtype=float,
    )
    begin, end = (np.arctan2(a - x, y - b) / (2 * np.pi) % 1 for a, b in ((ax, ay), (bx, by)))
    assert (large, (end - begin) % 1) == (0, pytest.approx(0.45, abs=0.02))
    assert html.count('class="node"') == 6
    dense = np.random.default_rng(0).random((60, 60))
    ring = sparse.csr_array(np.roll(np.eye(501), 1, axis=0))
    for A, H, reason in [
        (dense + dense.T, np.ones((60, 1)), "1,770 links are too dense to be distinguished"),
        (ring + ring.T, np.ones((501, 1)), "more than 500 items cannot be distinguished"),
        (cosine(np.eye(4)), np.eye(4), "nearly all pairs of documents"),
        (np.zeros((4, 4)), np.eye(4), "it has no links"),
    ]:
        html = make(A, H)
        assert '<svg class="graph"' not in html
        assert f"The graph is not drawn: {reason}" in html


def test_restarts_are_marked(make, two_cliques):
    html = make(*two_cliques, history=[8.0, 5.0, 3.0], restarts=[2])
    assert 'alt="Objective: 8 at the start, 3 at the end"' in html
    assert b">iterations and restarts</text>" in curve_of(html)
    assert b">accepted column restart</text>" in curve_of(html)
    assert b">iterations</text>" in curve_of(make(*two_cliques, history=[8.0, 5.0, 3.0]))


def test_bad_input(make, two_cliques):
    A, H = two_cliques
    with pytest.raises(ValueError, match="there are 2 names for 6 items"):
        make(A, H, ["a", "b"])
    with pytest.raises(ValueError, match="A has 6 items, but H has 5 rows"):
        make(A, H[:5])


def test_write_makes_the_page_of_a_model(tmp_path):
    data = od.datasets.les_miserables()
    model = od.ODSymNMF(6, tol=0.1).fit(data)
    path = tmp_path / "report.html"
    od.report.write(model, path, title="Les Mis")
    html = path.read_text(encoding="utf-8")
    assert "Les Mis" in html
    assert "Valjean" in html
    del model.similarity_
    with pytest.raises(ValueError, match="pass A"):
        od.report.write(model, path)
    od.report.write(model, path, A=data)
