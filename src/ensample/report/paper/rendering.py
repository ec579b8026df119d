"""Markdown as HTML: what `text` writes, with formulas as MathML, tables that may scroll and verdicts that show."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from ensample.claims import Verdict
from ensample.report.paper.formula import formula

TAGS = {"<sub>", "</sub>", "<sup>", "</sup>"}  # the HTML that `plain` writes; any other is text
NUMERIC = "text-align:right"
LABEL = re.compile(r"([A-Z][a-z ]+): ?")


def blocks(text: str) -> Markup:
    r"""
    >>> blocks("A *bound* & $`x`$.")
    Markup('<p>A <em>bound</em> &amp; <span class="formula"><math><mi>x</mi></math></span>.</p>\n')
    """
    tokens = parser().parse(text)
    dress(tokens)
    return Markup(parser().renderer.render(tokens, parser().options, {}))


def inline(text: str) -> Markup:
    """Without a paragraph around it.

    >>> inline("β<sub>t</sub> & <script>")
    Markup('β<sub>t</sub> &amp; &lt;script&gt;')
    """
    return Markup(parser().renderInline(text))


@cache
def parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table").disable("html_block")
    parser.inline.ruler.before("backticks", "formula", formula_rule)
    for name, rule in RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def formula_rule(state: StateInline, silent: bool) -> bool:
    """$`LaTeX`$, as GitHub has it."""
    end = state.src.find("`$", state.pos + 2)
    if not state.src.startswith("$`", state.pos) or end < 0:
        return False
    if not silent:
        state.push("formula", "", 0).content = state.src[state.pos + 2 : end]
    state.pos = end + 2
    return True


def tag(text: str) -> str:
    return text if text in TAGS else escape(text)


def fence(token: Token) -> str:
    if token.info != "math":
        return f"<pre><code>{escape(token.content)}</code></pre>\n"
    return f'<div class="display">{formula(token.content.strip(), display=True)}</div>\n'


RULES: dict[str, Callable[..., str]] = {
    "formula": lambda _, tokens, place, *__: formula(tokens[place].content),
    "made": lambda _, tokens, place, *__: tokens[place].content,
    "html_inline": lambda _, tokens, place, *__: tag(tokens[place].content),
    "fence": lambda _, tokens, place, *__: fence(tokens[place]),
    "table_open": lambda *_: (
        '<div class="scroll" tabindex="0" role="region" aria-label="table"><table>\n'
    ),
    "table_close": lambda *_: "</table></div>\n",
}


def dress(tokens: Sequence[Token]) -> None:
    """Classes for numbers, groups and verdicts; the label of a list's item apart from what it says."""
    for place, token in enumerate(tokens):
        if token.attrs.get("style") == NUMERIC:
            token.attrs = {"class": "n"}
        if token.type == "tr_open" and names_a_group(tokens[place:]):
            token.attrs = {"class": "group"}
        if token.type == "td_open" and (
            word := re.split("[:,]", tokens[place + 1].content)[0]
        ) in set(Verdict):
            token.attrs = {"class": f"verdict {word}"}
        if token.type == "inline" and tokens[place - 2].type == "list_item_open":
            label(token)


def names_a_group(row: Sequence[Token]) -> bool:
    """Whether a row names those that follow, and nothing else."""
    end = [token.type for token in row].index("tr_close")
    cells = [token.content for token in row[:end] if token.type == "inline"]
    return cells[0].startswith("**") and not any(cells[1:])


def label(item: Token) -> None:
    children = item.children or []
    found = LABEL.match(children[0].content) if children else None
    if found:
        children[0].content = children[0].content[found.end() :]
        opening = Token(
            "made",
            "",
            0,
            content=f'<span class="label {found[1].lower()}">{found[1]}</span> <span>',
        )
        item.children = [opening, *children, Token("made", "", 0, content="</span>")]
