"""The page in a real browser: headless Chromium, from Debian's packages."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ensample.claims import CLAIMS, Scale
from ensample.report.drawing.style import variables
from ensample.report.paper import page
from report.test_paper_page import FINDINGS

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver"}  # program: Debian package
NAMES = ("sizes", "grid", "members", "one", "hostile", "evaluation")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="the package selenium is missing: pip install 'ensample[dev]'")
    programs = {program: shutil.which(program) for program in PACKAGES}
    missing = [PACKAGES[program] for program, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"Debian packages missing: {' '.join(missing)} (apt-get install {' '.join(missing)})")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=programs["chromedriver"]))
    try:
        yield driver
    finally:
        driver.quit()


def visit(browser: Any, page: Path, width: int = 1400, scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", NAMES)
def test_figures_are_seen_and_nothing_sticks_out(name: str, width: int, browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages[name], width)
    complaints = browser.get_log("browser")
    assert complaints == []
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(svg => {const b = svg.getBoundingClientRect();"
        "return [b.width, b.height, b.left, b.right, svg.checkVisibility(), svg.querySelectorAll('path').length]})"
    )
    assert boxes and all(w > 200 and h > 30 and visible and paths > 2 for w, h, _, _, visible, paths in boxes)
    assert all(left >= 0 and right <= width for _, _, left, right, _, _ in boxes)
    across, inner = browser.execute_script("const e = document.documentElement; return [e.scrollWidth, e.clientWidth]")
    assert across <= inner


@pytest.mark.parametrize("width", [400, 1400])
def test_formulas_of_the_paper_are_drawn_and_nothing_sticks_out(width: int, browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "paper.html"
    path.write_text(page(FINDINGS, Scale.QUICK, 0), encoding="utf-8")
    visit(browser, path, width)
    assert browser.get_log("browser") == []
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('math')].map(math => {const b = math.getBoundingClientRect();"
        "return [getComputedStyle(math).display, b.width, b.height]})"
    )
    assert len(drawn) > 2 * len(CLAIMS) and not browser.execute_script("return document.querySelectorAll('code.tex').length")
    assert all("math" in display and across > 3 and high > 4 for display, across, high in drawn)
    fractions = browser.execute_script(
        "return [...document.querySelectorAll('mfrac')].map(f => f.children[0].getBoundingClientRect().bottom <="
        "f.children[1].getBoundingClientRect().top + 1)"
    )
    assert fractions and all(fractions), "a numerator is above its denominator"
    across, inner = browser.execute_script("const e = document.documentElement; return [e.scrollWidth, e.clientWidth]")
    assert across <= inner


@pytest.mark.parametrize("name", ["sizes", "hostile", "evaluation"])
def test_text_in_figures_stays_inside_them(name: str, browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages[name])
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
        visit(browser, pages["sizes"], scheme=scheme)
        seen[scheme] = browser.execute_script(script)
    for scheme, colours in seen.items():
        expected = [as_rgb(getattr(variables()[name], scheme)) for name in ("--paper", "--ink", "--ink", "--r0")]
        assert colours == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_told_from_the_page(scheme: str) -> None:
    """Text 4.5 to 1 and lines 3 to 1, as WCAG 2 asks (AA)."""
    colours = {name: getattr(pair, scheme) for name, pair in variables().items()}
    for name, colour in colours.items():
        least = {"--ink": 7.0, "--quiet": 4.5}.get(name, 3.0 if name[2] in "sr" and name != "--rule" else 1.0)
        assert contrast(colour, colours["--paper"]) >= least, name
    for name in ("--s0", "--s2", "--s8"):  # links, lower, higher
        assert contrast(colours[name], colours["--paper"]) >= 4.5, name


def test_what_is_folded_is_printed(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["sizes"])
    seen = "return document.querySelector('#asked pre').checkVisibility()"
    assert browser.execute_script(seen) is False
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(seen) is True
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert len(pdf) > 10_000


def as_rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
