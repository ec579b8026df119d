"""Docstrings on the site: examples are sessions, displayed formulas keep their lines."""

import re
from typing import Any

from griffe import Extension, Object

STAR = re.compile(r"(`[^`]*`)|(?<=\w)\*")  # x* is an optimum, not the beginning of emphasis
EXAMPLE = re.compile(
    r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)(?:\n^>>> .*\n?(?:^(?!\s*$).*\n?)*)*", re.MULTILINE
)


class Sessions(Extension):
    """`>>>` begins a quotation in Markdown; here it begins a session."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""Examples between fences.

    >>> fenced("A sum.\n\n>>> 1 + 1\n2\n\nIt is 2.")
    'A sum.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nIt is 2.'
    """
    parts, end = [], 0
    for found in EXAMPLE.finditer(text):
        parts += [prose(text[end : found.start()]), f"```pycon\n{found[0].rstrip()}\n```\n"]
        end = found.end()
    return "".join([*parts, prose(text[end:])]).rstrip()


def prose(text: str) -> str:
    r"""
    >>> print(prose("x*_t for x*, but `*args`"))
    x\*_t for x\*, but `*args`
    """
    return STAR.sub(lambda found: found[1] or r"\*", text)
