"""Features without a vocabulary: their names are hashed."""

from dataclasses import dataclass

from ensample.checks import whole
from ensample.experiments.features.encoder import EVERYTHING, Encoder, Items
from ensample.experiments.features.murmur import signed
from ensample.experiments.features.vocabulary import FORGETFUL, Vocabulary
from ensample.experiments.plain import PlainDict

REMEMBERED = 100_000  # names whose hash is kept at hand


class Hashed:
    """The columns of hashed names."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._places: dict[str, tuple[int, float]] = {}

    def place(self, feature: str) -> tuple[int, float]:
        """(column, sign)."""
        found = self._places.get(feature)
        if found is None:
            if len(self._places) >= REMEMBERED:
                self._places.clear()
            found = self._places[feature] = signed(feature, self.dim)
        return found


@dataclass(frozen=True)
class Hashing(Encoder):
    """All that is in a context, hashed with signs into `dim` columns, as scikit-learn's `FeatureHasher` does.

    `features=es.Hashing(256)` hashes everything: actions, context and context x action. As a part, as in
    `es.Disjoint(es.Hashing(16))`, it hashes the context alone. Nothing is remembered, so nothing grows; two features may share
    a column.

    >>> import ensample as es
    >>> experiment = es.Experiment("ads", actions=None, features=es.Hashing(64))
    >>> experiment.decide({"page": "sport"}, actions={"shoes": {"price": 80}, "tea": {"price": 4}}).action in ("shoes", "tea")
    True
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole("dim", self.dim, 1, 1 << 20))
        object.__setattr__(self, "_hashed", Hashed(self.dim))

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        hashed: Hashed = self._hashed  # type: ignore[attr-defined]
        totals: dict[int, float] = {}
        names, numbers = EVERYTHING.items(values, FORGETFUL)
        for name, number in zip(names, numbers, strict=True):
            column, sign = hashed.place(name)
            totals[column] = totals.get(column, 0.0) + sign * number
        return Items([f"hash {column}" for column in totals], list(totals.values()))
