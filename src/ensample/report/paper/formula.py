r"""Formulas inside a page: LaTeX as MathML, which every current browser draws in the text's own size and colour.

latex2mathml translates; `tidied` sets right what browsers would space or size otherwise than LaTeX does. A formula that
cannot be translated is shown as it is written.
"""

import re
import unicodedata
from functools import cache
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

# LaTeX that latex2mathml does not know, or sets letter by letter
OTHER_WORDS = {r"\mathrm": r"\text", r"\operatorname": r"\text", r"\arg": r"\text{arg}\,"}
OTHER_WORD = re.compile("|".join(rf"{re.escape(word)}(?![A-Za-z])" for word in OTHER_WORDS))
LIMITS = {"msub": "munder", "msubsup": "munderover"}  # where an operator has them below and above
HAVE_LIMITS = {*"∑∏⋃⋂", "min", "max", "sup", "inf"}
TIGHT = ("0", "0")
SPACES = {
    "*": TIGHT,
    "⊤": TIGHT,
    "/": TIGHT,
    "|": TIGHT,
    ":": ("0", "0.22em"),
    "∼": ("0.28em", "0.28em"),
}
ACCENTS = {"^": "\u02c6", "~": "\u02dc"}  # as wide as a letter
GREEK_CAPITAL, BOLD_CAPITAL = (
    "GREEK CAPITAL LETTER",
    "MATHEMATICAL BOLD CAPITAL",
)  # as Unicode calls them
THIN = "0.167em"
OPENING, CLOSING = set("([{⌊⌈"), set(")]}⌋⌉")
RELATIONS = set("=<>≤≥≠⇒≈∈≡∼")


def formula(latex: str, display: bool = False) -> str:
    """HTML of a formula: pieces between which a line may break; LaTeX as it is where it has no translation."""
    try:
        drawn = [math(piece, display) for piece in pieces(tidied(translated(latex)))]
    except (
        Exception
    ):  # latex2mathml has a dozen of its own, with no common base, and index errors besides
        return f'<code class="tex">{escape(latex)}</code>'
    return f'<span class="formula">{"<wbr>".join(drawn)}</span>'


@cache
def source(latex: str) -> str:
    """MathML as latex2mathml gives it; ValueError where it passes on a command that it does not know."""
    said = convert(OTHER_WORD.sub(lambda found: OTHER_WORDS[found[0]], latex), xmlns="")
    if "\\" in said:
        raise ValueError(latex)
    return said


def translated(latex: str) -> Element:
    """The row of the formula's parts."""
    (row,) = ElementTree.fromstring(source(latex))
    return row


def tidied(row: Element) -> Element:
    """Spaces, limits, accents and large delimiters as LaTeX has them."""
    for element in list(row.iter()):
        if element.tag in LIMITS and element[0].text in HAVE_LIMITS:
            element.tag = LIMITS[element.tag]
        elif element.tag == "mover" and element[1].text in ACCENTS:
            element.set("accent", "true")
            element[1].text = ACCENTS[element[1].text]
        elif element.tag in ("mi", "mo"):
            tidy_symbol(element)
        tidy_row(element)
    return row


def tidy_symbol(symbol: Element) -> None:
    if symbol.tag == "mi" and symbol.text == "~":
        symbol.text = "∼"
    said = symbol.text or ""
    if said in SPACES:
        symbol.tag = "mo"
        symbol.attrib |= dict(zip(("lspace", "rspace"), SPACES[said], strict=True))
    if (
        "minsize" in symbol.attrib
    ):  # a large delimiter: browsers stretch only what they take for a fence
        symbol.attrib |= {"stretchy": "true", "symmetric": "true", "lspace": "0", "rspace": "0"}
    name = unicodedata.name(said, "") if len(said) == 1 else ""
    if name.startswith(
        GREEK_CAPITAL
    ):  # upright, as LaTeX has them; browsers know no other way to say bold
        bold = symbol.get("mathvariant", "").startswith("bold")
        symbol.text = (
            unicodedata.lookup(name.replace(GREEK_CAPITAL, BOLD_CAPITAL)) if bold else said
        )
        symbol.set("mathvariant", "normal")


def tidy_row(row: Element) -> None:
    for place, element in reversed(list(enumerate(row))):
        before = row[place - 1] if place else None
        if (
            row.tag == "msup" and place == 0 and "minsize" in element.attrib
        ):  # alone it would not stretch
            row[0] = Element("mrow")
            row[0].extend([Element("mspace"), element])
        elif element.text == "−" and before is not None and before.text in OPENING:
            element.set("form", "prefix")
        elif row.tag in ("mrow", "msqrt") and element.tag == "mi" and len(element.text or "") > 1:
            if place + 1 < len(row) and row[place + 1].tag not in ("mo", "mspace"):
                row.insert(place + 1, Element("mspace", width=THIN))  # log T, but log(T)
            if before is not None and before.tag not in ("mo", "mspace"):
                row.insert(place, Element("mspace", width=THIN))


def pieces(row: Element) -> list[list[Element]]:
    """Where a line may break: after spaces, and before relations outside of all brackets."""
    parts: list[list[Element]] = [[]]
    depth = 0
    for element in row:
        said = element.text or ""
        depth += (said in OPENING) - (said in CLOSING)
        if depth == 0 and said in RELATIONS and any(not blank(part) for part in parts[-1]):
            parts.append([])
        parts[-1].append(element)
        if (
            depth == 0
            and blank(element)
            and not all(blank(part) or (part.text or "") in RELATIONS for part in parts[-1])
        ):
            parts.append([])
    return [part for part in parts if part]


def blank(element: Element) -> bool:
    """A space wide enough to break at."""
    return (element.tag == "mtext" and element.text == "\xa0") or element.get("width") in (
        "1em",
        "2em",
    )


def math(piece: list[Element], display: bool) -> str:
    whole = Element("math", {"displaystyle": "true"} if display else {})
    whole.extend(piece)
    return ElementTree.tostring(whole, encoding="unicode")
