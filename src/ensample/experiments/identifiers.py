"""Fields of contexts whose texts are all different, as those of an identifier are."""

from collections.abc import Container
from typing import Any

MOST = 21  # texts, all different: more than a category may well begin with
WATCHED = 10_000  # contexts


class TextFields:
    """A counter of the texts of each field, until one comes twice.

    >>> fields = TextFields(most=3)
    >>> [fields.find_identifier({"user": {"id": f"u-{n}"}, "day": "Monday"}, {"user.id", "day"}) for n in range(5)]
    [None, None, 'user.id', None, None]
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.watched = 0
        self._texts: dict[
            str, set[str] | None
        ] = {}  # by the path of a field; None once it is decided

    def find_identifier(self, context: Any, encoded: Container[str]) -> str | None:
        """Return the field whose texts are now known to be too many, once; only fields that are `encoded` count."""
        if self.watched >= WATCHED or type(context) is not dict:
            return None
        self.watched += 1
        return self._search(context, "", encoded)

    def _search(self, values: dict[str, Any], prefix: str, encoded: Container[str]) -> str | None:
        found = None
        for key, value in values.items():
            if type(value) is str:
                path = prefix + key
                if path in encoded and self._note(path, value):
                    found = found or path
            elif type(value) is dict:
                found = self._search(value, f"{prefix}{key}.", encoded) or found
        return found

    def _note(self, path: str, text: str) -> bool:
        """Count a text; return True if it makes too many, all of them different."""
        texts = self._texts.setdefault(path, set())
        if texts is None:
            return False
        if text in texts:
            self._texts[path] = None
            return False
        texts.add(text)
        if len(texts) < self.most:
            return False
        self._texts[path] = None
        return True
