"""The page in a real browser: opened from a file, used by mouse and by keyboard."""

import io

import numpy as np
import pytest
from matplotlib import image
from report_problems import HOSTILE, hostile_page, les_miserables, make, two_cliques
from scipy import sparse

from odsymnmf.report import Choice

SIZES = {"laptop": (1280, 800), "phone": (390, 844)}


@pytest.fixture(scope="module")
def report():
    A, H, history, names = les_miserables()
    H[3] = 0
    facts = {"input": "graph.csv", "items": "77", "loss": "l2"}
    return make(A, H, names, history, title="Les Misérables", facts=facts, restarts=[4])


def pixels(page, **options):
    return image.imread(io.BytesIO(page.screenshot(**options)), format="png")[..., :3]


def column(page, number):
    cells = page.locator(f"#items tbody tr > :nth-child({number})")
    return cells.all_inner_texts()


@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_and_is_not_blank(visit, report, size):
    width, height = SIZES[size]
    light = visit(report, width=width, height=height)
    assert light.title() == "Les Misérables"
    assert light.evaluate("document.documentElement.scrollWidth") <= width
    shot = pixels(light)
    assert len(np.unique(shot.reshape(-1, 3), axis=0)) > 50
    assert shot.mean() > 0.7
    dark = visit(report, width=width, height=height, scheme="dark")
    assert pixels(dark).mean() < 0.3
    # The drawings adapt too, instead of shining in the dark.
    for drawing in (".heat", ".graph", ".curve"):
        dark.locator(drawing).first.scroll_into_view_if_needed()
        shot = dark.locator(drawing).first.screenshot()
        shot = image.imread(io.BytesIO(shot), format="png")
        assert shot[..., :3].mean() < 0.4
        assert shot[..., :3].std() > 0.01


def test_the_matrix_shows_what_is_similar(visit):
    H = np.kron(np.eye(2), np.ones((10, 1)))
    page = visit(make(np.where(H @ H.T > 0, 1.0, -1.0), H))
    shot = page.locator(".heat").screenshot()
    shot = image.imread(io.BytesIO(shot), format="png")
    n = len(shot)
    inside, outside = shot[n * 3 // 10, n * 4 // 10], shot[n * 3 // 10, n * 8 // 10]
    assert inside[2] > inside[0] + 0.3  # blue
    assert outside[0] > outside[2] + 0.3  # orange


def test_search_and_choice_of_cluster(visit, report):
    page = visit(report)
    assert page.inner_text("#status") == "1 to 25 of 77"
    page.fill("#query", "  VALJ")
    assert column(page, 1) == ["Valjean"]
    assert page.inner_text("#status") == "1 to 1 of 1"
    page.fill("#query", "nobody of this name")
    assert column(page, 1) == []
    assert page.inner_text("#status") == "No item matches."
    page.fill("#query", "")
    page.select_option("#cluster", "2")
    assert set(column(page, 2)) == {"2"}
    page.click(".pick[data-cluster='-1']")
    assert column(page, 2) == ["none"]
    assert page.evaluate("document.activeElement.id") == "cluster"


def test_sort_by_click(visit, report):
    page = visit(report)
    first = [int(c) for c in column(page, 2)]
    assert first == sorted(first)
    header = page.locator("th:has(> [data-sort=name])")
    page.click("[data-sort=name]")
    up = column(page, 1)
    assert up == sorted(up, key=str.lower)
    assert header.get_attribute("aria-sort") == "ascending"
    page.click("[data-sort=name]")
    down = column(page, 1)
    assert down == sorted(down, key=str.lower, reverse=True)
    assert header.get_attribute("aria-sort") == "descending"
    page.click("[data-sort=strength]")
    strengths = [int(s.removesuffix(" %")) for s in column(page, 3)]
    assert strengths == sorted(strengths, reverse=True)
    assert header.get_attribute("aria-sort") == "none"
    page.click("[data-sort=strength]")
    assert column(page, 2)[0] == "none"


def test_all_by_keyboard(visit, report):
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for cluster in range(-1, 6):  # unassigned last
        page.keyboard.press("Tab")
        chosen = page.evaluate("document.activeElement.dataset.cluster")
        assert chosen == str(cluster + 1 if cluster < 5 else -1)
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
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    names = column(page, 1)
    assert names == sorted(names, key=str.lower)
    page.focus("#forth")
    page.keyboard.press("Enter")
    assert page.inner_text("#status") == "26 to 50 of 77"
    assert column(page, 1)[0].lower() > names[-1].lower()
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    assert page.inner_text("#status") == "76 to 77 of 77"
    assert page.is_disabled("#forth")
    page.click("#back")
    assert page.inner_text("#status") == "51 to 75 of 77"


def test_focus_is_visible(visit, report):
    page = visit(report)
    page.focus("#query")
    page.keyboard.press("Tab")
    for _ in range(4):
        style = "getComputedStyle(document.activeElement)"
        assert page.evaluate(f"{style}.outlineStyle") != "none"
        page.keyboard.press("Tab")


def test_hostile_names_are_inert(visit):
    page = visit(hostile_page(), width=390)
    assert page.evaluate("document.scripts.length") == 2
    assert page.locator("img, body b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.title() == page.inner_text("h1") == HOSTILE[1]
    assert page.locator(".node").count() == len(HOSTILE)
    page.locator(".node").first.focus()
    assert page.inner_text("#graph-note").startswith(HOSTILE[0] + ": cluster 0")
    page.fill("#query", "<img")
    assert column(page, 1) == [HOSTILE[2]]
    page.fill("#query", "שלום")
    assert column(page, 1) == [HOSTILE[5]]


@pytest.mark.parametrize(
    ("A", "H", "shown"),
    [
        ([[np.nan]], [[1.0]], ["0"]),
        (np.zeros((3, 3)), np.zeros((3, 2)), ["none"] * 3),
        (np.ones((3, 3)), np.eye(3, 60, 57), ["57", "58", "59"]),
    ],
    ids=["one item", "all unassigned", "60 clusters"],
)
def test_degenerate_runs_open(visit, A, H, shown):
    page = visit(make(A, H), width=390)
    assert column(page, 2) == shown
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_nothing_else_may_run_or_load(browser):
    """The policy, not only our care with names, keeps foreign scripts out."""
    A, H = two_cliques()
    page = browser.new_page()
    page.set_content(make(A, H).replace("</footer>", "</footer><script>window.x = 1</script>"))
    assert page.evaluate("window.x") is None
    refused = """() => new Promise(done => {
        document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective));
        document.body.append(Object.assign(new Image(), {src: "http://localhost/x.png"}));
    })"""
    assert page.evaluate(refused) == "img-src"
    page.close()


def test_a_hundred_thousand_items_stay_quick(visit):
    n, r = 100_000, 8
    rng = np.random.default_rng(0)
    H = rng.random((n, r), dtype=np.float32) ** 8
    html = make(sparse.csr_array((n, n)), H, [f"document-{i:06d}.txt" for i in range(n)])
    assert len(html.encode()) < 10e6
    page = visit(html)
    assert page.locator("#items tbody tr").count() == 25
    # relative to a sort of so many names: the machine may be busy
    timed = """key => {
        const names = Array.from({ length: 1e5 }, (_, i) => `document-${(i * 7919) % 1e5}.txt`);
        const start = performance.now();
        names.sort(new Intl.Collator(undefined, { numeric: true }).compare);
        const middle = performance.now();
        document.querySelector(`[data-sort=${key}]`).click();
        return (performance.now() - middle) / (middle - start);
    }"""
    for key in ("strength", "name", "cluster"):
        assert page.evaluate(timed, key) < 5
    page.fill("#query", "99999")
    assert column(page, 1) == ["document-099999.txt"]


@pytest.fixture(scope="module")
def many():
    """5,000 items in 1,000 clusters of five, each also in the next cluster a little."""
    n, r = 5000, 1000
    item = np.arange(n)
    own, next_one = item // 5, (item // 5 + 1) % r
    values = np.concatenate([np.full(n, 1.0), np.where(item % 5 == 0, 0.6, 0.01)])
    H = sparse.csr_array((values, (np.tile(item, 2), np.concatenate([own, next_one]))))
    topics = [[(f"word{l}", 1.0), ("<b>", 0.5)] for l in range(r)]
    names = [f"item-{i}" for i in range(n)]
    return make(sparse.csr_array((n, n)), H, names, topics=topics)


@pytest.mark.parametrize("size", SIZES)
def test_very_many_clusters_are_looked_up(visit, many, size):
    width, height = SIZES[size]
    page = visit(many, width=width, height=height)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".heat").count() == 0
    assert "Not drawn: more than 200 clusters" in page.inner_text("main")
    assert page.locator(".clusters tbody tr").count() == 2 * 25
    assert page.inner_text("#status") == "1 to 25 of 5,000"
    page.fill("#cluster", "777")
    assert page.inner_text("#cluster-note") == "Cluster 777: 5 items. Top words: word777, <b>"
    # Its own first, then the one that it shares with the cluster before; 0.01 are not told.
    own = [f"item-{i}" for i in range(3885, 3890)]
    assert sorted(column(page, 1)[:5]) == own
    assert column(page, 1)[5] == "item-3880"
    page.fill("#query", "3880")
    assert column(page, 1) == ["item-3880"]
    page.fill("#query", "")
    page.fill("#cluster", "1000")
    assert page.inner_text("#cluster-note") == "There is no such cluster."
    assert column(page, 1) == []
    page.locator(".pick").nth(3).click()
    assert page.input_value("#cluster") == page.locator(".pick").nth(3).get_attribute(
        "data-cluster"
    )
    assert len(column(page, 1)) >= 5


@pytest.mark.parametrize("width", [320, 390])
def test_names_do_not_break_on_a_phone(visit, report, width):
    page = visit(report, width=width)
    page.select_option("#cluster", "")
    broken = """all => all.filter((b) => {
        const lines = new Set([...b.getClientRects()].map((r) => Math.round(r.top)));
        const style = getComputedStyle(b);
        return lines.size > 1 || b.offsetHeight > 1.9 * parseFloat(style.lineHeight);
    }).map((b) => b.textContent)"""
    names = page.locator(".clusters bdi, #items bdi, .plain bdi")
    assert names.count() > 60
    assert names.evaluate_all(broken) == []


@pytest.mark.parametrize("width", [320, 390])
def test_no_line_begins_with_a_comma(visit, report, width):
    names = visit(report, width=width).locator(".who .name, .plain .name")
    assert names.count() > 20
    apart = """all => all.filter((name) => name.textContent.endsWith(",")).filter((name) => {
        const range = document.createRange();
        range.selectNodeContents(name.lastChild);
        const [comma, whole] = [range.getBoundingClientRect(), name.getBoundingClientRect()];
        return comma.left <= whole.left || comma.bottom > whole.bottom + 1;
    }).map((name) => name.textContent)"""
    assert names.evaluate_all(apart) == []


def test_how_many_and_words_fit_on_a_phone(visit):
    A, H = two_cliques()
    choice = Choice(range(2, 40), np.linspace(1, 0.1, 38), 7, "The error " + "is small " * 50)
    topics = [[("Donaudampfschifffahrt" * 2, 1.0)] * 10] * 2
    html = make(A, H, choice=choice, topics=topics, settings={"normalize": "degree"})
    page = visit(html, width=320)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.locator(".restart").count() == 1
    assert page.locator("h2").all_inner_texts()[:2] == ["Clusters", "Why 7 clusters"]


def test_memberships_beyond_the_first_four_are_told(visit):
    H = np.ones((3, 16))
    page = visit(make(np.ones((3, 3)), H))
    cell = page.locator("#items tbody tr").first.locator(".parts")
    assert cell.locator(".words").inner_text().endswith("and 12 more")
    widths = cell.locator(".stack span").evaluate_all("all => all.map((s) => s.offsetWidth)")
    assert len(widths) == 5
    assert abs(widths[4] / sum(widths) - 12 / 16) < 0.03


def test_long_names_fit_on_a_small_phone(visit):
    A, H = two_cliques()
    word = "Donaudampfschifffahrtsgesellschaft" * 3
    names = [f"{word}{k}" for k in range(len(A))]
    page = visit(make(A, H, names, title=word, facts={word: word}), width=320)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    overflow = "all => all.filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.textContent)"
    headings = page.locator("h1, h2, h3, dt, dd, #items th, #items td")
    assert headings.evaluate_all(overflow) == []


@pytest.mark.parametrize("width", [320, 360, 390])
def test_the_headings_of_the_items_stay_apart_on_a_phone(visit, width):
    H = np.eye(5, 2)  # three are unassigned
    page = visit(make(np.eye(5), H), width=width)
    overflow = "all => all.filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.textContent)"
    assert page.locator("#items th, #items td").evaluate_all(overflow) == []
