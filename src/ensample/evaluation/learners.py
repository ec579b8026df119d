"""Recipes, experiments and policies as targets: what they would have chosen, row by row.

A recipe is asked one of two questions, and in both its choice in a row depends on earlier rows only:

    progressive   it learns from every row of the log, whoever chose the action: what it is worth as the log's successor
    replay        it learns from those rows only in which a draw of its own agrees with the log (rejection sampling; Li et al.
                  2011), as it would have had to: what it would have earned in place of the log's policy. Rows are
                  taken with probability (pi/p) / max_a (pi/p): contexts in which the two differ less are learned more often

Reference: L. Li, W. Chu, J. Langford and X. Wang, "Unbiased offline evaluation of contextual-bandit-based news article
recommendation algorithms", WSDM 2011.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ensample.arms import FiniteArms
from ensample.errors import InvalidArgument, PropensityError
from ensample.evaluation.logged import LoggedData, LogRows
from ensample.evaluation.targets import Target, as_target
from ensample.experiments.core import mixture_of
from ensample.experiments.events import Learned
from ensample.experiments.experiment import Experiment
from ensample.experiments.features import Features
from ensample.experiments.settings import Settings
from ensample.experiments.state import State
from ensample.extras import package
from ensample.plain_data import plain_context
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe
from ensample.types import FloatArray

Question: TypeAlias = Literal["progressive", "replay"]
KNOWN = "and knows their rewards: give rows that are new to it"
PERHAPS = "if the policy has learned from rows of this log, it knows their rewards: give rows that are new to it"
AT_ONCE = 100_000  # rows
LOOKED_UP = (
    300  # rows of a log, about, whose decisions are looked up in the storage of an experiment
)


class AskedRow(NamedTuple):
    """One row as an experiment is asked it."""

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
        settings = Settings.checked("evaluated", None, features, None, recipe, floor, None, seed)
        self.state = State(settings)
        self.question = question
        self.draws = np.random.default_rng([seed, 1])  # apart from those of the recipe

    @property
    def name(self) -> str:
        return f"{short(self.state.settings.recipe)}, {self.question}"

    def probabilities(self, rows: LogRows) -> FloatArray:
        found = np.zeros(rows.offered.shape)
        for place, row in enumerate(questions(rows)):
            shares = found[place]
            shares[row.places] = self.shares(row)
            if self.question == "progressive" or self.agrees(rows, place, shares):
                self.state.apply(
                    Learned(0, [[row.context, row.action, feature_of(row), row.reward]])
                )
        return found

    def shares(self, row: AskedRow) -> FloatArray:
        """The probability of each action on offer."""
        by_coordinate, learner = self.state.rows(row.context, row.names, row.features)
        advice = learner.advise(self.state.round, by_coordinate)
        self.state.featuriser.cut(self.state.mark)  # what was only looked at is not seen yet
        if advice.weights is None:
            raise PropensityError(
                f"the propensities of {self.state.settings.recipe!r} have no closed form"
            )
        return np.array(mixture_of(self.state, row.names).propensities(advice.weights))

    def agrees(self, rows: LogRows, place: int, shares: FloatArray) -> bool:
        """Accept a row with probability proportional to pi/p: then its action is a draw of pi."""
        if rows.propensities is None:
            raise InvalidArgument(
                "question", "replay", "a log with the propensities of all actions on offer"
            )
        logged, chosen = rows.propensities[place], rows.chosen[place]
        if (shares[logged <= 0.0] > 0.0).any():
            return False  # nothing bounds pi/p: no row can be taken for a draw
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
        for place, row in enumerate(questions(rows)):
            offer = (
                row.names
                if row.features is None
                else {name: row.features.get(name) for name in row.names}
            )
            known = self.experiment.propensities(row.context, offer)
            if known is None:
                raise PropensityError(
                    f"the propensities of {self.experiment!r} have no closed form"
                )
            found[place, row.places] = [known[name] for name in row.names]
        return found

    def caution(self, data: LoggedData) -> str:
        """Return a warning where the experiment has learned from rows of the log, or may have."""
        if not self.experiment.version:
            return ""
        if {"id", "experiment"} <= set(data.columns):
            own, known = self._known_rows(data)
            if known:
                rows = f"these {data.count:,} rows"
                if data.count > LOOKED_UP:
                    rows = f"{own:,} rows that were looked up among {rows}"
                return f"{self.experiment.name} has learned from {known:,} of {rows} {KNOWN}"
            if own:
                return ""
        counts = self.experiment.counts
        decided = counts.get("applied", 0) + counts.get("default", 0)
        return (
            PERHAPS if self.experiment.version > decided else ""
        )  # it began with rewards from elsewhere

    def _known_rows(self, data: LoggedData) -> tuple[int, int]:
        """Count rewarded rows of an experiment of this name, and those whose decision this one took: of a sample of the log."""
        polars, own, known = package("polars", "evaluate"), 0, 0
        rewarded = (polars.col("experiment") == self.experiment.name) & polars.col(
            "reward"
        ).is_not_null()
        step = -(-data.count // LOOKED_UP)
        for start in range(0, data.count, AT_ONCE):
            found = (
                data.source.slice(start, AT_ONCE)
                .filter(rewarded)
                .select("id", "action", "propensity")
            )
            rows = found.gather_every(step).collect()
            own += rows.height
            for id, action, propensity in rows.iter_rows():
                decision = self.experiment.decision(id)
                known += decision is not None and (decision.action, decision.propensity) == (
                    action,
                    propensity,
                )
        return own, known


class PolicyTarget(Target):
    """A policy over numbered arms as it is now; the log calls its actions "0", "1", ..."""

    def __init__(self, policy: Policy) -> None:
        if not isinstance(policy.arms, FiniteArms):
            raise InvalidArgument(
                "target", policy, "a policy over FiniteArms; for contexts, an Experiment"
            )
        self.policy = policy

    @property
    def name(self) -> str:
        return f"{type(self.policy.recipe).__name__} after {self.policy.version:,} rewards"

    def probabilities(self, rows: LogRows) -> FloatArray:
        known = self.policy.propensities()
        if not all(name.isdecimal() and int(name) < known.size for name in rows.names):
            raise InvalidArgument(
                "log.action", rows.names[:10], f'the numbers of arms, "0" to "{known.size - 1}"'
            )
        shares = np.where(rows.offered, known[[int(name) for name in rows.names]], 0.0)
        if not np.allclose(shares.sum(axis=1), 1.0):
            raise InvalidArgument(
                "log.offer", rows.names[:10], "all arms of the policy in every row"
            )
        return shares

    def caution(self, data: LoggedData) -> str:
        return PERHAPS if self.policy.version else ""


def short(recipe: Recipe) -> str:
    """A recipe with the fields that are not what they are by default.

    >>> from ensample import EnsembleSampling
    >>> short(EnsembleSampling(size=30))
    'EnsembleSampling(size=30)'
    """
    if not is_dataclass(recipe):
        return repr(recipe)
    told = [
        (item.name, getattr(recipe, item.name))
        for item in fields(recipe)
        if getattr(recipe, item.name) != item.default
    ]
    return f"{type(recipe).__name__}({', '.join(f'{name}={value!r}' for name, value in told)})"


def chosen_target(target: Any, question: Question) -> Target:
    """Whatever can be asked about."""
    if question not in ("progressive", "replay"):
        raise InvalidArgument("question", question, '"progressive" or "replay"')
    if isinstance(target, Recipe):
        return RecipeTarget(target, question)
    if isinstance(target, Experiment):
        return ExperimentTarget(target)
    return PolicyTarget(target) if isinstance(target, Policy) else as_target(target)


def questions(rows: LogRows) -> Iterator[AskedRow]:
    """The rows one by one, with rewards in the log's own units."""
    contexts = rows.raw_contexts()
    rewards = rows.frame["reward"].to_list()
    for place, (context, reward, moment) in enumerate(
        zip(contexts, rewards, rows.raw_features(), strict=True)
    ):
        places = np.flatnonzero(rows.offered[place]).tolist()
        names = tuple(rows.names[number] for number in places)
        yield AskedRow(
            plain_context("log.context", context),
            names,
            places,
            moment,
            rows.names[rows.chosen[place]],
            float(reward),
        )


def feature_of(row: AskedRow) -> Any:
    return None if row.features is None else row.features.get(row.action)
