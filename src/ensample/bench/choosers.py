"""Who decides which class a row belongs to, and hears only whether that was right: ours, and other libraries by their defaults.

Ours are experiments without a floor, so that they are compared by what they choose themselves. All have a model of their own
for each class: `Disjoint()`; VW crosses the context with the action (`-q CA`), by hashing as always; bayesianbandits has a
learner for each arm. A maker raises ImportError where its library is not installed.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ensample.experiments.experiment import Experiment
from ensample.experiments.features import Disjoint, Features
from ensample.policies import EnsembleSampling, EpsilonGreedy, LinUCB, Recipe, ThompsonSampling


class Chooser(Protocol):
    """What the loop over a data set needs."""

    def decide(self, context: list[float]) -> int: ...

    def update(self, reward: float) -> None: ...


class Ours:
    """An experiment."""

    def __init__(self, recipe: Recipe, features: Features, classes: int, seed: int) -> None:
        names = [str(number) for number in range(classes)]
        self.experiment = Experiment(
            "bench", actions=names, recipe=recipe, features=features, floor=0.0, seed=seed
        )

    def decide(self, context: list[float]) -> int:
        self.decision = self.experiment.decide(context)
        return int(self.decision.action)

    def update(self, reward: float) -> None:
        self.experiment.reward(self.decision, reward)


class Vowpal:
    """Vowpal Wabbit with its text format; what it draws from is what it says."""

    def __init__(self, how: str, classes: int, seed: int) -> None:
        from vowpalwabbit import Workspace

        self.workspace = Workspace(f"--cb_explore_adf {how} -q CA --quiet --random_seed {seed + 1}")
        self.actions = [f"|A a{number}" for number in range(classes)]
        self.rng = np.random.default_rng(seed)

    def decide(self, context: list[float]) -> int:
        shared = "shared |C " + " ".join(
            f"{place}:{value:.7g}" for place, value in enumerate(context)
        )
        self.lines = [shared, *self.actions]
        shares = np.array(self.workspace.predict(self.lines))
        self.chosen = int(self.rng.choice(len(shares), p=shares / shares.sum()))
        self.share = shares[self.chosen]
        return self.chosen

    def update(self, reward: float) -> None:
        self.lines[self.chosen + 1] = f"0:{-reward}:{self.share} {self.lines[self.chosen + 1]}"
        self.workspace.learn(self.lines)


class Bayesian:
    """Thompson sampling of bayesianbandits with a learner for each arm, one that learns the scale of the noise."""

    def __init__(self, learner: str, options: dict[str, float], classes: int, seed: int) -> None:
        import bayesianbandits as bb

        arms = [
            bb.Arm(number, learner=getattr(bb, learner)(**options)) for number in range(classes)
        ]
        self.agent = bb.ContextualAgent(arms, bb.ThompsonSampling(), random_seed=seed)

    def decide(self, context: list[float]) -> int:
        self.context = np.array([[*context, 1.0]])
        self.chosen = int(self.agent.pull(self.context)[0])
        return self.chosen

    def update(self, reward: float) -> None:
        self.agent.select_for_update(self.chosen).update(self.context, np.array([reward]))


def ours(recipe: Recipe, features: Features) -> Callable[[int, int], Chooser]:
    return lambda classes, seed: Ours(recipe, features, classes, seed)


def vowpal(how: str) -> Callable[[int, int], Chooser]:
    return lambda classes, seed: Vowpal(how, classes, seed)


def bayesian(learner: str, **options: float) -> Callable[[int, int], Chooser]:
    return lambda classes, seed: Bayesian(learner, options, classes, seed)


OWN: dict[str, Any] = {"Disjoint()": Disjoint(cap=1024), "hashed, 256": Disjoint(hashed=256)}
CHOOSERS: dict[str, Callable[[int, int], Chooser]] = {
    **{
        f"{type(recipe).__name__}(), {how}": ours(recipe, features)
        for how, features in OWN.items()
        for recipe in (EnsembleSampling(), LinUCB(), ThompsonSampling(), EpsilonGreedy())
    },
    "VW --bag 10": vowpal("--bag 10"),
    "VW --bag 100": vowpal("--bag 100"),
    "VW --squarecb": vowpal("--squarecb"),
    "bayesianbandits, normal-inverse-gamma": bayesian("NormalInverseGammaRegressor"),
    "bayesianbandits, empirical Bayes": bayesian(
        "EmpiricalBayesNormalRegressor", alpha=1.0, beta=1.0
    ),
}
"""By name: makers from (number of classes, seed)."""
