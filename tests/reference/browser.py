"""Pages in headless Chromium, with a script behind their own that types and looks."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_BROWSERS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "chrome")
_FOUND = filter(None, map(shutil.which, _BROWSERS))
BROWSER = os.environ.get("NMT_TEST_BROWSER") or next(_FOUND, None)

needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here (NMT_TEST_BROWSER names one)"
)


def document_after(page: str, script: str, folder: Path, *options: str) -> str:
    """Return the document of a page after a script ran in it.

    Args:
        page: HTML.
        script: JavaScript.
        folder: For the page and the browser's own files.
        options: Of the browser.
    """
    file = folder / "page.html"
    file.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    done = subprocess.run(
        [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu",
         f"--user-data-dir={folder}/me", *options, "--dump-dom", file.as_uri()],
        capture_output=True, timeout=300, check=True,
    )  # fmt: skip
    return done.stdout.decode("utf-8")


def faults_on(page: Any) -> Iterator[str]:
    """Yield what axe-core finds (WCAG 2.2 A and AA), and if a page is wider than its window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for rule in axe.run(page).response["violations"]:
        yield f"{rule['id']}: {rule['nodes'][0]['html']}"
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        yield "something stands beside the screen"
