"""The page of the claims: complete, escaped, self-contained, and read by a browser without
complaint."""

import re
from dataclasses import replace
from html import escape, unescape
from xml.etree import ElementTree

import pytest

from documented import alike
from ensample.claims import CLAIMS, Broken, Curve, Figure, Kind, Outcome, Scale, Verdict
from ensample.claims.texts import place
from ensample.report.paper import Finding, page
from ensample.report.paper.markdown import to_html, to_inline_html, to_markdown
from ensample.report.paper.mathml import formula
from ensample.report.paper.page import document, svg, svg_file
from ensample.report.paper.text import PROSE

CURVES = (
    Curve("sum, lam = 1", (1.0, 10.0, 100.0), (1.0, 2.0, 5.0)),
    Curve("bound", (1.0, 100.0), (2.0, 9.0), bound=True),
)
FIGURE = Figure("A figure", "T", "beta_T", CURVES, log_x=True, log_y=True)
HOLDS = Outcome(
    0.25,
    "<=",
    1.0,
    0.75,
    Verdict.HOLDS,
    1234,
    "largest at d = 3; interval [0.2, 0.3]",
    figure=FIGURE,
)
REFUTED = Outcome(3.0, "<=", 1.0, -2.0, Verdict.REFUTED, 1234)
OPEN = Outcome(0.9, ">=", 0.9, -0.1, Verdict.INCONCLUSIVE, 100, decides=5000)
FINDINGS = [
    Finding(
        claim,
        replace(HOLDS, figure=None if n else FIGURE),
        REFUTED,
        1.5,
        n != 1,
        (1.5,) * len(claim.faults),
    )
    for n, claim in enumerate(CLAIMS)
]
HOSTILE = "<script>alert('1')</script> & \"x\" </title> ]]> {{ 7 * 7 }} `|_*~ "


def hostile() -> Finding:
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
    return Finding(claim, replace(HOLDS, detail=HOSTILE, figure=figure), REFUTED)


def test_every_claim_has_all_its_parts() -> None:
    text = page(FINDINGS, Scale.QUICK, 7)
    found = re.finditer(r'<article id="([^"]*)".*?</article>', text, re.DOTALL)
    articles = {article[1]: article[0] for article in found}
    assert list(articles) == [claim.id for claim in CLAIMS]
    for claim in CLAIMS:
        words = articles[claim.id]
        typeset = (claim.title, claim.broken.description, *claim.assumptions, claim.note)
        for part in (*typeset, claim.statement[1:]):
            assert to_inline_html(to_markdown(part)) in words, part
        reference = to_inline_html(to_markdown(claim.reference))
        kind, formula = claim.kind.value.capitalize(), '<div class="display"><span class="formula">'
        numbers = ("1,234", "1.5 s", "Largest at d = 3", "refuted", "holds", "Power", kind, formula)
        for part in (claim.reference if place(claim.reference) else reference, *numbers):
            assert part in words, part
        assert ("<figure>" in words) == (claim is CLAIMS[0]) and f'href="#{claim.id}"' in text
        assert ("75%" in words) == (claim.kind is not Kind.IDENTITY)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_formula_is_drawn(claim) -> None:
    assert not re.search(r"\\q?quad[A-Za-z]", claim.latex), "a command that runs into a letter"
    html = formula(claim.latex, display=True)
    assert html.startswith('<span class="formula">'), (
        "teach formula.OTHER_WORDS, or say it in other LaTeX"
    )
    drawn = ElementTree.fromstring(html.replace("<wbr>", ""))
    assert len(drawn) >= 1 and all(piece.tag == "math" and len(piece) for piece in drawn)
    assert "\\" not in "".join(drawn.itertext()), "a command that was not understood"


def test_the_notation_is_drawn() -> None:
    assert all("<math>" in formula(symbol["latex"]) for symbol in PROSE["notation"])
    meanings = (symbol["meaning"] for symbol in PROSE["notation"])
    for text in (*meanings, *PROSE["sections"].values()):
        assert all("<math>" in formula(latex) for latex in text.split("$")[1::2])


@pytest.mark.parametrize(
    "latex", [r"\begin{cases} a < b", r"\unheard", "x_", "{", r"a \unheard{b} <i>"]
)
def test_a_formula_that_cannot_be_drawn_is_shown_as_written(latex: str) -> None:
    assert formula(latex) == f'<code class="tex">{escape(latex)}</code>'


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"f(x = 1) = a \leq b,\quad c \Rightarrow\ d", ["f(x=1)", "=a", "≤b,", "c", "⇒ d"]),
        (
            r"\mathbb{P}\Big(a \ge b\Big) \ge 1 - \delta",
            ["\N{DOUBLE-STRUCK CAPITAL P}(a≥b)", "≥1−δ"],
        ),
        (r"Z\sim\mathcal{N}(0, 1)", ["Z", "∼\N{MATHEMATICAL SCRIPT CAPITAL N}(0,1)"]),
        ("x", ["x"]),
    ],
)
def test_lines_break_before_relations_and_after_spaces_outside_of_brackets(
    latex: str, said: list[str]
) -> None:
    drawn = ElementTree.fromstring(formula(latex).replace("<wbr>", ""))
    assert ["".join(piece.itertext()).strip("\xa0").replace("\xa0", " ") for piece in drawn] == said


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (
            r"2\log T",
            '<mn>2</mn><mspace width="0.167em" /><mi>log</mi><mspace width="0.167em" /><mi>T</mi>',
        ),
        (r"2\log(T)", '<mi>log</mi><mo stretchy="false">('),
        (r"\min_\theta x", "<munder><mo>min</mo><mi>θ</mi></munder>"),
        (r"\mathrm{d}x", "<mtext>d</mtext>"),
        (r"\arg\min x", "<mtext>arg</mtext>"),
        (r"\boldsymbol{\Phi}", '<mi mathvariant="normal">𝚽</mi>'),
        (
            r"\tilde\theta",
            '<mover accent="true"><mi>θ</mi><mo stretchy="false">\u02dc</mo></mover>',
        ),
        (r"[-1, 1]", '<mo form="prefix">−</mo>'),
        (r"\big(x\big)^2", "<msup><mrow><mspace /><mo "),
    ],
)
def test_formulas_are_set_as_latex_sets_them(latex: str, said: str) -> None:
    assert said in formula(latex)


def test_nothing_is_taken_for_markup() -> None:
    text = page([hostile(), *FINDINGS[1:]], Scale.QUICK, 0)
    assert (
        "<script" not in text
        and "{{" in text
        and "49" not in re.sub(r"[\d.]{3,}", "", text.split("<main>")[1])[:2000]
    )
    assert text.count("</title>") == 1 and "&lt;script&gt;" in text
    markdown = document([hostile()], Scale.QUICK, 0, "paper")
    assert "<script" not in markdown.replace(HOSTILE, "")
    assert "&lt;script&gt;" in markdown and r"\`\|\_\*\~" in markdown


def test_the_page_is_made_of_what_the_document_says() -> None:
    """One source: every piece of the document's Markdown is on the page, rendered."""
    text, markdown = page(FINDINGS, Scale.QUICK, 0), document(FINDINGS, Scale.QUICK, 0, "paper")
    pieces = [
        piece
        for piece in markdown.split("## Summary")[1].split("\n\n")[1:]
        if not piece.startswith(("#", "<"))
    ]
    assert len(pieces) > 4 * len(CLAIMS)
    for piece in pieces:
        assert to_html(piece) in text, piece


def test_only_tags_of_ours_are_tags() -> None:
    assert to_html("<b onclick=x>a</b> <sub>t</sub> <!-- c --> <SUB>") == (
        "<p>&lt;b onclick=x&gt;a&lt;/b&gt; <sub>t</sub> &lt;!-- c --&gt; &lt;SUB&gt;</p>\n"
    )
    assert "<script" not in to_html("<script>\nalert(1)\n</script>") and "<i>" not in to_html(
        "```\n<i>\n```"
    )
    assert "<a" not in to_html("[a](javascript:alert)")


def test_it_needs_nothing_from_elsewhere() -> None:
    text = page(FINDINGS, Scale.QUICK, 0)
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text and "@import" not in text
    assert all(
        found.startswith(("#", "data:,"))
        for found in re.findall(r"(?:href|src)=\"([^\"]*)\"", text)
    )
    assert all(found.startswith("#") for found in re.findall(r"url\(([^)]*)\)", text))
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert len(ids) == len(set(ids)), "an id names one thing"
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)


def test_rounding_errors_have_no_digits() -> None:
    claim = next(claim for claim in CLAIMS if claim.kind is Kind.IDENTITY)

    def written(error: float, bound: float) -> str:
        outcome = Outcome(error, "<=", bound, 1 - error / max(bound, 1e-9), Verdict.HOLDS, 5)
        return document([Finding(claim, outcome, REFUTED)], Scale.QUICK, 0, "paper")

    assert written(3e-15, 1e-9) == written(2e-12, 1e-9)
    assert "Measured: rounding, claimed ≤ 10⁻⁹, from" in written(3e-15, 1e-9)
    assert "Measured: 0, claimed ≤ 0, " in written(0.0, 0.0), "things were counted"


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert svg_file(FIGURE, "a") == svg_file(FIGURE, "a")
    root = ElementTree.fromstring(svg_file(FIGURE, "a"))
    assert (
        root.tag == "{http://www.w3.org/2000/svg}svg" and "from 1 to 5" in root.attrib["aria-label"]
    )
    assert "β_T" in unescape(svg(FIGURE, "a"))
    moved = replace(
        FIGURE, curves=(Curve("sum, lam = 1", (1.0, 10.0, 100.0), (1.0, 3.0, 5.0)), CURVES[1])
    )
    assert not alike(svg_file(FIGURE, "a"), svg_file(moved, "a"), 0.5), (
        "negative control of the test for staleness"
    )
