"""Search on a site that is opened as files: browsers start no worker, so a frame works."""

from pathlib import Path
from typing import Any

import pytest

from browsing import browser, visit

__all__ = ["browser"]
SCRIPT = Path(__file__).parents[2] / "website" / "iframe-worker.js"
WORKER = """addEventListener("message", event => postMessage(event.data.map(x => 2 * x)))"""
ASK = """
const done = arguments[0];
try {
  const worker = new Worker(new URL("worker.js", location).href);
  worker.addEventListener("error", () => done("no worker"));
  worker.addEventListener("message", event => done(event.data));
  worker.postMessage([1, 2, 3]);
} catch (error) { done("no worker") }
"""


@pytest.mark.parametrize(("script", "answer"), [(SCRIPT.as_uri(), [2, 4, 6]), ("", "no worker")])
def test_a_frame_works_where_no_worker_would(
    script: str, answer: object, browser: Any, tmp_path: Path
) -> None:
    (tmp_path / "worker.js").write_text(WORKER)
    loaded = f'<script src="{script}"></script>' if script else ""
    (tmp_path / "page.html").write_text(f"<!doctype html><title>page</title>{loaded}<body></body>")
    visit(browser, (tmp_path / "page.html").as_uri())
    assert browser.execute_async_script(ASK) == answer
    assert (
        browser.execute_script("return document.querySelectorAll('iframe:not([hidden])').length")
        == 0
    )
