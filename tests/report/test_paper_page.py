"""The page of the claims: complete, escaped, self-contained, and read by a browser without complaint."""

import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from documented import alike
from ensample.claims import CLAIMS, Broken, Curve, Figure, Kind, Outcome, Scale, Verdict
from ensample.report.paper.figures import for_file, for_page
from ensample.report.paper.findings import Entry, three
from ensample.report.paper.formula import drawn, formula, pieces, translated
from ensample.report.paper.html import page
from ensample.report.paper.markdown import document
from ensample.report.paper.plain import for_html, for_markdown
from ensample.report.paper.prose import NOTATION

CURVES = (Curve("sum, lam = 1", (1.0, 10.0, 100.0), (1.0, 2.0, 5.0)), Curve("bound", (1.0, 100.0), (2.0, 9.0), bound=True))
FIGURE = Figure("A figure", "T", "beta_T", CURVES, log_x=True, log_y=True)
HOLDS = Outcome(0.25, "<=", 1.0, 0.75, Verdict.HOLDS, 1234, "largest at d = 3; interval [0.2, 0.3]", figure=FIGURE)
REFUTED = Outcome(3.0, "<=", 1.0, -2.0, Verdict.REFUTED, 1234)
OPEN = Outcome(0.9, ">=", 0.9, -0.1, Verdict.INCONCLUSIVE, 100, decides=5000)
ENTRIES = [Entry(claim, replace(HOLDS, figure=None if place else FIGURE), REFUTED, 1.5) for place, claim in enumerate(CLAIMS)]
HOSTILE = "<script>alert('1')</script> & \"x\" </title> ]]> {{ 7 * 7 }} `|_*~ "


def hostile() -> Entry:
    claim = replace(
        CLAIMS[0],
        title=HOSTILE,
        statement=HOSTILE,
        latex=HOSTILE,
        reference=HOSTILE,
        assumptions=(HOSTILE,),
        note=HOSTILE,
        broken=Broken(HOSTILE, CLAIMS[0].broken.check),
    )
    figure = Figure(HOSTILE, HOSTILE, HOSTILE, (Curve(HOSTILE, (1.0, 2.0), (1.0, 2.0)),))
    return Entry(claim, replace(HOLDS, detail=HOSTILE, figure=figure), REFUTED)


def test_every_claim_has_all_its_parts() -> None:
    text = page(ENTRIES, Scale.QUICK, 7)
    articles = {found[1]: found[0] for found in re.finditer(r'<article id="([^"]*)".*?</article>', text, re.DOTALL)}
    assert list(articles) == [claim.id for claim in CLAIMS]
    for claim in CLAIMS:
        said = articles[claim.id]
        for part in (claim.title, claim.broken.description, *claim.assumptions, claim.statement[1:], claim.note):
            assert for_html(part) in said, part
        for part in (claim.reference, claim.kind.value, "1,234", "1.5 s", "largest at d = 3", "refuted", "holds"):
            assert part in said, part
        assert ("<figure>" in said) == (claim is CLAIMS[0])
        assert ("75%" in said) == (claim.kind is not Kind.IDENTITY)
        assert 'role="math"' in said and f'href="#{claim.id}"' in text


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_formula_is_drawn(claim) -> None:
    assert not re.search(r"\\q?quad[A-Za-z]", claim.latex), "a command that runs into a letter"
    html = formula(claim.latex)
    assert html.startswith('<span class="formula"'), "teach formula.translated, or say it in other LaTeX"
    assert html.count("<svg ") == len(pieces(translated(claim.latex)))
    for svg in re.findall(r"<svg.*?</svg>", html):
        ElementTree.fromstring(svg)
        assert "nan" not in svg and "currentColor" in svg


def test_the_notation_is_drawn() -> None:
    assert all("<svg " in formula(symbol.latex) for symbol in NOTATION)


def test_a_formula_that_cannot_be_drawn_is_shown_as_written() -> None:
    assert formula(r"\begin{cases} a < b") == r'<code class="tex">\begin{cases} a &lt; b</code>'
    with pytest.raises(ValueError, match="Unknown symbol"):
        drawn(r"\unheard")


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"\Big|x\Big| = \tfrac12", r"|x| = \frac{1}{2}"),
        (r"\sqrt d \sqrt\lambda S", r"\sqrt{d} \sqrt{\lambda} S"),
        (r"\big(\{a\}\big)", r"\left(\{a\}\right)"),
        (r"\frac{a}b", r"\frac{a}{b}"),
        (r"\hat\theta x \le y", r"\hat{\theta} x \leq y"),
    ],
)
def test_translation(latex: str, said: str) -> None:
    assert translated(latex) == said
    drawn(said)


def test_nothing_is_taken_for_markup() -> None:
    text = page([hostile(), *ENTRIES[1:]], Scale.QUICK, 0)
    assert "<script" not in text and "{{" in text and "49" not in re.sub(r"[\d.]{3,}", "", text.split("<main>")[1])[:2000]
    assert text.count("</title>") == 1 and "&lt;script&gt;" in text
    markdown = document([hostile()], Scale.QUICK, 0, "paper")
    assert "<script" not in markdown.replace(HOSTILE, "")
    assert "&lt;script&gt;" in markdown and r"\`\|\_\*\~" in markdown


def test_it_needs_nothing_from_elsewhere() -> None:
    text = page(ENTRIES, Scale.QUICK, 0)
    assert "http" not in text and "<script" not in text and "@import" not in text
    assert all(found.startswith(("#", "data:,")) for found in re.findall(r"(?:href|src)=\"([^\"]*)\"", text))
    assert all(found.startswith("#") for found in re.findall(r"url\(([^)]*)\)", text))
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert len(ids) == len(set(ids)), "an id names one thing"
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)


def test_verdicts_other_than_holds() -> None:
    entries = [Entry(CLAIMS[0], OPEN, OPEN), *(Entry(claim, REFUTED, REFUTED) for claim in CLAIMS[1:])]
    for text in (page(entries, Scale.STANDARD, 3), document(entries, Scale.STANDARD, 3, "paper")):
        assert "inconclusive: a sample of 5,000 would decide" in text and f"{len(CLAIMS) - 1} refuted, 1 inconclusive" in text


def test_rounding_errors_have_no_digits() -> None:
    claim = next(claim for claim in CLAIMS if claim.kind is Kind.IDENTITY)
    texts = {
        document(
            [Entry(claim, Outcome(error, "<=", 1e-9, 1 - error / 1e-9, Verdict.HOLDS, 5), REFUTED)], Scale.QUICK, 0, "paper"
        )
        for error in (3e-15, 2e-12)
    }
    assert len(texts) == 1 and "Measured: rounding, claimed ≤ 10⁻⁹, from" in texts.pop()
    counted = Outcome(0.0, "<=", 0.0, 0.0, Verdict.HOLDS, 5)
    assert "Measured: 0, claimed ≤ 0, margin 0, from" in document([Entry(claim, counted, REFUTED)], Scale.QUICK, 0, "paper")


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert for_file(FIGURE, "a") == for_file(FIGURE, "a")
    root = ElementTree.fromstring(for_file(FIGURE, "a"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and "from 1 to 5" in root.attrib["aria-label"]
    assert "β_T" in unescape(for_page(FIGURE, "a"))
    moved = replace(FIGURE, curves=(Curve("sum, lam = 1", (1.0, 10.0, 100.0), (1.0, 3.0, 5.0)), CURVES[1]))
    assert not alike(for_file(FIGURE, "a"), for_file(moved, "a"), 0.5), "negative control of the test for staleness"


def test_words_become_symbols() -> None:
    assert for_html("the round's |theta~_t|_V, not V^-1") == "the round's |θ̃<sub>t</sub>|<sub>V</sub>, not V<sup>−1</sup>"
    assert for_markdown("x*'theta* >= 0") == r"x\*<sup>⊤</sup>θ\* ≥ 0"
    assert for_html("lambda and zeta stay words; thetas too") == "lambda and zeta stay words; thetas too"
    assert [three(x) for x in (999.6, 1e-4, 0.99999)] == ["1,000", "0.0001", "1"]


def test_a_browser_reads_it_without_complaint(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs the Debian package chromium")
    (tmp_path / "paper.html").write_text(page([*ENTRIES[:3], hostile()], Scale.QUICK, 0), encoding="utf-8")
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path}/user",
    ]
    shown = subprocess.run(
        [*command, "--dump-dom", (tmp_path / "paper.html").as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "CONSOLE" not in shown.stderr
    assert shown.stdout.count("<article") == 4 and "</html>" in shown.stdout
