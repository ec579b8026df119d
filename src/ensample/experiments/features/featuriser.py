"""A featuriser at work: from a context and the actions on offer to the rows that a policy chooses from."""

import numpy as np

from ensample.checks import LARGEST, are_within
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.features.encoders import Encoder, Hashed, Hashing
from ensample.experiments.features.features import Crosses, Features
from ensample.experiments.features.vocabulary import FORGETFUL, Vocabulary
from ensample.plain_data import PlainDict
from ensample.types import FloatArray, IntArray

PLANS = 10_000  # kept at hand

Names = tuple[str, ...]
Plan = tuple[IntArray, FloatArray | None]
"""Where the numbers of an action, or of all actions on offer, belong, and their signs: ([n], [n])."""


class Featuriser:
    """Keeps the vocabulary, and a plan for each combination of names that came: names to columns, looked up once."""

    def __init__(self, features: Features) -> None:
        self.features = features
        self.hashed = None if features.hashed is None else Hashed(features.hashed)
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

    def rows(
        self,
        context: "PlainDict | list[float | None]",
        names: Names,
        owned: "list[PlainDict | None] | None" = None,
    ) -> FloatArray:
        """x of every action on offer, a column each: [d, K]. `owned`: their features, where any has some."""
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
            for place, (name, values_of) in enumerate(zip(names, owned, strict=True)):
                second, others = features.second(context, values_of, seen)
                columns, signs = self._plan(common, (name,), tuple(second))
                parts.append(columns * count + place)
                own = np.array(features.numbers(numbers, others))
                values.append(own if signs is None else own * signs)
            places, weights = np.concatenate(parts), np.concatenate(values)
        dim = self.dim
        # Names that share a column are added up, in order.
        filled: FloatArray = np.bincount(places, weights, dim * count).astype(
            np.float64, copy=False
        )
        return filled.reshape(dim, count)

    def check(self, rows: FloatArray, names: Names) -> None:
        """Raise on a number of `rows` that is too large: features of context and action are multiplied, and added up."""
        if are_within(rows, LARGEST):
            return
        place, action = np.argwhere(~(np.abs(rows) <= LARGEST))[0].tolist()
        column = next((name for name, known in self.seen.columns.items() if known == place), place)
        expected = f"a number of at most {LARGEST:g} in size, as are products of features"
        raise InvalidArgument(
            f"column {column!r} of action {names[action]!r}", float(rows[place, action]), expected
        )

    def _plan(self, first: Names, actions: Names, second: Names) -> Plan:
        key = first, actions, second
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._made_plan(*key)
        return plan

    def _made_plan(self, first: Names, actions: Names, second: Names) -> Plan:
        """Number n of action k goes to `places[n K + k]`, an entry of the flat [d, K]."""
        count = len(actions)
        named = [self.features.names(first, action, second) for action in actions]
        if self.hashed is None:
            columns = np.array(
                [[self.seen.column(name) for name in names] for names in named], np.int64
            )
            return (columns.T * count + np.arange(count)).ravel(), None
        found = np.array(
            [[self.hashed.place(name) for name in names] for names in named]
        )  # [K, n, 2]
        columns = found[:, :, 0].astype(np.int64)
        return (columns.T * count + np.arange(count)).ravel(), np.ascontiguousarray(
            found[:, :, 1].T
        ).ravel()


def as_features(value: object) -> Features:
    """A featuriser; an encoder alone is crossed with the actions."""
    if value is None:
        return Crosses()
    if isinstance(value, Features):
        return value
    if isinstance(value, Hashing):
        return Crosses(hashed=value.dim)
    if isinstance(value, Encoder):
        return Crosses(value)
    raise WrongType(
        "features",
        value,
        "a featuriser such as Crosses(), Disjoint(Columns('age')) or Hashing(256)",
    )
