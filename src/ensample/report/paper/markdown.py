"""Plain words of claims as Markdown, and Markdown as HTML with formulas as MathML.

Claims are written for terminals, `|theta~|_V <= gamma~_T`. In Markdown they have Greek letters,
signs and indices; docs/paper.md and the page are both made of that Markdown.
"""

import re
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from ensample.claims import Verdict
from ensample.report.paper.mathml import formula

NAMES = "alpha beta gamma delta eta theta lam sigma xi Phi Sigma"
GREEK = dict(zip(NAMES.split(), "αβγδηθλσξΦΣ", strict=True))
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "...": "…", " - ": " − "}
HAT, TILDE = "\u0302", "\u0303"  # combining: they stand on the letter before
LETTER = rf"(?<![A-Za-z])(?:{'|'.join(GREEK)})(?![A-Za-z])"
SYMBOLS: tuple[tuple[str, Any], ...] = (
    (rf"({LETTER})_hat", rf"\1{HAT}"),
    (rf"({LETTER})~", rf"\1{TILDE}"),
    (LETTER, lambda found: GREEK[found[0]]),
    (r"sqrt ?(?=[\d(A-Za-zα-ω])", "√"),
)
INDEX = r"\{[^}]*\}|[A-Za-z0-9]+"
# Private characters stand for tags until the text around them is escaped.
SUB, NO_SUB, SUP, NO_SUP = "\ue000", "\ue001", "\ue002", "\ue003"
TAGS = {SUB: "<sub>", NO_SUB: "</sub>", SUP: "<sup>", NO_SUP: "</sup>"}
INDICES: tuple[tuple[str, Any], ...] = (
    (
        rf"((?<![A-Za-z\d])[A-Za-zα-ωΦ][{HAT}{TILDE}]?|\|)_({INDEX})",
        lambda found: f"{found[1]}{SUB}{found[2].strip('{}')}{NO_SUB}",
    ),
    (rf"(?<=\S)\^(-?(?:{INDEX})|\([^)]*\))", lambda found: raised(found[1])),
    (r"(?<![A-Za-z])([A-Za-zΦ]\*?)'(?![a-z])", lambda found: found[1] + raised("⊤")),
)
SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")
NUMERIC = "text-align:right"
LABEL = re.compile(r"([A-Z][a-z ]+): ?")


def to_markdown(text: str) -> str:
    r"""Typeset plain words.

    >>> to_markdown("P(U'Z > theta~_t) <= e^-x & lam")
    'P(U<sup>⊤</sup>Z &gt; θ̃<sub>t</sub>) ≤ e<sup>−x</sup> &amp; λ'
    >>> to_markdown("|x*| <= sqrt(d), a_b < 1")
    '\\|x\\*\\| ≤ √(d), a<sub>b</sub> &lt; 1'
    """
    text = with_symbols(text)
    for pattern, index in INDICES:
        text = re.sub(pattern, index, text)
    text = SPECIAL.sub(r"\\\1", escape(text, quote=False))
    for mark, tag in TAGS.items():
        text = text.replace(mark, tag)
    return text


def with_symbols(text: str) -> str:
    """Put letters and signs in place of their names, for text that has no tags.

    >>> with_symbols("sqrt(lam) >= theta_hat")
    '√(λ) ≥ θ̂'
    """
    for plain, sign in SIGNS.items():
        text = text.replace(plain, sign)
    for pattern, symbol in SYMBOLS:
        text = re.sub(pattern, symbol, text)
    return text


def raised(index: str) -> str:
    return f"{SUP}{index.strip('{}').replace('-', '−')}{NO_SUP}"


def with_formulas(text: str, table: bool = False) -> str:
    """Return prose as Markdown; its formulas stand between dollars."""
    pieces = text.split("$")
    return "".join(
        quoted_formula(piece, table) if place % 2 else to_markdown(piece)
        for place, piece in enumerate(pieces)
    )


def quoted_formula(latex: str, table: bool = False) -> str:
    """Quote a formula as GitHub has it; a bar would end the cell of a table."""
    if table:
        latex = latex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return f"$`{latex}`$"


def code(text: str) -> str:
    """Quote code with more backticks than it has.

    >>> code("lma:a"), code("a `b` c")
    ('`lma:a`', '``a `b` c``')
    """
    ticks = "`" * (1 + longest_ticks(text))
    return f"{ticks}{text}{ticks}"


def math_block(latex: str) -> str:
    fence = "`" * max(3, 1 + longest_ticks(latex))
    return f"{fence}math\n{latex}\n{fence}"


def longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def to_html(text: str) -> Markup:
    r"""Return Markdown as HTML.

    >>> to_html("A *bound* & $`x`$.")
    Markup('<p>A <em>bound</em> &amp; <span class="formula"><math><mi>x</mi></math></span>.</p>\n')
    """
    tokens = parser().parse(text)
    for place, token in enumerate(tokens):
        add_class(token, place, tokens)
    return Markup(parser().renderer.render(tokens, parser().options, {}))


def to_inline_html(text: str) -> Markup:
    """Return Markdown as HTML without a paragraph around it.

    >>> to_inline_html("β<sub>t</sub> & <script>")
    Markup('β<sub>t</sub> &amp; &lt;script&gt;')
    """
    return Markup(parser().renderInline(text))


@cache
def parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table").disable("html_block")
    parser.inline.ruler.before("backticks", "formula", parse_formula)
    for name in ("formula", "markup", "html_inline", "fence", "table_open", "table_close"):
        parser.add_render_rule(name, render_token)
    return parser


def render_token(_: object, tokens: list[Token], place: int, *__: object) -> str:
    """Render formulas, our own tags, code, and tables that may scroll; escape other tags."""
    kind, text = tokens[place].type, tokens[place].content
    if kind == "table_open":
        return '<div class="scroll" tabindex="0" role="region" aria-label="table"><table>\n'
    if kind == "table_close":
        return "</table></div>\n"
    if kind == "formula":
        return formula(text)
    if kind == "fence" and tokens[place].info == "math":
        return f'<div class="display">{formula(text.strip(), display=True)}</div>\n'
    if kind == "fence":
        return f"<pre><code>{escape(text)}</code></pre>\n"
    return text if kind == "markup" or text in TAGS.values() else escape(text)


def parse_formula(state: StateInline, silent: bool) -> bool:
    """Parse $`LaTeX`$, as GitHub has it."""
    end = state.src.find("`$", state.pos + 2)
    if not state.src.startswith("$`", state.pos) or end < 0:
        return False
    if not silent:
        state.push("formula", "", 0).content = state.src[state.pos + 2 : end]
    state.pos = end + 2
    return True


def add_class(token: Token, place: int, tokens: list[Token]) -> None:
    """Add classes to numbers, groups and verdicts; set the label of a list's item apart."""
    if token.attrs.get("style") == NUMERIC:
        token.attrs = {"class": "n"}
    if token.type == "tr_open" and tokens[place + 2].content.startswith("**"):
        token.attrs = {"class": "group"}  # a row that names those that follow
    if token.type == "td_open":
        word = re.split("[:,]", tokens[place + 1].content)[0]
        if word in set(Verdict):
            token.attrs = {"class": f"verdict {word}"}
    if token.type == "inline" and tokens[place - 2].type == "list_item_open":
        children = token.children or []
        found = LABEL.match(children[0].content) if children else None
        if found:
            children[0].content = children[0].content[found.end() :]
            label = f'<span class="label {found[1].lower()}">{found[1]}</span> <span>'
            opening, closing = (Token("markup", "", 0, content=text) for text in (label, "</span>"))
            token.children = [opening, *children, closing]
