"""Warnings about contexts that bring more features than a policy can learn from."""

import warnings
from collections.abc import Container
from typing import Any

from ensample.errors import FeatureCapWarning, IdentifierWarning
from ensample.experiments.features import Featuriser

MOST = 21  # texts, all different: more than a category may well begin with
WATCHED = 10_000  # contexts


class FeatureWarnings:
    """Warnings, once each, of columns that are used up and of fields that are identifiers."""

    def __init__(self, name: str, level: int) -> None:
        self.name, self.level = name, level  # frames from here to the call of `decide`
        self._is_full = False
        self._texts = TextFields()

    def look(self, context: Any, featuriser: Featuriser) -> None:
        """Look at the context of a decision that was taken."""
        seen = featuriser.seen
        if not self._is_full and featuriser.hashed is None and seen.fixed is None and seen.full:
            self._is_full = True
            cap = featuriser.features.cap
            warnings.warn(
                f"{self.name}: {len(seen.columns)} features have been seen, and x has {cap} "
                "columns: what is new from now on shares a few. Give fewer columns of the context, "
                "features=Crosses(Columns('age', ...)), or spread all features evenly over as many "
                f"columns, features=Hashing({cap})",
                FeatureCapWarning,
                stacklevel=self.level,
            )
        field = self._texts.find_identifier(context, seen.values)
        if field is not None:
            warnings.warn(
                f"{self.name}: the field {field!r} of contexts had {self._texts.most} texts, all "
                "of them different: each is a column of its own, and what one earns says nothing "
                "of the next. Leave an identifier out, features=Crosses(Columns('age', ...)) with "
                "the fields that count; of a free text make numbers, "
                f"FromTransformer(fitted, {field!r})",
                IdentifierWarning,
                stacklevel=self.level,
            )


class TextFields:
    """A counter of the texts of each field, until one comes twice.

    >>> fields = TextFields(most=3)
    >>> contexts = [{"user": {"id": f"u-{n}"}, "day": "Monday"} for n in range(5)]
    >>> [fields.find_identifier(context, {"user.id", "day"}) for context in contexts]
    [None, None, 'user.id', None, None]
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.watched = 0
        self._texts: dict[str, set[str] | None] = {}  # by path; None once a field is decided

    def find_identifier(self, context: Any, encoded: Container[str]) -> str | None:
        """Return the field whose texts are now too many, once; only `encoded` fields count."""
        if self.watched >= WATCHED or type(context) is not dict:
            return None
        self.watched += 1
        return self._search(context, "", encoded)

    def _search(self, values: dict[str, Any], prefix: str, encoded: Container[str]) -> str | None:
        found = None
        for key, value in values.items():
            if type(value) is str:
                path = prefix + key
                if path in encoded and self._add(path, value):
                    found = found or path
            elif type(value) is dict:
                found = self._search(value, f"{prefix}{key}.", encoded) or found
        return found

    def _add(self, path: str, text: str) -> bool:
        """Add a text; return True if there are too many now, all of them different."""
        texts = self._texts.setdefault(path, set())
        if texts is None:
            return False
        if text not in texts and len(texts) + 1 < self.most:
            texts.add(text)
            return False
        self._texts[path] = None
        return text not in texts
