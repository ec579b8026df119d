"""The plain words of claims, typeset: `|theta~|_V <= gamma~_T` with Greek letters, signs and indices, as Markdown."""

import re
from html import escape

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "eta": "η",
    "theta": "θ",
    "lam": "λ",
    "sigma": "σ",
    "xi": "ξ",
    "Phi": "Φ",
    "Sigma": "Σ",
}
LETTER = rf"(?<![A-Za-z])(?:{'|'.join(GREEK)})(?![A-Za-z])"
HAT, TILDE = "\u0302", "\u0303"  # combining: they stand on the letter before
SIGNS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("...", "…"), (" - ", " − "))
INDEX = r"\{[^}]*\}|[A-Za-z0-9]+"
LETTERS = (
    (re.compile(rf"({LETTER})_hat"), rf"\1{HAT}"),
    (re.compile(rf"({LETTER})~"), rf"\1{TILDE}"),
    (re.compile(LETTER), lambda found: GREEK[found[0]]),
    (re.compile(r"sqrt ?(?=[\d(A-Za-zα-ω])"), "√"),
)
INDICES = (
    (
        re.compile(rf"((?<![A-Za-z\d])[A-Za-zα-ωΦ][{HAT}{TILDE}]?|\|)_({INDEX})"),
        lambda found: found[1] + below(found[2]),
    ),
    (re.compile(rf"(?<=\S)\^(-?(?:{INDEX})|\([^)]*\))"), lambda found: above(found[1])),
    (re.compile(r"(?<![A-Za-z])([A-Za-zΦ]\*?)'(?![a-z])"), lambda found: found[1] + above("⊤")),
)
# Private characters stand for tags until the text around them is escaped.
SUB, NO_SUB, SUP, NO_SUP = "\ue000", "\ue001", "\ue002", "\ue003"
TAGS = {SUB: "<sub>", NO_SUB: "</sub>", SUP: "<sup>", NO_SUP: "</sup>"}
SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")


def for_markdown(text: str) -> str:
    r"""
    >>> for_markdown("P(U'Z > theta~_t) <= e^-x & lam")
    'P(U<sup>⊤</sup>Z &gt; θ̃<sub>t</sub>) ≤ e<sup>−x</sup> &amp; λ'
    >>> for_markdown("|x*| <= sqrt(d), a_b < 1")
    '\\|x\\*\\| ≤ √(d), a<sub>b</sub> &lt; 1'
    """
    return tagged(SPECIAL.sub(r"\\\1", escape(typeset(text), quote=False)))


def typeset(text: str) -> str:
    text = symbols(text)
    for pattern, said in INDICES:
        text = pattern.sub(said, text)
    return text


def symbols(text: str) -> str:
    """Letters and signs alone, for text that has no tags.

    >>> symbols("sqrt(lam) >= theta_hat")
    '√(λ) ≥ θ̂'
    """
    for plain, sign in SIGNS:
        text = text.replace(plain, sign)
    for pattern, said in LETTERS:
        text = pattern.sub(said, text)
    return text


def below(index: str) -> str:
    return f"{SUB}{index.strip('{}')}{NO_SUB}"


def above(index: str) -> str:
    return f"{SUP}{index.strip('{}').replace('-', '−')}{NO_SUP}"


def tagged(text: str) -> str:
    for mark, tag in TAGS.items():
        text = text.replace(mark, tag)
    return text
