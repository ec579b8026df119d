"""What the site does to the pages: they are written for a code host, and are the same files there.

Formulas become MathML, figures take the page's colours, names in code lead to the reference, and
CONTRIBUTING and CHANGELOG are pages too.
"""

import re
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from ensample.names import HOMES
from ensample.palette import variables
from ensample.report.paper.mathml import formula

ROOT = Path(__file__).parents[1]
FROM_THE_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
TO_THE_ROOT = re.compile(r"\]\((?:\.\./)*(CONTRIBUTING\.md|CHANGELOG\.md)")
SESSION = re.compile(r"^( *```)python\n(?= *>>> )", re.MULTILINE)
FORMULA = re.compile(
    r"^```math\n(?P<display>.*?)\n```$|\$`(?P<inline>.+?)`\$", re.MULTILINE | re.DOTALL
)
PLACE = "formula{}formula"  # nothing that Markdown looks at
PLACES = re.compile(r"formula(\d+)formula")
DRAWING = re.compile(r'<img\b[^>]*\bsrc="(?P<source>[^":]*\.svg)"[^>]*>')
WIDTH = re.compile(r'\bwidth="(\d+)"')
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
DIRECTIVE = re.compile(r"^::: ensample\.(\S+)$", re.MULTILINE)
BAR = re.compile(r"<code>[^<]*\\\|[^<]*</code>")
LEFT_ALONE = r"<a\b.*?</a>|<h\d.*?</h\d>|<pre\b.*?</pre>"
NAMED = re.compile(
    rf"{LEFT_ALONE}|<code>(?P<shown>(?:es\.)?(?P<name>\w+(?:\.\w+)?)(?:\([^<]*\))?)</code>",
    re.DOTALL,
)

formulas: dict[str, list[str]] = {}
homes: dict[str, tuple[str, str]] = {}


def on_files(files: Files, config: Any) -> Files:
    """Pages, a style sheet and a script that are not in docs/."""
    for source, page in FROM_THE_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "site.css", content=style_sheet()))
    files.append(
        File.generated(
            config, "iframe-worker.js", abs_src_path=str(ROOT / "website" / "iframe-worker.js")
        )
    )
    homes.update(reference(files))
    return files


def reference(files: Files) -> dict[str, tuple[str, str]]:
    """Page and anchor of each name that the reference has, by the way that users call it."""
    pages = [file for file in files.documentation_pages() if file.src_uri.startswith("reference/")]
    found = {
        path: file.src_uri for file in pages for path in DIRECTIVE.findall(file.content_string)
    }
    named = {path.rpartition(".")[2]: (page, f"ensample.{path}") for path, page in found.items()}
    public = {name: place for name, place in named.items() if name in HOMES}
    theory = {
        f"theory.{name}": place
        for name, place in named.items()
        if place[0] == "reference/theory.md"
    }
    return public | theory


def style_sheet() -> str:
    """Return the reports' colours, for light and dark pages, and their use."""
    light, dark = (
        "".join(f"{name}:{pair[place]};" for name, pair in variables().items()) for place in (0, 1)
    )
    own = (ROOT / "website" / "site.css").read_text(encoding="utf-8")
    return f':root{{{light}}}\n[data-md-color-scheme="slate"]{{{dark}}}\n{own}'


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Put aside what Markdown would not understand, and mend links out of docs/."""
    here, aside = dirname(page.file.src_uri), formulas.setdefault(page.file.src_uri, [])

    def put_aside(found: re.Match[str]) -> str:
        display = found["display"] is not None
        aside.append(formula(found["display"] if display else found["inline"], display=display))
        place = PLACE.format(len(aside) - 1)
        return f'<div class="display">{place}</div>' if display else place

    markdown = TO_THE_ROOT.sub(
        lambda found: "](" + relpath(FROM_THE_ROOT[found[1]], here or "."), markdown
    )
    return FORMULA.sub(put_aside, SESSION.sub(r"\1pycon\n", markdown))


def on_page_content(html: str, page: Page, files: Files, **_: Any) -> str:
    """Formulas in their places, and links from names to the reference."""
    aside = formulas.get(page.file.src_uri, [])
    html = PLACES.sub(lambda found: aside[int(found[1])], html)

    def linked(found: re.Match[str]) -> str:
        place = homes.get(found["name"] or "")
        if place is None or place[0] == page.file.src_uri:
            return found[0]
        target = files.get_file_from_path(place[0])
        assert target is not None
        address = f"{target.url_relative_to(page.file)}#{place[1]}"
        return f'<a class="name" href="{address}"><code>{found["shown"]}</code></a>'

    return NAMED.sub(linked, unescaped(html))


def unescaped(html: str) -> str:
    """In tables code hosts want a bar in code escaped, and Python's Markdown does not."""
    return BAR.sub(lambda found: found[0].replace("\\|", "|"), html)


def on_post_page(output: str, page: Page, config: Any, **_: Any) -> str:
    """Figures are part of the page, so that they follow its colours and not the system's."""

    def inlined(found: re.Match[str]) -> str:
        source = Path(config["docs_dir"]) / normpath(
            f"{dirname(page.file.src_uri)}/{found['source']}"
        ).lstrip("/")
        drawing = STYLE.sub("", source.read_text(encoding="utf-8"), count=1)
        width = WIDTH.search(found[0])
        most = f' style="max-width:{width[1]}px"' if width else ""
        return f'<span class="drawing"{most}>{drawing[drawing.index("<svg") :]}</span>'

    return DRAWING.sub(inlined, output)
