"""Settings of an experiment: all that does not change while it runs, and how it is written down."""

import math
from dataclasses import dataclass
from typing import Any

from ensample.checks import check_label, instance, number, sequence, whole
from ensample.codec import describe, rebuild, upgrade, without_modules
from ensample.errors import InvalidArgument, WrongType
from ensample.experiments.differences import OtherSettings, differences
from ensample.experiments.features import Features, as_features
from ensample.experiments.inputs import Actions, as_actions
from ensample.experiments.reward import Reward
from ensample.policies.ensemble_sampling import EnsembleSampling
from ensample.policies.recipe import Recipe
from ensample.randomness import drawn_seed, seed_of_stream
from ensample.version import LIVE_NUMBERS

PARTS = ("features", "reward", "recipe")


@dataclass(frozen=True)
class Settings:
    """Checked settings of an experiment."""

    name: str
    actions: Actions | None  # at the start; None where they come with each decision
    features: Features
    reward: Reward
    recipe: Recipe
    floor: float
    baseline: tuple[str, float] | None
    seed: int
    stream: str | None = None  # of the seed; None in logs up to release 0.2, which had one stream

    @classmethod
    def created(cls, name: Any, *, seed: object = None, **parts: Any) -> "Settings":
        """Return the settings of a new experiment, with a seed that is drawn unless it is given."""
        seed = drawn_seed() if seed is None else seed
        settings = cls.checked(name=name, seed=seed, stream=name, **parts)
        settings.check_together()
        check_label("name", settings.name)  # names of earlier versions are as they are
        for action in settings.actions or ():
            check_label("actions", action)
        return settings

    @classmethod
    def checked(
        cls,
        *,
        name: object,
        actions: Any = None,
        features: object = None,
        reward: object = None,
        recipe: object = None,
        floor: object = 0.02,
        baseline: object = None,
        seed: object = 0,
        stream: str | None = None,
    ) -> "Settings":
        """Check settings, each by itself."""
        if not isinstance(name, str):
            raise WrongType("name", name, "the name of the experiment")
        if not 0 < len(name) <= 200:
            raise InvalidArgument("name", name, "a name of 1 to 200 characters")
        reward = Reward() if reward is None else reward
        recipe = EnsembleSampling() if recipe is None else recipe
        return cls(
            name,
            None if actions is None else as_actions("actions", actions),
            as_features(features),
            instance("reward", reward, Reward, "the rules of rewards, such as Reward(0, 1)"),
            instance("recipe", recipe, Recipe, "a recipe such as EnsembleSampling()"),
            number("floor", floor, 0.0, 1.0),
            checked_baseline(baseline),
            whole("seed", seed, 0),
            stream,
        )

    @property
    def stream_seed(self) -> int:
        """The seed of all that is drawn, by the policy and for floor and holdout.

        Experiments of equal seeds would draw equal numbers in equal rounds, and each other's
        holdouts: names tell them apart.
        """
        return self.seed if self.stream is None else seed_of_stream(self.seed, self.stream)

    def check_together(self) -> None:
        """Raise unless the settings fit together."""
        check_range(self.reward, self.recipe)
        if self.baseline is None or self.actions is None:
            return
        if self.baseline[0] not in self.actions:
            expected = f"one of the actions {', '.join(self.actions)}"
            raise InvalidArgument("baseline", self.baseline[0], expected)

    def described(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "actions": self.actions,
            "features": describe(self.features),
            "reward": describe(self.reward),
            "recipe": describe(self.recipe),
            "floor": self.floor,
            "baseline": None if self.baseline is None else list(self.baseline),
            "seed": self.seed,
            "stream": self.stream,
        }

    @classmethod
    def rebuilt(
        cls, description: dict[str, Any], given: "dict[str, Any] | None" = None
    ) -> "Settings":
        """Return the settings of plain data: the inverse of `described`.

        What is `given` must be what is described; it may be what cannot be written down.
        """
        given = {name: value for name, value in (given or {}).items() if value is not None}
        description = {**description, "recipe": upgrade(description["recipe"])}
        missing = [name for name in PARTS if name not in given]
        made = {name: rebuild(description[name], name) for name in missing}
        settings = cls.checked(**(description | made | given))
        mine = settings.described()
        found = []
        for name in given:
            ours, theirs = without_modules(mine[name]), without_modules(description[name])
            found += differences(name, ours, theirs)
        if found:
            raise OtherSettings(found)
        settings.check_together()
        return settings


def numbers_of(settings: Settings) -> int:
    """Return the version of the recipe's family, which the first event records."""
    return LIVE_NUMBERS[settings.recipe.model_family]


def check_range(reward: Reward, recipe: Recipe) -> None:
    """Raise unless the recipe's model can learn every reward that can come."""
    low, high = recipe.model.reward_range
    if not low <= reward.low <= reward.high <= high:
        expected = f"rewards from {low:g} to {high:g} for {recipe.model!r}"
        raise InvalidArgument("reward", reward, expected)
    if reward.rule == "sum" and not (low == -math.inf and high == math.inf):
        expected = f'rule = "first" for {recipe.model!r}: a sum may lie beyond {high:g}'
        raise InvalidArgument("reward", reward, expected)


def checked_baseline(value: Any) -> tuple[str, float] | None:
    """Check the name of an action and its share."""
    expected = "the name of an action and a share, such as ('sport', 0.1)"
    if value is None:
        return None
    pair = sequence("baseline", value, expected)
    if len(pair) != 2 or not isinstance(pair[0], str):
        raise InvalidArgument("baseline", value, expected)
    return pair[0], number("baseline[1]", pair[1], 0.0, 1.0)
