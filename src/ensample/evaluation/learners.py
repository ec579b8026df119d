"""Recipes, experiments and policies as targets: what they would have chosen, row by row.

A recipe is evaluated in one of two ways, and in both its choice in a row depends on earlier rows
only:

    progressive   it learns from every row of the log, whoever chose the action: what it is worth
                  as the successor of the log's policy
    replay        it learns only from rows in which a draw of its own agrees with the log (rejection
                  sampling; Li et al. 2011): what it would have earned in place of the log's policy.
                  A row is accepted with probability (pi/p) / max_a (pi/p), so contexts in which
                  the two differ less are learned more often

Reference: L. Li, W. Chu, J. Langford and X. Wang, "Unbiased offline evaluation of
contextual-bandit-based news article recommendation algorithms", WSDM 2011.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ensample.arms import FiniteArms
from ensample.errors import InvalidArgument, PropensityError
from ensample.evaluation.log import LoggedData, LogRows
from ensample.evaluation.options import Question
from ensample.evaluation.targets import Target, as_target
from ensample.experiments.core import mixture_of
from ensample.experiments.events import Learned
from ensample.experiments.experiment import Experiment
from ensample.experiments.features import Features
from ensample.experiments.settings import Settings
from ensample.experiments.state import State
from ensample.markup import typed
from ensample.plain_data import plain_context
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.types import FloatArray

KNOWN = "and knows their rewards: give rows that are new to it"
PERHAPS_KNOWN = (
    "if the policy has learned from rows of this log, it knows their rewards: "
    "give rows that are new to it"
)
ROWS_TOGETHER = 100_000
LOOKED_UP = 300  # rows of a log, about, that are looked up in the storage of an experiment


class LoggedDecision(NamedTuple):
    """One row as an experiment decides it."""

    context: Any
    names: tuple[str, ...]  # on offer
    places: list[int]  # of these among all actions
    features: dict[str, Any] | None  # of the actions, by name
    action: str
    reward: float


class RecipeTarget(Target):
    """A recipe that learns while it goes through the log."""

    def __init__(
        self,
        recipe: Recipe,
        question: Question = "progressive",
        features: Features | None = None,
        floor: float = 0.0,
        seed: int = 0,
    ) -> None:
        settings = Settings.checked(
            name="evaluated", features=features, recipe=recipe, floor=floor, seed=seed
        )
        settings.check_together()
        self.state = State(settings)
        self.question = question
        self.draws = np.random.default_rng([seed, 1])  # apart from those of the recipe

    @property
    def name(self) -> str:
        return f"{typed(self.state.settings.recipe)}, {self.question}"

    def probabilities(self, rows: LogRows) -> FloatArray:
        found = np.zeros(rows.offered.shape)
        for place, row in enumerate(logged_decisions(rows)):
            shares = found[place]
            shares[row.places] = self._shares(row)
            if self.question == "progressive" or self.accepts(rows, place, shares):
                features = None if row.features is None else row.features.get(row.action)
                fact = [row.context, row.action, features, row.reward]
                self.state.apply(Learned(0, [fact]))
        return found

    def _shares(self, row: LoggedDecision) -> FloatArray:
        """Return the probability of each action on offer."""
        by_coordinate, learner = self.state.rows(row.context, row.names, row.features)
        advice = learner.advise(self.state.round, by_coordinate)
        self.state.featuriser.cut(self.state.mark)  # forget columns of contexts only looked at
        if advice.weights is None:
            raise no_closed_form(self.state.settings.recipe)
        return np.array(mixture_of(self.state, row.names).propensities(advice.weights))

    def accepts(self, rows: LogRows, place: int, shares: FloatArray) -> bool:
        """Accept a row with probability proportional to pi/p: then its action is a draw of pi."""
        if rows.propensities is None:
            expected = "a log with the propensities of all actions on offer"
            raise InvalidArgument("question", "replay", expected)
        logged, chosen = rows.propensities[place], rows.chosen[place]
        if (shares[logged <= 0.0] > 0.0).any():
            return False  # pi/p has no bound, so no row is a draw of pi
        largest = (shares[logged > 0.0] / logged[logged > 0.0]).max()
        return bool(self.draws.random() * largest < shares[chosen] / logged[chosen])


class ExperimentTarget(Target):
    """An experiment as it is now; it learns nothing."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @property
    def name(self) -> str:
        return f"{self.experiment.name} after {self.experiment.version:,} rewards"

    def probabilities(self, rows: LogRows) -> FloatArray:
        found = np.zeros(rows.offered.shape)
        for place, row in enumerate(logged_decisions(rows)):
            offer: Any = row.names
            if row.features is not None:
                offer = {name: row.features.get(name) for name in row.names}
            known = self.experiment.propensities(row.context, offer)
            if known is None:
                raise no_closed_form(self.experiment)
            found[place, row.places] = [known[name] for name in row.names]
        return found

    def warning(self, data: LoggedData) -> str:
        """Return a warning where the experiment has learned from rows of the log, or may have."""
        if not self.experiment.version:
            return ""
        if {"id", "experiment"} <= set(data.columns):
            own, known = self._known_rows(data)
            if known:
                count = data.summary.rows
                rows = f"these {count:,} rows"
                if count > LOOKED_UP:
                    rows = f"{own:,} rows that were looked up among {rows}"
                return f"{self.experiment.name} has learned from {known:,} of {rows} {KNOWN}"
            if own:
                return ""
        counts = self.experiment.counts
        decided = counts.get("applied", 0) + counts.get("default", 0)
        began_with_rewards_from_elsewhere = self.experiment.version > decided
        return PERHAPS_KNOWN if began_with_rewards_from_elsewhere else ""

    def _known_rows(self, data: LoggedData) -> tuple[int, int]:
        """Count sampled rows of an experiment of this name, and those that this one decided."""
        import polars as pl

        own, known, count = 0, 0, data.summary.rows
        is_own = pl.col("experiment") == self.experiment.name
        for start in range(0, count, ROWS_TOGETHER):
            part = data.source.slice(start, ROWS_TOGETHER)
            rewarded = part.filter(is_own & pl.col("reward").is_not_null())
            sample = rewarded.select("id", "action", "propensity").gather_every(
                -(-count // LOOKED_UP)
            )
            rows = sample.collect()
            own += rows.height
            for id, *fact in rows.iter_rows():
                decision = self.experiment.decision(id)
                known += decision is not None and fact == [decision.action, decision.propensity]
        return own, known


class PolicyTarget(Target):
    """A policy over numbered arms as it is now; the log calls its actions "0", "1", ..."""

    def __init__(self, policy: Policy) -> None:
        if not isinstance(policy.arms, FiniteArms):
            expected = "a policy over FiniteArms; for contexts, an Experiment"
            raise InvalidArgument("target", policy, expected)
        self.policy = policy

    @property
    def name(self) -> str:
        return f"{type(self.policy.recipe).__name__} after {self.policy.version:,} rewards"

    def probabilities(self, rows: LogRows) -> FloatArray:
        known = self.policy.propensities()
        if not all(name.isdecimal() and int(name) < known.size for name in rows.names):
            expected = f'the numbers of arms, "0" to "{known.size - 1}"'
            raise InvalidArgument("log.action", rows.names[:10], expected)
        shares = np.where(rows.offered, known[[int(name) for name in rows.names]], 0.0)
        if not np.allclose(shares.sum(axis=1), 1.0):
            expected = "all arms of the policy in every row"
            raise InvalidArgument("log.offer", rows.names[:10], expected)
        return shares

    def warning(self, data: LoggedData) -> str:
        return PERHAPS_KNOWN if self.policy.version else ""


def as_any_target(target: Any, question: Question) -> Target:
    """Return the target for a recipe, an experiment, a policy, or whatever `as_target` takes."""
    if isinstance(target, Recipe):
        return RecipeTarget(target, question)
    if isinstance(target, Experiment):
        return ExperimentTarget(target)
    return PolicyTarget(target) if isinstance(target, Policy) else as_target(target)


def no_closed_form(policy: object) -> PropensityError:
    return PropensityError(f"the propensities of {policy!r} have no closed form")


def logged_decisions(rows: LogRows) -> Iterator[LoggedDecision]:
    """Yield the rows one by one, with rewards in the log's own units."""
    facts = rows.raw_contexts(), rows.raw_features(), rows.frame["reward"].to_list()
    for place, (context, features, reward) in enumerate(zip(*facts, strict=True)):
        places = np.flatnonzero(rows.offered[place]).tolist()
        names = tuple(rows.names[number] for number in places)
        context = plain_context("log.context", context)
        action = rows.names[rows.chosen[place]]
        yield LoggedDecision(context, names, places, features, action, float(reward))
