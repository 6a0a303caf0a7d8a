from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


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
    """Open a page from a file; afterwards, nothing was logged and nothing but the file loaded."""
    contexts, noise = [], []

    def visit(html, *, width=1280, height=800, scheme="light", name="report.html"):
        path = tmp_path / name
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("dialog", lambda dialog: (noise.append("dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                noise.append(request.url)
                if request.url != path.as_uri() and not request.url.startswith("data:")
                else None
            ),
        )
        page.goto(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert noise == []
