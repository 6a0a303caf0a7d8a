from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import odsymnmf as od
from odsymnmf.report import page

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def make():
    def make(A, H, names=None, history=(9.0, 4.0, 1.0), restarts=(), attributes=None, **options):
        steps = np.array(restarts, dtype=int)
        result = SimpleNamespace(H=H, names=names, history=np.array(history), restart_steps=steps)
        vars(result).update(attributes or {})
        return page(result, A, **options)

    return make


@pytest.fixture(scope="session")
def les_miserables():
    data = od.datasets.les_miserables()
    f = od.factorize(data, 6, tol=0.05)
    return data.matrix, f.H, data.names, f.history


@pytest.fixture
def two_cliques():
    """Two groups that share item 0."""
    H = np.zeros((6, 2))
    H[:3, 0] = np.linspace(1, 0.6, 3)
    H[3:, 1] = np.linspace(0.9, 0.5, 3)
    H[0, 1] = 0.55
    return H @ H.T, H


@pytest.fixture(scope="session")
def hostile_names():
    return [
        "<script>alert(1)</script>",
        "</script><script>alert(2)</script>",
        "<img src=x onerror=alert(3)>",
        "\"quoted\" & 'single'",
        "<!--<script>",
        "שלום עולם",
        "\u202egnp.exe",
        "🦊🐻 family 👩‍👩‍👧",
        "x" * 5000,
        "",
        "   ",
        "tab\there\nline\x00nul\x1b[31m",
        "lone \ud800 surrogate",
        "</title></svg><b>bold</b>",
        "${title} $policy %s {0}",
        "\u2028line separator",
    ]


@pytest.fixture(scope="session")
def hostile_page(make, hostile_names):
    n, bad = len(hostile_names), hostile_names[1]
    H = np.kron(np.eye(2), np.linspace(1, 0.5, n // 2)[:, None])
    return make(H @ H.T, H, hostile_names, title=bad, facts={bad: bad, "path": "x" * 5000})


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page from a file; afterwards, nothing was logged and only the file was loaded."""
    contexts, noise = [], []

    def visit(html, *, width=1280, scheme="light"):
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("dialog", lambda dialog: (noise.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: noise.append(request.url))
        page.goto(path.as_uri())
        noise.remove(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [line for line in noise if not line.startswith("data:")] == []
