"""A recipe at work inside an experiment: it is shown rows of features, advises and learns."""

import math
from functools import cached_property

import numpy as np

from ensample.arms import ChangingArms, Rows
from ensample.errors import InvalidArgument
from ensample.memory import check_memory
from ensample.models import FreshEnsemble, Model
from ensample.models.base import Advice
from ensample.models.learning import Learning
from ensample.models.linear import ThetaModel
from ensample.policies.decision import UNNUMBERED
from ensample.policies.recipe import Recipe
from ensample.policies.tensors import Tensors
from ensample.randomness import Address
from ensample.types import FloatArray


class TrustedRows(Rows):
    """Rows that need no checking, given as the columns of [d, K]."""

    def __init__(self, by_coordinate: FloatArray) -> None:
        self.dim = len(by_coordinate)
        self.by_coordinate = by_coordinate.view()
        self.by_coordinate.setflags(write=False)

    @cached_property
    def rows(self) -> FloatArray:  # type: ignore[override]
        rows = np.ascontiguousarray(self.by_coordinate.T)
        rows.setflags(write=False)
        return rows

    @property
    def each(self) -> FloatArray:  # type: ignore[override]
        return self.rows


def new_model(recipe: Recipe, dim: int, seed: int) -> Model:
    """Return the model of a recipe on features that change with every context."""
    try:
        model = recipe.new_model(ChangingArms(dim), Address(seed), log=None)
    except InvalidArgument as error:
        if error.argument == "log":
            expected = "one that looks at no history, such as Logistic(fit='stream')"
        elif error.argument == "arms":
            expected = "one for features that change with the context, such as EnsembleSampling()"
        else:
            raise
        raise InvalidArgument("recipe", recipe, expected) from None
    if isinstance(model, FreshEnsemble):  # each decision says its propensity: all members are drawn
        check_memory("size", model.size, model.numbers_drawn(model.size))
    return model


class Learner:
    """A recipe at work on rows of `dim` features. It keeps no log: the experiment does."""

    def __init__(self, recipe: Recipe, dim: int, seed: int) -> None:
        self.recipe, self.dim, self.seed = recipe, dim, seed
        self.model = new_model(recipe, dim, seed)
        self._chooser = recipe.chooser(self.model)
        self._learning = Learning(self.model, None)

    @property
    def version(self) -> int:
        """The number of rewards learned."""
        return self._learning.version

    def advise(self, round: int, by_coordinate: FloatArray) -> Advice:
        """Return what the recipe would do with the columns of [d, K] on offer."""
        return self._chooser.advise(round, TrustedRows(by_coordinate))

    def scores(self, round: int, member: int, by_coordinate: FloatArray) -> list[float]:
        """Return what a member expects of each column of [d, K], in the units in which it acts."""
        model, offer = self.model.at(round), TrustedRows(by_coordinate)
        known = model.in_known_units(offer) if isinstance(model, ThetaModel) else offer
        assert known.rows is not None
        return [float(score) for score in model.scores(member, known.rows)]

    def learn(self, round: int, x: FloatArray, y: float) -> None:
        """Take in the reward y of a round's features x."""
        x.setflags(write=False)
        self._learning.learn((round, UNNUMBERED, x, y, math.nan))

    def arrays(self) -> Tensors:
        """Return what was learned."""
        return dict(self.model.arrays())

    def restore(self, tensors: Tensors, version: int) -> None:
        """Go on from what a snapshot says was learned."""
        self._learning.restore(tensors, version)

    @property
    def is_careful(self) -> bool:
        """True if the model is checked after each observation: ordinary ones might overflow it."""
        return self._learning.checks_each

    def is_finite(self) -> bool:
        """Return False if a number that was learned is infinite or NaN."""
        return self._learning.is_finite()
