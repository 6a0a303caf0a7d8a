"""Take the picture of the README: python examples/report_picture.py demo/les_miserables/report.html

Needs playwright (in the dev extra) and Chromium (make browser).
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

OUT = Path(__file__).parents[1] / "docs" / "figures" / "report.png"


def main(page: str) -> None:
    with sync_playwright() as play:
        options = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox"]}
        browser = play.chromium.launch(**options)
        view = browser.new_page(viewport={"width": 1100, "height": 800})
        view.goto(Path(page).resolve().as_uri())
        # From the top, where the clusters are, to the end of the matrix and the graph.
        part = view.locator(".columns").first.bounding_box()
        clip = {"x": 0, "y": 0, "width": 1100, "height": part["y"] + part["height"]}
        view.screenshot(path=OUT, full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
