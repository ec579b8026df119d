"""The columns of x: given to features in order of first sight, or by a hash of their names.

A vocabulary is part of an experiment's state and, as all of it, a fold of the log: whoever reads
the same decisions in the same order gives the same column to the same feature. What was added since
a mark can be taken back, for a decision that was never written down.
"""

import mmh3

SHARED = 8  # columns for all features that came after the cap
OTHER = "(other)"
REMEMBERED = 100_000  # names whose hash is cached

Entry = tuple[str | None, str]
"""(None, feature) for a column, (field, value) for a value."""


class Vocabulary:
    """Columns 0, 1, 2, ... for features, at most `cap`; the last `SHARED` for all later features.

    >>> seen = Vocabulary(cap=64)
    >>> seen.column("age"), seen.column("device=phone"), seen.column("age")
    (0, 1, 0)
    >>> seen.dim  # with room for more
    16
    """

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.limit = cap - SHARED  # how many features have a column of their own
        self.fixed: int | None = None  # the length of x, once it does not change any more
        self.columns: dict[str, int] = {}
        self.values: dict[str, dict[str, str]] = {}  # of each field: value -> feature
        self.order: list[Entry] = []

    @property
    def dim(self) -> int:
        """The length of x, with room for some more features."""
        return self.fixed or (self.cap if self.full else min(size_for(len(self.columns)), self.cap))

    @property
    def full(self) -> bool:
        """True if no further feature will have a column of its own."""
        return len(self.columns) >= self.limit

    def column(self, feature: str) -> int:
        """Return the place of a feature in x."""
        found = self.columns.get(feature)
        if found is not None:
            return found
        if len(self.columns) >= self.limit:
            return self.limit + murmur3(feature) % SHARED
        self.columns[feature] = place = len(self.columns)
        self.order.append((None, feature))
        return place

    def category(self, field: str, value: str, most: int) -> str:
        """Return the feature `field=value`, or `field=(other)` after `most` other values."""
        values = self.values.setdefault(field, {})
        feature = values.get(value)
        if feature is not None:
            return feature
        if len(values) >= most:
            return f"{field}={OTHER}"
        values[value] = feature = f"{field}={value}"
        self.order.append((field, value))
        return feature

    def freeze(self, dim: int) -> None:
        """Fix the length of x."""
        self.fixed, self.limit = dim, dim - SHARED

    def cut(self, mark: int) -> bool:
        """Take back what came after the first `mark` entries; return True if there was any."""
        if len(self.order) <= mark:
            return False
        for field, name in reversed(self.order[mark:]):
            if field is None:
                self.columns.pop(name, None)
            else:
                self.values.get(field, {}).pop(name, None)
        del self.order[mark:]
        return True

    def restore(self, order: list[Entry], fixed: int | None) -> None:
        """Take over what a snapshot says was seen."""
        if fixed is not None:
            self.freeze(fixed)
        self.order, self.columns, self.values = list(order), {}, {}
        for field, name in order:
            if field is None:
                self.columns[name] = len(self.columns)
            else:
                self.values.setdefault(field, {})[name] = f"{field}={name}"


class ForgetfulVocabulary(Vocabulary):
    """The vocabulary where names are hashed: nothing is noted, and every value is told apart."""

    def category(self, field: str, value: str, most: int) -> str:
        return f"{field}={value}"


FORGETFUL = ForgetfulVocabulary(0)


class HashedColumns:
    """The columns and signs of hashed names, as scikit-learn's FeatureHasher has them.

    Reference: A. Appleby, MurmurHash3 (2011), public domain.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._places: dict[str, tuple[int, float]] = {}

    def place(self, feature: str) -> tuple[int, float]:
        """Return (column, sign): |h| mod dim and the sign of h, the hash as a signed number."""
        found = self._places.get(feature)
        if found is None:
            if len(self._places) >= REMEMBERED:
                self._places.clear()
            hash = mmh3.hash(feature.encode("utf-8", "surrogatepass"))
            found = abs(hash) % self.dim, -1.0 if hash < 0 else 1.0
            self._places[feature] = found
        return found


def murmur3(text: str) -> int:
    """Hash a text's UTF-8 bytes to 0 ... 2^32 - 1.

    >>> murmur3("foo")
    4138058784
    """
    return mmh3.hash(text.encode("utf-8", "surrogatepass"), signed=False)


def size_for(count: int) -> int:
    """Return the least of 16, 24, 32, 48, 64, 96, ... that is at least `count`.

    A model grows seldom, and never to twice the need.
    """
    size = 16
    while size < count:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    return size
