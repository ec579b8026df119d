"""What a policy asks of a model. Nothing here knows of ridge regression."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ensample.arms import ChangingArms, Offer
from ensample.calibration import Calibration
from ensample.checks import LARGEST, ORDINARY, are_within
from ensample.errors import InvalidArgument, PropensityError
from ensample.types import FloatArray, IntArray


class Model(ABC):
    """One or many members, each of which scores the arms on offer; all of them learn from an observation.

    What was learned is in `arrays()`, named and of fixed shapes, and nowhere else: they are what snapshots store and what is
    put back where learning was cut short. `count` says how many observations are in them and is the last thing that `learn`
    changes. A model of your own defines `scores`, `learn`, `arrays` and `count`, and says its `size` where it has more than one
    member; the rest follows. One that knows observations by the numbers of their arms alone goes with a recipe that says
    `standing_only = True`.
    """

    size: int | None = 1
    """The number of members; None where every round has a model of its own, drawn afresh: number t in round t."""

    whole: ClassVar[bool] = False
    """True if `learn` changes everything in one call of the core.

    If not, the arrays are copied before it.
    """

    is_fresh: ClassVar[bool] = False
    """True if members are drawn anew each round: they are exchangeable, and the first acts."""

    history: Callable[[], tuple[FloatArray, FloatArray]] | None = None
    """All features and rewards, in the order of the log, where the policy keeps it: it says so when it starts."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of observations learned."""

    @abstractmethod
    def scores(self, member: int, rows: FloatArray) -> FloatArray:
        """What a member expects of each row of features [K, d]: [K]."""

    @abstractmethod
    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        """Take in the reward y of features x [d], or raise and change nothing.

        `arm` is the number of a standing arm, or -1 for features that are none's (never for a `standing_only` recipe). What is
        drawn for it may depend on the round, not on the order.
        """

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What was learned, by name; `learn` changes these arrays in place."""

    def settle(self) -> None:  # noqa: B027 (most models have nothing to do)
        """Do what follows an observation that is already in `arrays()`.

        Doing it twice changes nothing.
        """

    ordinary_feature: ClassVar[float] = ORDINARY
    """The largest magnitude of features that `is_bounded` covers."""

    ordinary_state: ClassVar[float] = LARGEST
    """The largest magnitude in `arrays()` that `is_bounded` covers."""

    def is_bounded(self) -> bool:
        """Return True if no number of ordinary observations can make `arrays()` infinite or NaN.

        Ordinary are features up to `ordinary_feature` and rewards up to `checks.ORDINARY_REWARD`. A model that cannot promise
        it is copied before each observation, checked after it and restored where the check fails.
        """
        return False

    def is_ordinary(self, x: FloatArray) -> bool:
        """Return True if features, of one arm [d] or of all that stand [K, d], are covered by `is_bounded`."""
        return are_within(x, self.ordinary_feature)

    def fault(self) -> str | None:
        """What is impossible about `arrays()`, if anything is: asked when they come from a file."""
        return None

    def _scored(self, member: int, rows: FloatArray) -> FloatArray:
        """`scores`, which may be somebody else's: one for each row."""
        scores = np.asarray(self.scores(member, rows))
        if scores.shape != (len(rows),):
            name = type(self).__name__
            raise InvalidArgument(
                "scores",
                scores,
                f"a number for each of {len(rows)} rows of features from {name}.scores",
            )
        return scores

    def _ranked(self, scores: FloatArray, best: FloatArray) -> None:
        """Raise where the best of some scores is no number: NaN is larger than all, so that looking at the best is enough."""
        if np.isnan(best).any():
            raise InvalidArgument(
                "scores", scores, f"numbers, and no NaN, from {type(self).__name__}.scores"
            )

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        """(arm, features) that a member likes best, the lowest number on ties."""
        if offer.rows is None:
            if isinstance(offer, ChangingArms):
                offer.offer()  # says that the features of the round are missing
            raise InvalidArgument(
                "arms", offer, f"arms that are listed: {type(self).__name__} scores them one by one"
            )
        scores = self._scored(member, offer.rows)
        arm = int(scores.argmax())
        if scores[arm] != scores[arm]:
            self._ranked(scores, scores[arm])
        return arm, offer.rows[arm]

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        """Each member's greedy arm and what it promises: ([m], [m])."""
        if self.size is None:
            raise PropensityError(
                f"{type(self).__name__} has no standing members: their votes cannot be counted"
            )
        if offer.rows is None:
            raise PropensityError(
                f"votes need finitely many arms, here {offer!r}; give the features of the round"
            )
        scores = np.array([self._scored(member, offer.rows) for member in range(self.size)])
        promised = scores.max(axis=1)
        self._ranked(scores, promised)
        return scores.argmax(axis=1), promised

    def at(self, round: int) -> Self:
        """The model as it acts in a round: itself, or one that looks at the same arrays in another way."""
        return self

    @property
    def inflation(self) -> float:
        """What multiplies the perturbations when choosing: 1 where the scale is in the perturbations themselves."""
        return 1.0

    @property
    def calibration(self) -> Calibration | None:
        """What was learned of the scales of noise and parameter; None where they are given."""
        return None

    @property
    def mean(self) -> FloatArray:
        """The centre of the members: [d], a view. Not every model has one."""
        raise AttributeError(f"{type(self).__name__} has no mean")

    @property
    def gram(self) -> FloatArray:
        """V: [d, d], a view. Not every model has one."""
        raise AttributeError(f"{type(self).__name__} has no gram")

    @property
    def inverse(self) -> FloatArray:
        """V^-1: [d, d], a view. Not every model has one."""
        raise AttributeError(f"{type(self).__name__} has no inverse")

    def estimates(self, round: int) -> FloatArray:
        """theta^j of every member, or the one of the coming round: [m, d]. Not every model has them."""
        raise AttributeError(f"{type(self).__name__} has no estimates")


def fault_of_counts(counts: NDArray[Any], most: int) -> str | None:
    """Return what is impossible about counts of observations, if anything is."""
    if counts.size and not (counts.min() >= 0 and counts.max() <= most):
        return f"counts that are not from 0 to {most}"
    return None
