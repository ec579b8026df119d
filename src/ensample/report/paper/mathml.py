r"""Formulas inside a page: LaTeX as MathML, which browsers draw in the text's own size and colour.

latex2mathml translates; `tidy` corrects what browsers would space or size otherwise than LaTeX
does. A formula that cannot be translated is shown as it is written.
"""

import unicodedata
from functools import cache
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

# Commands that latex2mathml does not know, or sets letter by letter.
COMMANDS = {r"\mathrm": r"\text", r"\operatorname": r"\text", r"\arg": r"\text{arg}\,"}
LIMITS = {"msub": "munder", "msubsup": "munderover"}
HAVE_LIMITS = {*"∑∏⋃⋂", "min", "max", "sup", "inf"}  # operators with limits below and above
NO_SPACE = ("0", "0")
SPACES = {  # on the left and right of a sign
    "*": NO_SPACE,
    "⊤": NO_SPACE,
    "/": NO_SPACE,
    "|": NO_SPACE,
    ":": ("0", "0.22em"),
    "∼": ("0.28em", "0.28em"),
}
THIN = "0.167em"
ACCENTS = {"^": "\u02c6", "~": "\u02dc"}  # as wide as a letter
GREEK, BOLD_GREEK = "GREEK CAPITAL LETTER", "MATHEMATICAL BOLD CAPITAL"  # names in Unicode
OPENING, CLOSING, RELATIONS = set("([{⌊⌈"), set(")]}⌋⌉"), set("=<>≤≥≠⇒≈∈≡∼")


def formula(latex: str, display: bool = False) -> str:
    """Return HTML of a formula: pieces of MathML between which a line may break."""
    try:
        row = translate(latex)
        tidy(row)
        drawn = [math(piece, display) for piece in split_lines(row)]
    except Exception:  # latex2mathml raises errors of a dozen kinds without a common base
        return f'<code class="tex">{escape(latex)}</code>'
    return f'<span class="formula">{"<wbr>".join(drawn)}</span>'


def translate(latex: str) -> Element:
    """Return the row of the formula's parts."""
    (row,) = ElementTree.fromstring(to_mathml(latex))
    return row


@cache
def to_mathml(latex: str) -> str:
    """Return what latex2mathml makes of a formula; ValueError for an unknown command."""
    for command, known in COMMANDS.items():
        parts = latex.split(command)
        latex = parts[0]
        for part in parts[1:]:
            latex += (command if part[:1].isalpha() else known) + part
    mathml = convert(latex, xmlns="")
    if "\\" in mathml:
        raise ValueError(latex)
    return mathml


def math(piece: list[Element], display: bool) -> str:
    whole = Element("math", {"displaystyle": "true"} if display else {})
    whole.extend(piece)
    return ElementTree.tostring(whole, encoding="unicode")


def tidy(row: Element) -> None:
    """Set spaces, limits, accents and large delimiters as LaTeX has them."""
    for element in list(row.iter()):
        if element.tag in LIMITS and element[0].text in HAVE_LIMITS:
            element.tag = LIMITS[element.tag]
        elif element.tag == "mover" and element[1].text in ACCENTS:
            element.set("accent", "true")
            element[1].text = ACCENTS[element[1].text]
        elif element.tag in ("mi", "mo"):
            tidy_symbol(element)
        for place, part in reversed(list(enumerate(element))):
            tidy_part(element, place, part)


def tidy_symbol(symbol: Element) -> None:
    if symbol.tag == "mi" and symbol.text == "~":
        symbol.text = "∼"
    text = symbol.text or ""
    if text in SPACES:
        symbol.tag = "mo"
        symbol.attrib |= dict(zip(("lspace", "rspace"), SPACES[text], strict=True))
    if "minsize" in symbol.attrib:  # a large delimiter: browsers stretch only what is a fence
        symbol.attrib |= {"stretchy": "true", "symmetric": "true", "lspace": "0", "rspace": "0"}
    name = unicodedata.name(text, "") if len(text) == 1 else ""
    if name.startswith(GREEK):  # upright; bold is a character of its own, as browsers know it
        if symbol.get("mathvariant", "").startswith("bold"):
            symbol.text = unicodedata.lookup(name.replace(GREEK, BOLD_GREEK))
        symbol.set("mathvariant", "normal")


def tidy_part(row: Element, place: int, part: Element) -> None:
    """Set the space around a part of a row."""
    before = row[place - 1] if place else None
    if row.tag == "msup" and place == 0 and "minsize" in part.attrib:  # alone it does not stretch
        row[0] = Element("mrow")
        row[0].extend([Element("mspace"), part])
    elif part.text == "−" and before is not None and before.text in OPENING:
        part.set("form", "prefix")
    elif row.tag in ("mrow", "msqrt") and part.tag == "mi" and len(part.text or "") > 1:
        # log T, but log(T)
        if place + 1 < len(row) and row[place + 1].tag not in ("mo", "mspace"):
            row.insert(place + 1, Element("mspace", width=THIN))
        if before is not None and before.tag not in ("mo", "mspace"):
            row.insert(place, Element("mspace", width=THIN))


def split_lines(row: Element) -> list[list[Element]]:
    """Split where a line may break: after wide spaces, and before relations outside of brackets."""
    lines: list[list[Element]] = [[]]
    depth = 0
    for element in row:
        text = element.text or ""
        depth += (text in OPENING) - (text in CLOSING)
        if depth == 0 and text in RELATIONS and not all(map(is_space, lines[-1])):
            lines.append([])
        lines[-1].append(element)
        is_empty = all(is_space(part) or (part.text or "") in RELATIONS for part in lines[-1])
        if depth == 0 and is_space(element) and not is_empty:
            lines.append([])
    return [line for line in lines if line]


def is_space(element: Element) -> bool:
    """Return whether this is a space wide enough to break a line at."""
    is_text = element.tag == "mtext" and element.text == "\xa0"
    return is_text or element.get("width") in ("1em", "2em")
