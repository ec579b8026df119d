"""The site: built strictly, whole in itself, and with every public name in its reference."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

import ensample as es
import ensample.client
import prompt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = "\n".join(
    page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.md"))
)
LOADED = {(tag, "src") for tag in ("script", "img", "iframe", "source", "video")}
LOADED.add(("link", "href"))
COUNTED = ("li", "pre", "table", "tr", "h2", "h3", "blockquote")


class Page(HTMLParser):
    """What a page loads, where it leads, its ids, and the elements of its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.text: Counter[str] = Counter()
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attributes}
        self.ids |= {known[name] for name in ("id", "name") if name in known}
        self.loads += [known[name] for element, name in LOADED if element == tag and name in known]
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        self.inside = (self.inside or tag == "article") and tag != "footer"
        self.text[tag] += self.inside

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "article"


@pytest.mark.long
def test_the_site_is_whole(tmp_path: Path) -> None:
    """One test, as one build serves all that is asked of it."""
    told = {"NO_MKDOCS_2_WARNING": "1", "SITE_SEARCH": "false"}
    told |= {"PYTHONWARNINGS": "default"}  # others' deprecations are not ours to mend
    options = ["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]
    command = [sys.executable, *options, str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, env=os.environ | told, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in tmp_path.rglob("*.html")}
    assert len(pages) > 60
    nothing_is_loaded_from_elsewhere(tmp_path, pages)
    every_link_leads_somewhere(pages)
    pages_read_alike_on_a_code_host(tmp_path, pages)
    every_public_name_has_an_entry(tmp_path, pages)


def nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    found = {
        (path.name, address)
        for path, page in pages.items()
        for address in page.loads
        if urlsplit(address).netloc
    }
    assert not found
    loads = re.compile(r"url\(['\"]?(?:https?:)?//|@import")
    for sheet in site.rglob("*.css"):
        assert not loads.findall(sheet.read_text(encoding="utf-8")), sheet


def every_link_leads_somewhere(pages: dict[Path, Page]) -> None:
    """Check also links that mkdocs does not know: of the theme, the reference and our hooks."""
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # a server shows it at any depth: its links begin at the root
            continue
        for link in {link for link in page.links if not urlsplit(link).scheme}:
            target, _, anchor = unquote(link).partition("#")
            there = (path.parent / target).resolve() if target else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists() or (
                anchor and there in pages and anchor not in pages[there].ids | {"__skip", ""}
            ):
                broken.append((path.name, link))
    assert not broken


def pages_read_alike_on_a_code_host(site: Path, pages: dict[Path, Page]) -> None:
    """Lists, tables and blocks are the same by CommonMark, as on code hosts, and on the site."""
    host = MarkdownIt("commonmark").enable("table")
    for source in sorted(DOCS.rglob("*.md")):
        name = source.relative_to(DOCS).with_suffix(".html")
        name = name.with_name("index.html") if source.name == "README.md" else name
        text = source.read_text(encoding="utf-8")
        if "\n::: " in text:
            continue  # the reference is more on the site than it is elsewhere
        there = Page(f"<article>{host.render(text)}</article>").text
        there["pre"] -= text.count("```math")
        assert {tag: there[tag] for tag in COUNTED} == {
            tag: pages[site / name].text[tag] for tag in COUNTED
        }, source


def every_public_name_has_an_entry(site: Path, pages: dict[Path, Page]) -> None:
    ids = set().union(
        *(page.ids for path, page in pages.items() if path.parent == site / "reference")
    )
    asked = {
        f"ensample.client.calls.{name}"
        for name in vars(ensample.client.clients.Methods)
        if not name.startswith("_")
    }
    missing = [path for path in [*homes().values(), *asked] if path not in ids]
    assert not missing


def homes() -> dict[str, str]:
    """Every public name as users write it, and the path of its definition."""
    plain = {"es.__version__", "es.theory"}
    names = {f"es.{name}": getattr(es, name) for name in es.__all__}
    names |= {f"es.theory.{name}": getattr(es.theory, name) for name in es.theory.__all__}
    names |= {
        f"ensample.client.{name}": getattr(ensample.client, name)
        for name in ensample.client.__all__
    }
    return {
        name: f"{getattr(thing, '__module__', 'ensample.theory')}.{name.rpartition('.')[2]}"
        for name, thing in names.items()
        if name not in plain
    }


def test_every_public_name_has_an_example() -> None:
    """An example runs in its docstring, in the reference, or (the client) in tested pages."""
    sessions = "\n".join(re.findall(r"^(?:>>>|\.\.\.) .*$", REFERENCE, re.MULTILINE))
    served = (DOCS / "clients.md").read_text(encoding="utf-8") + (
        DOCS / "tutorials/service.md"
    ).read_text(encoding="utf-8")
    missing: list[str] = []
    for name in [*homes(), "es.__version__", "es.theory"]:
        own = getattr(es, name.removeprefix("es."), None) or getattr(
            es.theory, name.rpartition(".")[2], None
        )
        shown = ">>> " in (getattr(own, "__doc__", None) or "")
        shown = shown or re.search(rf"\b{re.escape(name)}\b", sessions) is not None
        if name.startswith("ensample.client"):
            shown = name.rpartition(".")[2] in served or name.rpartition(".")[2] in ANSWERS
        missing += [] if shown else [name]
    assert not missing


# Results of the client's methods.
ANSWERS = {"Decision", "EventOutcome", "ExperimentView", "Explained", "ServiceError"}


def test_the_command_line_is_as_it_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "website")
    commands = importlib.import_module("commands")

    def told(command: str) -> str:
        return prompt.ensample(
            *command.split(), "--help", program="ensample", COLUMNS=commands.COLUMNS, **prompt.PLAIN
        ).stdout

    written = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    assert written == commands.page(told), "docs/reference/cli.md is stale: run `make site`"


def test_the_layers_are_those_that_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = next(
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["name"] == "Imports point downwards"
    )
    layers.insert(
        layers.index("ensample.models") + 1, "ensample._core"
    )  # import-linter sees no extension modules
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = text.split("<!-- layers:")[1].split("<!-- end of the layers")[0]
    rows = [
        re.findall(r"`(\w+)`", row.split("|")[1])
        for row in table.splitlines()
        if row.startswith("| `")
    ]
    expected = [
        [part.strip().removeprefix("ensample.") for part in layer.split(":")] for layer in layers
    ]
    assert rows == expected
    drawn = re.findall(
        r'font-weight="600"[^>]*>([^<]*)<',
        (DOCS / "images" / "architecture.svg").read_text(encoding="utf-8"),
    )
    placed = [name for box in drawn for name in box.split(", ")]
    height = {name: level for level, layer in enumerate(expected) for name in layer}
    assert {name for layer in expected[:9] for name in layer} <= set(placed), (
        "a layer that is not drawn"
    )
    levels = [height[name] for name in placed if name in height]
    assert levels == sorted(levels), "drawn in another order"
