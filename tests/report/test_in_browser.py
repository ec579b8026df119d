"""The page in a real browser: headless Chromium, from Debian's packages."""

from pathlib import Path
from typing import Any

import pytest

from browsing import as_rgb, browser, contrast, visit
from ensample.claims import CLAIMS, Scale
from ensample.palette import variables
from ensample.report.paper import page
from report.test_paper_page import FINDINGS

__all__ = ["browser"]
NAMES = ("sizes", "grid", "members", "one", "hostile", "evaluation")


BOXES = """return [...document.querySelectorAll('figure svg')].map(svg => {
const b = svg.getBoundingClientRect(), paths = svg.querySelectorAll('path').length;
return [b.width, b.height, b.left, b.right, svg.checkVisibility() && paths > 2]})"""
MATH = """return [...document.querySelectorAll('math')].map(math => {
const b = math.getBoundingClientRect();
return [getComputedStyle(math).display, b.width, b.height]})"""
FRACTIONS = """return [...document.querySelectorAll('mfrac')].map(f =>
f.children[0].getBoundingClientRect().bottom <= f.children[1].getBoundingClientRect().top + 1)"""
OUTSIDE = """return [...document.querySelectorAll('figure svg text')].filter(t => {
const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();
return a.left < b.left - 2 || a.right > b.right + 8 || a.top < b.top - 2 || a.bottom > b.bottom + 2
}).map(t => t.textContent)"""


def fits(browser: Any) -> bool:
    """Return whether the page loads without complaint and is no wider than the window."""
    across, inner = browser.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    )
    return browser.get_log("browser") == [] and across <= inner


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", NAMES)
def test_figures_are_seen_and_nothing_sticks_out(name, width, browser, pages) -> None:
    visit(browser, pages[name].as_uri(), width)
    boxes = browser.execute_script(BOXES)
    assert boxes and all(w > 200 and h > 30 and visible for w, h, _, _, visible in boxes)
    assert all(left >= 0 and right <= width for _, _, left, right, _ in boxes)
    assert browser.execute_script(OUTSIDE) == [] and fits(browser)


@pytest.mark.parametrize("width", [400, 1400])
def test_formulas_of_the_paper_are_drawn_and_nothing_sticks_out(width, browser, tmp_path) -> None:
    path = tmp_path / "paper.html"
    path.write_text(page(FINDINGS, Scale.QUICK, 0), encoding="utf-8")
    visit(browser, path.as_uri(), width)
    drawn, fractions = browser.execute_script(MATH), browser.execute_script(FRACTIONS)
    assert len(drawn) > 2 * len(CLAIMS)
    assert all("math" in display and across > 3 and high > 4 for display, across, high in drawn)
    assert fractions and all(fractions), "a numerator is above its denominator"
    assert not browser.execute_script("return document.querySelectorAll('code.tex').length")
    assert fits(browser)


COLOURS = """const style = (q, p) => getComputedStyle(document.querySelector(q))[p];
return [style('html', 'backgroundColor'), style('body', 'color'), style('figure svg text', 'fill'),
style('figure svg path[style*="stroke: var(--r0)"]', 'stroke')]"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_scheme(scheme: str, browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["sizes"].as_uri(), scheme=scheme)
    colours = {name: getattr(pair, scheme) for name, pair in variables().items()}
    names = ("--paper", "--ink", "--ink", "--r0")
    assert browser.execute_script(COLOURS) == [as_rgb(colours[name]) for name in names]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_told_from_the_page(scheme: str) -> None:
    """Text 4.5 to 1 and lines 3 to 1, as WCAG 2 asks (AA)."""
    colours = {name: getattr(pair, scheme) for name, pair in variables().items()}
    for name, colour in colours.items():
        least = {"--ink": 7.0, "--quiet": 4.5}.get(
            name, 3.0 if name[2] in "sr" and name != "--rule" else 1.0
        )
        assert contrast(colour, colours["--paper"]) >= least, name
    for name in ("--s0", "--s2", "--s8"):  # links, lower, higher
        assert contrast(colours[name], colours["--paper"]) >= 4.5, name


def test_what_is_folded_is_printed(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["sizes"].as_uri())
    seen = "return document.querySelector('#asked pre').checkVisibility()"
    assert browser.execute_script(seen) is False
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(seen) is True
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert len(pdf) > 10_000


def test_no_script_runs_and_tables_show_that_they_scroll(browser, pages) -> None:
    visit(browser, pages["hostile"].as_uri(), 400)
    script = "s.textContent = 'window.ran = true'; document.body.append(s)"
    browser.execute_script(f"const s = document.createElement('script'); {script}")
    assert browser.execute_script("return window.ran") is None
    assert any("Content Security Policy" in line["message"] for line in browser.get_log("browser"))
    shade = "return getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"
    assert browser.execute_script(shade) == "local, local, scroll, scroll"
