r"""Formulas inside a page: LaTeX drawn by matplotlib's mathtext, in the text's own size and colour.

mathtext knows part of LaTeX. `translated` says the rest in its words (`\Big(` becomes `\left(`, `\tfrac12` becomes
`\frac{1}{2}`), and a formula that it still cannot draw is shown as it is written.
"""

import re
from functools import cache
from html import escape
from itertools import pairwise

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

__all__ = ["drawn", "formula", "pieces", "translated"]

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
OTHER_NAMES = {
    r"\le": r"\leq",
    r"\ge": r"\geq",
    r"\ne": r"\neq",
    r"\to": r"\rightarrow",
    r"\implies": r"\Rightarrow",
    r"\tfrac": r"\frac",
    r"\dots": r"\ldots",
    r"\lVert": r"\|",
    r"\rVert": r"\|",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\operatorname": r"\mathrm",
    r"\mathds": r"\mathbb",
    r"\bmod": r"\ \mathrm{mod}\ ",
    # mathtext leaves room around these two, as if they were operators
    "*": "{*}",
    r"\top": "⊤",
}
LARGE = re.compile(r"\\(big|Big|bigg|Bigg)[lr]?$")
OPENING, CLOSING = {"(", "[", r"\{", r"\lfloor", r"\lceil"}, {")", "]", r"\}", r"\rfloor", r"\rceil"}
ARGUMENTS = {r"\frac": 2, r"\binom": 2, r"\sqrt": 1, r"\hat": 1, r"\tilde": 1, r"\bar": 1}
RELATIONS = {"=", "<", ">", r"\leq", r"\geq", r"\Rightarrow", r"\sim", r"\approx", r"\in"}
WIDE = {r"\quad", r"\qquad", r"\ "}
SPACES = WIDE | {" "}
UNIT = 100  # coordinates of an em, so that whole numbers are fine enough


def formula(latex: str) -> str:
    """HTML of a formula: pieces that the page may break between; LaTeX as it is where mathtext does not know it."""
    try:
        parts = [drawn(piece) + ("&ensp;" if piece.endswith(",") else "") for piece in pieces(translated(latex))]
    except ValueError:
        return f'<code class="tex">{escape(latex)}</code>'
    return f'<span class="formula" role="math" aria-label="{escape(latex)}">{" ".join(parts)}</span>'


@cache
def drawn(piece: str) -> str:
    """A piece as <svg>, in ems, its baseline on that of the text; ValueError where mathtext does not know it."""
    path = TextPath((0, 0), f"${piece}$", size=UNIT, prop=FontProperties(math_fontfamily="stix"))
    box = path.get_extents()
    left, right, low, high = (round(edge) for edge in (box.x0 - 2, box.x1 + 2, box.y0 - 2, box.y1 + 2))
    size = f"width:{(right - left) / UNIT}em;height:{(high - low) / UNIT}em;vertical-align:{low / UNIT}em"
    view = f"{left} {-high} {right - left} {high - low}"
    return f'<svg viewBox="{view}" style="{size}" aria-hidden="true"><path fill="currentColor" d="{outline(path)}"/></svg>'


def outline(path: Path) -> str:
    """The commands of SVG; its y axis points down."""
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
    commands = []
    for points, code in path.iter_segments(simplify=False):
        if code == Path.CLOSEPOLY:
            commands.append("Z")
        else:
            signs = (1, -1) * (len(points) // 2)
            commands.append(letters[code] + " ".join(f"{sign * x:.0f}" for sign, x in zip(signs, points, strict=True)))
    return "".join(commands).replace("-0 ", "0 ")


def translated(latex: str) -> str:
    r"""In the words of mathtext.

    >>> translated(r"\mathbb{P}\Big(|x| \le \tfrac1\delta\Big)")
    '\\mathbb{P}\\left(|x| \\leq \\frac{1}{\\delta}\\right)'
    """
    tokens = [OTHER_NAMES.get(token, token) for token in TOKEN.findall(latex)]
    return "".join(spaced(braced(paired(tokens))))


def paired(tokens: list[str]) -> list[str]:
    r"""Large delimiters as \left and \right, which come in pairs; bars as they are, for mathtext draws large ones too heavy."""
    said: list[str] = []
    for before, token in pairwise(["", *tokens]):
        if LARGE.match(before):
            said.pop()
            said += [r"\left"] if token in OPENING else [r"\right"] if token in CLOSING else []
        said.append(token)
    return said


def braced(tokens: list[str]) -> list[str]:
    r"""Braces around arguments that LaTeX takes without: \frac12, \sqrt d."""
    said: list[str] = []
    waiting = 0  # arguments still to come at this depth
    stack: list[int] = []
    for token in tokens:
        if token == "{":
            stack.append(max(waiting - 1, 0))
            waiting = 0
        elif token == "}":
            waiting = stack.pop() if stack else 0
        elif waiting and token == " ":
            continue
        elif waiting:
            said.append(f"{{{token}}}")
            waiting -= 1
            continue
        said.append(token)
        waiting = ARGUMENTS.get(token, waiting)
    return said


def spaced(tokens: list[str]) -> list[str]:
    r"""A space after a command that a letter follows: \hat\theta S, not \hat\thetaS."""
    pairs = pairwise([*tokens, ""])
    return [f"{token} " if re.fullmatch(r"\\[A-Za-z]+", token) and after[:1].isalpha() else token for token, after in pairs]


def pieces(latex: str) -> list[str]:
    r"""Where a line may break: at spaces, and before relations outside of all brackets.

    >>> pieces(r"f(x = 1) = a \leq b,\quad c \Rightarrow\ d")
    ['f(x = 1)', '= a', '\\leq b,', 'c', '\\Rightarrow\\ d']
    """
    parts: list[list[str]] = [[]]
    depth = 0
    for token in TOKEN.findall(latex):
        depth += (token in OPENING or token == "{") - (token in CLOSING or token == "}")
        written = [part for part in parts[-1] if part not in SPACES]
        if depth == 0 and token in RELATIONS and written:
            parts.append([token])
        elif depth == 0 and token in WIDE and written and written[-1] not in RELATIONS:
            parts.append([])
        elif written or token not in SPACES:
            parts[-1].append(token)
    return ["".join(part).removesuffix("\\ ").strip() for part in parts if part]
