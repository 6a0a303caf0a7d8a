"""The page in a browser, by mouse and by keyboard."""

import io

import numpy as np
import pytest
from matplotlib import image
from scipy import sparse

from odsymnmf.choose import NumberOfClusters

# Elements whose content is wider than they are.
OVERFLOW = "all => all.filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.textContent)"

# Names on more than one line.
BROKEN = """all => all.filter((b) => {
    const lines = new Set([...b.getClientRects()].map((r) => Math.round(r.top)));
    return lines.size > 1;
}).map((b) => b.textContent)"""


@pytest.fixture(scope="module")
def report(make, les_miserables):
    A, H, names, history = les_miserables
    H = H.copy()
    H[3] = 0
    facts = {"input": "graph.csv", "items": "77"}
    return make(A, H, names, history, title="Les Misérables", facts=facts, restarts=[4])


def pixels(target):
    return image.imread(io.BytesIO(target.screenshot()), format="png")[..., :3]


def column(page, number):
    return page.locator(f"#items tbody tr > :nth-child({number})").all_inner_texts()


def test_light_and_dark_without_overflow_on_a_phone(visit, report, make, two_cliques):
    light = visit(report)
    assert light.title() == "Les Misérables"
    assert len(np.unique(pixels(light).reshape(-1, 3), axis=0)) > 50
    assert pixels(light).mean() > 0.7
    dark = visit(report, width=390, scheme="dark")
    assert pixels(dark).mean() < 0.3
    for drawing in (".heat", ".graph", ".curve"):
        shot = pixels(dark.locator(drawing).first)
        assert shot.mean() < 0.4
        assert shot.std() > 0.01
    names = dark.locator(".clusters bdi, #items bdi, .plain bdi")
    assert names.count() > 60
    assert names.evaluate_all(BROKEN) == []
    word = "Donaudampfschifffahrtsgesellschaft" * 3
    names = ("resolution", "n_clusters", "modularity", "description_length", "stability")
    table = {name: np.linspace(1, 10_000, 20) for name in names}
    choice = NumberOfClusters(7, "weak", "The error " * 50, 3, table, [])
    items, topics = [f"{word}{k}" for k in range(6)], [[(word, 1.0)] * 10] * 2
    attributes = {"n_clusters_search_": choice, "settings_": {"normalize": "degree"}}
    more = {"title": word, "facts": {word: word}, "topics": topics, "attributes": attributes}
    long = make(*two_cliques, items, **more)
    for html in (report, long):
        page = visit(html, width=320)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
    cells = page.locator("h1, h2, h3, dt, dd, #items th, #items td")
    assert cells.evaluate_all(OVERFLOW) == []
    rows = page.locator(".partitions tbody tr")
    assert len({*rows.evaluate_all("all => all.map((row) => row.clientHeight)")}) == 1


def test_search_choose_and_sort(visit, report):
    page = visit(report)
    assert page.inner_text("#status") == "1 to 25 of 77"
    page.fill("#query", "  VALJ")
    assert column(page, 1) == ["Valjean"]
    page.fill("#query", "nobody of this name")
    assert page.inner_text("#status") == "No item matches."
    page.fill("#query", "")
    page.select_option("#cluster", "2")
    assert set(column(page, 2)) == {"2"}
    page.click(".pick[data-cluster='-1']")
    assert column(page, 2) == ["none"]
    assert page.evaluate("document.activeElement.id") == "cluster"
    page.select_option("#cluster", "")
    header = page.locator("th:has(> [data-sort=name])")
    for direction, reverse in (("ascending", False), ("descending", True)):
        page.click("[data-sort=name]")
        names = column(page, 1)
        assert names == sorted(names, key=str.lower, reverse=reverse)
        assert header.get_attribute("aria-sort") == direction
    page.click("[data-sort=strength]")
    strengths = [int(s.removesuffix(" %")) for s in column(page, 3)]
    assert strengths == sorted(strengths, reverse=True)


def test_keyboard(visit, report):
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for cluster in ("0", "1", "2", "3", "4", "5", "-1"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.cluster") == cluster
        style = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(style) != "none"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('class')") == "node"
    seen = {page.inner_text("#graph-note")}
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
        seen.add(page.inner_text("#graph-note"))
    assert len(seen) == 3
    assert all(": cluster" in note for note in seen)
    page.focus("#query")
    page.keyboard.type("mme")
    assert all("mme" in name.lower() for name in column(page, 1))
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.focus("#forth")
    for _ in range(3):
        page.keyboard.press("Enter")
    assert page.inner_text("#status") == "76 to 77 of 77"
    assert page.is_disabled("#forth")


def test_names_and_other_scripts_are_not_executed(visit, browser, hostile_page, hostile_names):
    page = visit(hostile_page, width=390)
    assert page.evaluate("document.scripts.length") == 2
    assert page.locator("img:not(.curve), body b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.title() == page.inner_text("h1") == hostile_names[1]
    page.locator(".node").first.focus()
    assert page.inner_text("#graph-note").startswith(hostile_names[0] + ": cluster 0")
    page.fill("#query", "<img")
    assert column(page, 1) == [hostile_names[2]]
    page = browser.new_page()  # the policy of the page blocks other scripts and images
    page.set_content(hostile_page.replace("</footer>", "</footer><script>window.x = 1</script>"))
    assert page.evaluate("window.x") is None
    refused = """() => new Promise(done => {
        document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective));
        document.body.append(Object.assign(new Image(), {src: "http://localhost/x.png"}));
    })"""
    assert page.evaluate(refused) == "img-src"
    page.close()


def test_many_items_and_clusters(visit, make):
    """100,000 items in 1,000 clusters; every 100th is also in the next cluster."""
    n, r = 100_000, 1000
    item = np.arange(n)
    values = np.concatenate([np.full(n, 1.0), np.where(item % 100 == 0, 0.6, 0.001)])
    columns = np.concatenate([item // 100, (item // 100 + 1) % r])
    H = sparse.csr_array((values, (np.tile(item, 2), columns)))
    topics = [[(f"word{l}", 1.0), ("<b>", 0.5)] for l in range(r)]
    html = make(sparse.csr_array((n, n)), H, [f"item-{i}" for i in range(n)], topics=topics)
    assert len(html) < 10e6
    page = visit(html)
    assert "Not drawn: more than 200 clusters" in page.inner_text("main")
    assert page.locator(".clusters tbody tr").count() == 50
    assert page.inner_text("#status") == "1 to 25 of 100,000"
    page.fill("#cluster", "777")
    assert page.inner_text("#cluster-note") == "Cluster 777: 100 items. Top words: word777, <b>"
    assert page.inner_text("#status") == "1 to 25 of 101"
    page.fill("#query", "77600")  # shared with the cluster before
    assert column(page, 1) == ["item-77600"]
    page.fill("#cluster", "1000")
    assert page.inner_text("#cluster-note") == "There is no such cluster."
