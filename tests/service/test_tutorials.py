"""docs/tutorials: the pages that call a service, run in their order against one that listens."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.live import Live
from service.pages import BLOCK, DOCS, blocks

FORM = {"content-type": "application/x-www-form-urlencoded"}  # as curl sends it


def typed(lines: str, url: str) -> None:
    """What one types after each $ answers what is printed below it, `...` standing for anything."""
    for part in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        words = shlex.split(command)
        assert words[0] == "curl"
        address = next(word for word in words if word.startswith("localhost:8000")).replace(
            "localhost:8000", url
        )
        body = words[words.index("-d") + 1].encode() if "-d" in words else None
        method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
        answer = httpx.request(method, address, content=body, headers=FORM, timeout=60.0)
        assert re.fullmatch(re.escape(printed.strip()).replace(r"\.\.\.", ".*"), answer.text), (
            command,
            answer.text,
        )


def test_the_service_is_run_as_the_page_says(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    found = list(BLOCK.finditer((DOCS / "tutorials/service.md").read_text(encoding="utf-8")))
    assert [block["name"] for block in found] == [
        "curl",
        "curl",
        "curl",
        "python",
        "curl",
        "python",
    ]
    for block in found:
        if block["name"] == "curl":
            typed(block["lines"], live.url)
        else:
            exec(block["lines"].replace("http://127.0.0.1:8000", live.url), names)
    checkout = live.experiment("checkout")
    assert checkout.decisions == 101 and checkout.counts["applied"] > 10
    assert os.path.getsize("checkout.parquet") > 1000 and len(names["found"]) == 2


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # the page leaves its client open, as pages do
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # others' own
def test_the_same_task_by_others(live: Live) -> None:
    key = live.key("admin")
    names: dict[str, Any] = {}
    try:
        for lines in blocks("tutorials/coming-from.md", "python", live.url, key):
            exec(lines, names)
    finally:
        names["client"].close()
    assert (
        names["news"].version == 1
        and abs(sum(names["shares"]) - 1) < 1e-6
        and names["action"] in ("sport", "culture")
    )
    assert names["log"].select("action", "reward", "propensity").row(0) == ("sport", 1.0, 0.8)
    assert (
        live.experiment(f"personalizer-{key.split('_')[1]}").version == names["policy"].version == 1
    )
