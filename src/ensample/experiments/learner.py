"""The policy inside an experiment: it is shown rows of features and says what it would do, and how likely."""

from typing import Any, NamedTuple

import numpy as np

from ensample.arms import ChangingArms, Rows
from ensample.errors import InvalidArgument, PropensityError
from ensample.member_rules import UniformMember
from ensample.memory import check_memory
from ensample.models import FreshEnsemble, LinearEnsemble, LinearModel
from ensample.policies.decision import UNNUMBERED
from ensample.policies.ledger import LogEntry
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.policies.tensors import Tensors
from ensample.types import FloatArray


class TrustedRows(Rows):
    """Rows that need no checking."""

    def __init__(self, by_coordinate: FloatArray) -> None:
        self.rows = np.ascontiguousarray(by_coordinate.T)
        self.dim = len(by_coordinate)
        self.by_coordinate = by_coordinate.view()
        self.by_coordinate.setflags(write=False)
        self.rows.setflags(write=False)
        self.each = self.rows


class Advice(NamedTuple):
    """What a policy would do in a round."""

    member: int
    arm: int
    weights: list[float] | None  # the probability of each arm, where it is known


def started(recipe: Recipe, dim: int, seed: int) -> Policy:
    """A policy on features that change with every context; it keeps no log, the experiment does."""
    try:
        policy = recipe.start(ChangingArms(dim), seed, log=None)
    except InvalidArgument as error:
        if error.argument == "log":
            fit = "one that looks at no history, such as Logistic(fit='stream')"
        elif error.argument == "arms":
            fit = "one for features that change with the context, such as EnsembleSampling()"
        else:
            raise
        raise InvalidArgument("recipe", recipe, fit) from None
    if isinstance(
        policy.model, FreshEnsemble
    ):  # every decision says its propensity: all members are drawn
        check_memory("size", policy.model.size, policy.model.numbers_drawn(policy.model.size))
    return policy


class Learner:
    """A recipe at work on rows of `dim` features."""

    def __init__(self, recipe: Recipe, dim: int, seed: int) -> None:
        self.recipe, self.dim, self.seed = recipe, dim, seed
        self.policy = started(recipe, dim, seed)
        self._ledger = self.policy._ledger
        plain = type(self.policy) is Policy and isinstance(self.policy._rule, UniformMember)
        self._counts = plain and type(self.policy.model) in (
            LinearEnsemble,
            FreshEnsemble,
        )  # whether votes tell everything

    @property
    def version(self) -> int:
        """The number of rewards learned."""
        return self._ledger.version

    def advise(self, round: int, by_coordinate: FloatArray) -> Advice:
        """Of the columns of [d, K]."""
        if self._counts:
            return self._counted(round, by_coordinate)
        offer = TrustedRows(by_coordinate)
        member, arm, _ = self.policy._choose(round, offer)
        assert arm is not None
        try:
            weights = self.policy._shares(round, offer).tolist()
        except PropensityError:
            weights = None
        return Advice(member, arm, weights)

    def _counted(self, round: int, by_coordinate: FloatArray) -> Advice:
        """By one count of all votes, of which the acting member's is one."""
        model: Any = self.policy.model
        votes = model.at(round).greedy_votes(by_coordinate)
        member = 0 if model.is_fresh else int(self.policy._address.uniform(round) * model.size)
        weights = np.bincount(votes, minlength=by_coordinate.shape[1]) / model.size
        return Advice(member, int(votes[member]), weights.tolist())

    def scores(self, round: int, member: int, by_coordinate: FloatArray) -> list[float]:
        """What a member expects of each column of [d, K], features that were never played in the units in which it acts."""
        model, offer = self.policy.model.at(round), TrustedRows(by_coordinate)
        known = model.in_known_units(offer) if isinstance(model, LinearModel) else offer
        assert known.rows is not None
        return [float(score) for score in model.scores(member, known.rows)]

    def learn(self, round: int, x: FloatArray, y: float) -> None:
        """The reward y of a round's features x."""
        x.setflags(write=False)
        self._ledger.learn(LogEntry(round, UNNUMBERED, x, y, float("nan")))

    def arrays(self) -> Tensors:
        """What was learned."""
        return dict(self.policy.model.arrays())

    def restore(self, tensors: Tensors, version: int) -> None:
        """What a snapshot says was learned."""
        for name, values in self.policy.model.arrays().items():
            values[...] = tensors[name]
        self._ledger.version = version
        self._ledger.update_checks()

    @property
    def is_careful(self) -> bool:
        """True if the model is checked after each observation: ordinary ones might overflow it."""
        return self._ledger.checks_each

    def is_finite(self) -> bool:
        """Return False if a number that was learned is infinite or NaN."""
        return self._ledger.is_finite()
