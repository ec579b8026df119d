"""Docstrings as the site shows them: examples are sessions, formulas that stand by themselves keep their lines."""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)(?:\n^>>> .*\n?(?:^(?!\s*$).*\n?)*)*", re.MULTILINE)


class Sessions(Extension):
    """`>>>` begins a quotation in Markdown; here it begins a session."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""Examples between fences.

    >>> print(fenced("A sum.\n\n>>> 1 + 1\n2\n\nIt is 2."))
    A sum.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    It is 2.
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text).rstrip()
