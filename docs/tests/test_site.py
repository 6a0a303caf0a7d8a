"""The built site: complete, no dead link, quiet and readable in a browser.

``make test-docs`` builds it first and runs these; they are no part of ``make test``.
"""

import importlib
import inspect
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import odsymnmf

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
PAGES = sorted(p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
SIZES = {"laptop": (1280, 800), "phone": (390, 844)}
CHROMIUM = Path("/usr/bin/chromium")
RECIPES = [
    f"made/recipes/{name}.html" for name in ("network", "single_cells", "texts", "dataframe")
]


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed((SITE / path).read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = {name: value for name, value in attrs if value}
        if "id" in values:
            self.anchors.add(values["id"])
        self.links += [values[name] for name in ("href", "src") if name in values]
        if "src" in values:
            self.loads.append(values["src"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon"):
            self.loads.append(values["href"])


@pytest.fixture(scope="module")
def pages():
    assert PAGES, "build the site first: make docs"
    return {path: Page(path) for path in PAGES}


def dead_links(pages):
    """Return (page, link) for every link inside the site that leads nowhere."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (SITE / path).parent / unquote(parts.path) if parts.path else SITE / path
            target = target.resolve()
            inside = target.is_relative_to(SITE.resolve())
            if not inside or not target.is_file():
                yield path, link
                continue
            name = target.relative_to(SITE.resolve()).as_posix()
            if parts.fragment and name in pages:
                anchors = pages[name].anchors
                if anchors and unquote(parts.fragment) not in anchors:
                    yield path, link


def test_no_link_inside_the_site_is_dead(pages):
    assert list(dead_links(pages)) == []


def test_a_dead_link_is_found(pages):
    broken = Page("index.html")
    broken.links = ["guide.html#no-such-heading", "missing.html", "../outside.html", "guide.html"]
    dead = list(dead_links({**pages, "index.html": broken}))
    assert [link for path, link in dead if path == "index.html"] == broken.links[:3]


def test_nothing_is_loaded_from_elsewhere(pages):
    """The site works without a network: scripts, styles and pictures are its own."""
    elsewhere = ("http", "https")
    loads = [(path, url) for path, page in pages.items() for url in page.loads]
    assert [load for load in loads if urlsplit(load[1]).scheme in elsewhere] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_repository_pages_exist(name):
    links = re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    inside = [link for link in links if not urlsplit(link).scheme]
    assert [link for link in inside if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("path", ["README.md", "docs/index.md"])
def test_the_quickstart_runs(path):
    from matplotlib import pyplot as plt

    code = re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(code[0], names)
    assert len(set(names["model"].labels_)) == 6
    plt.close("all")


def public_names():
    """Return every public name of the package and of its public modules."""
    for name in odsymnmf.__all__:
        thing = getattr(odsymnmf, name)
        yield name, thing
        if inspect.ismodule(thing):
            module = importlib.import_module(f"odsymnmf.{name}")
            yield from ((f"{name}.{inner}", getattr(module, inner)) for inner in module.__all__)


@pytest.mark.parametrize("name", [name for name, _ in public_names()])
def test_every_public_name_has_its_page(pages, name):
    thing = dict(public_names())[name]
    if not (inspect.ismodule(thing) or inspect.isclass(thing) or inspect.isfunction(thing)):
        return  # a constant or an alias of types
    path = f"api/names/odsymnmf.{name}.html"
    assert path in pages, f"add odsymnmf.{name} to docs/api/index.rst"
    assert thing.__doc__.split()[0] in (SITE / path).read_text(encoding="utf-8")
    if inspect.isfunction(thing):
        assert ">>> " in thing.__doc__, f"odsymnmf.{name} has no example"


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open pages; afterwards, nothing was logged and nothing failed to load."""
    contexts, noise = [], []

    def visit(size):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: noise.append((page.url, message.text)))
        page.on("pageerror", lambda error: noise.append((page.url, str(error))))
        page.on("requestfailed", lambda request: noise.append((page.url, request.url)))
        return page

    yield visit
    for context in contexts:
        context.close()
    assert noise == []


@pytest.mark.parametrize("size", SIZES)
def test_every_page_is_quiet_and_fits(visit, size):
    page = visit(size)
    too_wide = []
    for path in PAGES:
        page.goto((SITE / path).as_uri())
        if page.evaluate("document.documentElement.scrollWidth") > SIZES[size][0]:
            too_wide.append(path)
        broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.evaluate(broken) == []
    assert too_wide == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", RECIPES)
def test_a_recipe_goes_from_data_to_picture_to_decision(visit, path, size):
    page = visit(size)
    page.goto((SITE / path).as_uri())
    headings = [
        h.replace("¶", "").strip("# ") for h in page.locator("article h2").all_inner_texts()
    ]
    assert headings == ["The data", "The fit", "The picture", "The decision"]
    assert page.locator("article img").first.is_visible()
    printed = page.locator("article .sphx-glr-script-out pre").all_inner_texts()
    tables = [text for text in printed if len(text.strip().splitlines()) > 3 and "  " in text]
    assert len(tables) >= 2


def test_search_finds_a_function(visit):
    page = visit("laptop")
    page.goto((SITE / "search.html").as_uri() + "?q=overlapping_sets")
    page.locator("#search-results li a").first.wait_for()
    texts = page.locator("#search-results li a").all_inner_texts()
    assert any("overlapping_sets" in text for text in texts)


def test_the_sidebar_opens_on_a_phone(visit):
    page = visit("phone")
    page.goto((SITE / "index.html").as_uri())
    link = page.locator(".sidebar-tree").get_by_role("link", name="API reference")
    assert not link.is_visible() or link.bounding_box()["x"] < 0
    page.locator("label.mobile-header, .mobile-header label").first.click()
    page.wait_for_function(
        "document.querySelector('.sidebar-drawer').getBoundingClientRect().x >= 0"
    )
    link.click()
    assert page.locator("h1").inner_text().startswith("API reference")


def test_the_report_works_inside_the_site(visit):
    page = visit("laptop")
    page.goto((SITE / "made/gallery/report.html").as_uri())
    report = page.frame_locator("iframe.report")
    report.get_by_role("heading", name="Les Misérables").wait_for()
