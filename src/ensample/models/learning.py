"""Learning that happens whole or not at all, and that keeps every number finite.

A call is written down as pending, learned by the model, entered by `_enter` and then no longer
pending. If an error or Ctrl-C comes between two of these steps, once or again while it is handled,
`settle` finds the pending call and the model's own count of observations: it carries the call to
its end if the model has learned it, and restores what there was before if not. Doing it twice
changes nothing.

No number of a model becomes infinite or NaN. Ordinary observations cannot do that to an ordinary
model (`Model.is_bounded`): they are learned at once, which costs a comparison or two. For all
others the arrays are copied before and checked after, and the copy is put back if the check fails.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ensample.checks import ORDINARY_REWARD, are_within
from ensample.errors import InvalidArgument, NonFiniteError
from ensample.models.base import Model
from ensample.types import FloatArray

Observation = tuple[int, int, FloatArray, float, float]
"""(round, arm, x, y, propensity): arm -1 has no number, and propensity is NaN if it is not
known.
"""

Pending = tuple[int, Sequence[Observation], dict[str, NDArray[np.generic]] | None]
"""The count before a call, its observations, and copies of the arrays unless one call learns
them.
"""


class Learning:
    """Observations on their way into a model. See the module."""

    def __init__(self, model: Model, rows: FloatArray | None) -> None:
        self.model = model
        self.version = 0  # the number of observations learned
        self.pending: Pending | None = None
        self._finite = names_of_finite(model)  # a model of the user's own may have infinities
        if model.is_bounded() and len(self._finite) < len(model.arrays()):
            expected = "features whose squares, and the inverses of these, do not overflow"
            raise InvalidArgument("arms", rows, expected)
        self._has_ordinary_arms = rows is None or model.is_ordinary(rows)
        self.update_checks()

    def update_checks(self) -> None:
        """Note if the model, whose arrays may have changed, needs a check each time."""
        model = self.model
        bounded = self._has_ordinary_arms and model.is_bounded() and has_ordinary_state(model)
        self.checks_each = not bounded
        self._learns_at_once = model.whole and bounded

    def restore(self, arrays: dict[str, NDArray[np.generic]], version: int) -> None:
        """Put arrays that were saved in place of those of the model."""
        for name, values in self.model.arrays().items():
            values[...] = arrays[name]
        self.version = version
        self.update_checks()

    def is_finite(self) -> bool:
        """Return False if an infinity or a NaN is in arrays that had none at first."""
        arrays = self.model.arrays()
        return all(np.isfinite(arrays[name]).all() for name in self._finite)

    def learn(self, observation: Observation) -> None:
        """Take in one observation."""
        model = self.model
        round, arm, x, y, _ = observation
        ordinary = -ORDINARY_REWARD <= y <= ORDINARY_REWARD and (arm >= 0 or model.is_ordinary(x))
        if not (self._learns_at_once and ordinary):
            return self.learn_all((observation,))
        entries = (observation,)
        self.pending = self.version, entries, None
        try:
            model.learn(round, arm, x, y)
            self._enter(entries)
            self.version += 1
            self.pending = None
        except BaseException:
            self.settle()
            raise

    def learn_all(self, entries: Sequence[Observation], rewards: str = "") -> None:
        """Take in observations in this order: all of them or, on any error, none.

        `rewards`: what an error calls the list of their rewards, if they come from one.
        """
        if not entries:
            return
        if not all(self._is_ordinary(entry) for entry in entries):
            self.checks_each, self._learns_at_once = True, False
        self.pending = self.version, entries, copies_of(self.model)
        learned = 0
        try:
            for entry in entries:
                round, arm, x, y, _ = entry
                self.model.learn(round, arm, x, y)
                if self.checks_each:
                    self._check_finite(entry)
                learned += 1
            self._check_count(self.version + len(entries))
        except InvalidArgument as error:
            if rewards and error.argument == "reward":
                name = f"{rewards}[{learned}]"
                raise type(error)(name, error.value, error.expected) from None
            raise
        finally:
            self.settle()
            if self.checks_each:
                self.update_checks()

    def settle(self) -> None:
        """Bring a call that was cut short to its end, or undo it."""
        if self.pending is None:
            return
        before, entries, copies = self.pending
        model, after = self.model, before + len(entries)
        learned = model.count == after
        if learned:
            model.complete()
            learned = copies is None or not self.checks_each or self.is_finite()
        if learned:
            self._drop_after(before)
            self._enter(entries)
            self.version = after
        elif copies is not None:
            for name, values in model.arrays().items():
                values[...] = copies[name]
        self.pending = None

    def _enter(self, entries: Sequence[Observation]) -> None:
        """Note observations that the model has learned."""

    def _drop_after(self, version: int) -> None:
        """Undo `_enter` for all observations but the first `version`, also if it was cut short."""

    def _is_ordinary(self, entry: Observation) -> bool:
        _, arm, x, y, _ = entry
        return abs(y) <= ORDINARY_REWARD and (arm >= 0 or self.model.is_ordinary(x))

    def _check_finite(self, entry: Observation) -> None:
        """Raise if learning the observation has made a number of the model infinite or NaN."""
        if not self.is_finite():
            _, _, x, y, _ = entry
            products = f"squares and products of it and of features from {x.min():g} to {x.max():g}"
            expected = f"one with which all that is learned stays finite: {products} overflow"
            raise NonFiniteError("reward", y, expected)

    def _check_count(self, expected: int) -> None:
        """Raise unless the model, which may be the user's own, has counted what it learned."""
        count = self.model.count
        if count != expected:
            name = type(self.model).__name__
            words = f"{expected}, one more for each observation, in {name}"
            raise InvalidArgument("count", count, words)


def copies_of(model: Model) -> dict[str, NDArray[np.generic]]:
    return {name: values.copy() for name, values in model.arrays().items()}


def names_of_finite(model: Model) -> list[str]:
    """Return the names of the arrays without infinity and NaN."""
    return [name for name, values in model.arrays().items() if np.isfinite(values).all()]


def has_ordinary_state(model: Model) -> bool:
    """Return True if all numbers are so small that ordinary observations come to no overflow."""
    most = model.ordinary_state
    arrays = (values for values in model.arrays().values() if values.size)
    return all(are_within(values.astype(np.float64, copy=False), most) for values in arrays)
