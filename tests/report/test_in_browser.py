"""The page in a real browser: headless Chromium, from Debian's packages."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsing import as_rgb, browser, contrast, visit
from ensample.claims import CLAIMS, Scale
from ensample.palette import variables
from ensample.report.paper import page
from report.test_paper_page import FINDINGS

__all__ = ["browser"]
NAMES = ("sizes", "grid", "members", "one", "hostile", "evaluation")


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", NAMES)
def test_figures_are_seen_and_nothing_sticks_out(
    name: str, width: int, browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages[name].as_uri(), width)
    complaints = browser.get_log("browser")
    assert complaints == []
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(svg => {const b = svg.getBoundingClientRect();"
        "return [b.width, b.height, b.left, b.right, svg.checkVisibility(), svg.querySelectorAll('path').length]})"
    )
    assert boxes and all(
        w > 200 and h > 30 and visible and paths > 2 for w, h, _, _, visible, paths in boxes
    )
    assert all(left >= 0 and right <= width for _, _, left, right, _, _ in boxes)
    across, inner = browser.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    )
    assert across <= inner


@pytest.mark.parametrize("width", [400, 1400])
def test_formulas_of_the_paper_are_drawn_and_nothing_sticks_out(
    width: int, browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "paper.html"
    path.write_text(page(FINDINGS, Scale.QUICK, 0), encoding="utf-8")
    visit(browser, path.as_uri(), width)
    assert browser.get_log("browser") == []
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('math')].map(math => {const b = math.getBoundingClientRect();"
        "return [getComputedStyle(math).display, b.width, b.height]})"
    )
    assert len(drawn) > 2 * len(CLAIMS) and not browser.execute_script(
        "return document.querySelectorAll('code.tex').length"
    )
    assert all("math" in display and across > 3 and high > 4 for display, across, high in drawn)
    fractions = browser.execute_script(
        "return [...document.querySelectorAll('mfrac')].map(f => f.children[0].getBoundingClientRect().bottom <="
        "f.children[1].getBoundingClientRect().top + 1)"
    )
    assert fractions and all(fractions), "a numerator is above its denominator"
    across, inner = browser.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    )
    assert across <= inner


@pytest.mark.parametrize("name", ["sizes", "hostile", "evaluation"])
def test_text_in_figures_stays_inside_them(name: str, browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages[name].as_uri())
    outside = browser.execute_script(
        "return [...document.querySelectorAll('figure svg text')].filter(t => {const a = t.getBoundingClientRect();"
        "const b = t.closest('svg').getBoundingClientRect(); return a.left < b.left - 2 || a.right > b.right + 8 ||"
        "a.top < b.top - 2 || a.bottom > b.bottom + 2}).map(t => t.textContent)"
    )
    assert outside == []


def test_dark_pages_have_other_colours(browser: Any, pages: dict[str, Path]) -> None:
    script = (
        "const style = (q, p) => getComputedStyle(document.querySelector(q))[p];"
        "return [style('html', 'backgroundColor'), style('body', 'color'), style('figure svg text', 'fill'),"
        "style('figure svg path[style*=\"stroke: var(--r0)\"]', 'stroke')]"
    )
    seen = {}
    for scheme in ("light", "dark"):
        visit(browser, pages["sizes"].as_uri(), scheme=scheme)
        seen[scheme] = browser.execute_script(script)
    for scheme, colours in seen.items():
        expected = [
            as_rgb(getattr(variables()[name], scheme))
            for name in ("--paper", "--ink", "--ink", "--r0")
        ]
        assert colours == expected


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


def test_a_curve_says_its_values_and_hides(
    browser: Any, pages: dict[str, Path], studied: dict[str, Any]
) -> None:
    """Under the pointer: the mean regret of the nearest curve at that round, on linear and on logarithmic axes."""
    from selenium.webdriver import ActionChains

    visit(browser, pages["one"].as_uri())
    (outcome,) = studied["one"].outcomes
    for panel in (0, 1):
        said = browser.execute_script(
            "const svg = document.querySelectorAll('svg[data-plot]')[arguments[0]], plot = JSON.parse(svg.dataset.plot);"
            "svg.scrollIntoView({block: 'center'}); const at = new DOMPoint((plot.left + plot.right) / 2, plot.top + 5)"
            ".matrixTransform(svg.getScreenCTM()); svg.dispatchEvent(new PointerEvent('pointermove',"
            "{clientX: at.x, clientY: at.y})); return svg.parentElement.querySelector('div.hover').textContent",
            panel,
        )
        name, value, place = re.fullmatch(r"(.*): ([\d.,]+) at round ([\d.,]+)", said).groups()
        regret = np.interp(float(place.replace(",", "")), outcome.checkpoints, outcome.regret[0])
        assert name == "Thompson" and float(value.replace(",", "")) == pytest.approx(
            regret, rel=0.05
        )
    visit(browser, pages["sizes"].as_uri())
    off = "return document.querySelectorAll('#curves g.off').length"
    key = browser.find_element("css selector", "#curves li[data-line]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", key)
    ActionChains(browser).click(key).perform()
    assert browser.execute_script(off) >= 2 and key.get_attribute("aria-pressed") == "false"
    key.send_keys(" ")
    assert browser.execute_script(off) == 0 and browser.get_log("browser") == []


def test_nothing_else_runs_and_tables_that_scroll_show_it(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["hostile"].as_uri(), 400)
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.ran = true'; document.body.append(s)"
    )
    assert browser.execute_script("return window.ran") is None, (
        "the page's policy allows its own script only"
    )
    assert any("Content Security Policy" in line["message"] for line in browser.get_log("browser"))
    shade = "return getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"
    assert browser.execute_script(shade) == "local, local, scroll, scroll"
