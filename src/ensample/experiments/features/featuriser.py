"""From a context and the actions on offer to the rows that a policy chooses from."""

import numpy as np

from ensample.checks import LARGEST, are_within
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.encoders import Context, Encoder, Hashing
from ensample.experiments.features.features import Crosses, Features, Names
from ensample.experiments.features.vocabulary import FORGETFUL, HashedColumns, Vocabulary
from ensample.plain_data import PlainDict
from ensample.types import FloatArray, IntArray

PLANS = 10_000  # that are cached
Owned = list[PlainDict | None]
"""The features of each action on offer."""

Plan = tuple[IntArray, FloatArray | None]
"""The places of the numbers of one action, or of all on offer, and their signs: ([n], [n])."""


class Featuriser:
    """Features with their vocabulary, and a cached plan for each combination of names that came."""

    def __init__(self, features: Features) -> None:
        self.features = features
        self.hashed = None if features.hashed is None else HashedColumns(features.hashed)
        self.seen = Vocabulary(features.cap) if self.hashed is None else FORGETFUL
        self._plans: dict[tuple[Names, Names, Names], Plan] = {}

    @property
    def dim(self) -> int:
        return self.seen.dim if self.hashed is None else self.hashed.dim

    @property
    def mark(self) -> int:
        """How much has been seen."""
        return len(self.seen.order)

    def cut(self, mark: int) -> None:
        """Take back what was seen after a mark."""
        if self.seen.cut(mark):
            self._plans.clear()

    def rows(self, context: Context, names: Names, owned: Owned | None = None) -> FloatArray:
        """Return x of each action on offer as a column: [d, K]. `owned`: features of actions."""
        features, seen, count = self.features, self.seen, len(names)
        first, numbers = features.first(context, seen)
        common = tuple(first)
        if owned is None:
            second, others = features.second(context, None, seen)
            places, signs = self._plan(common, names, tuple(second))
            weights = np.array(features.numbers(numbers, others)).repeat(count)
            if signs is not None:
                weights *= signs
        else:
            parts, values = [], []
            for place, (name, known) in enumerate(zip(names, owned, strict=True)):
                second, others = features.second(context, known, seen)
                columns, signs = self._plan(common, (name,), tuple(second))
                parts.append(columns * count + place)
                own = np.array(features.numbers(numbers, others))
                values.append(own if signs is None else own * signs)
            places, weights = np.concatenate(parts), np.concatenate(values)
        # Names that share a column are added up, in order.
        dim = self.dim
        filled = np.bincount(places, weights, dim * count).astype(np.float64, copy=False)
        return filled.reshape(dim, count)

    def check(self, rows: FloatArray, names: Names) -> None:
        """Raise on a number that is too large, as products and sums of features can be."""
        if are_within(rows, LARGEST):
            return
        place, action = np.argwhere(~(np.abs(rows) <= LARGEST))[0].tolist()
        column = next((name for name, known in self.seen.columns.items() if known == place), place)
        expected = f"a number of at most {LARGEST:g} in size, as are products of features"
        what = f"column {column!r} of action {names[action]!r}"
        raise InvalidArgument(what, float(rows[place, action]), expected)

    def _plan(self, first: Names, actions: Names, second: Names) -> Plan:
        key = first, actions, second
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._new_plan(*key)
        return plan

    def _new_plan(self, first: Names, actions: Names, second: Names) -> Plan:
        """Send number n of action k to `places[n K + k]`, an entry of the flat [d, K]."""
        count = len(actions)
        named = [self.features.names(first, action, second) for action in actions]
        if self.hashed is None:
            found = [[self.seen.column(name) for name in names] for names in named]
            return (np.array(found, np.int64).T * count + np.arange(count)).ravel(), None
        hashed = np.array([[self.hashed.place(name) for name in names] for names in named])
        columns, signs = hashed[:, :, 0].astype(np.int64), hashed[:, :, 1]
        places = (columns.T * count + np.arange(count)).ravel()
        return places, np.ascontiguousarray(signs.T).ravel()


def as_features(value: object) -> Features:
    """Return features; an encoder alone is crossed with the actions."""
    if value is None:
        return Crosses()
    if isinstance(value, Features):
        return value
    if isinstance(value, Hashing):
        return Crosses(hashed=value.dim)
    if isinstance(value, Encoder):
        return Crosses(value)
    expected = "a featuriser such as Crosses(), Disjoint(Columns('age')) or Hashing(256)"
    raise WrongType("features", value, expected)
