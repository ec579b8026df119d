"""Other libraries on the same problem, each through its own decide and update; the extra `peers` installs them.

All are set up as Thompson sampling with covariance scale^2 V^-1, or as near to it as they get. A maker raises ImportError where
its library is not installed.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ensample.types import FloatArray


class Peer(Protocol):
    """What the loop of a live benchmark needs."""

    def decide(self) -> int: ...

    def update(self, arm: int, reward: float) -> None: ...


class BayesianBandits:
    """A Thompson sampling agent with one learner for all arms."""

    def __init__(self, features: FloatArray, scale: float) -> None:
        import bayesianbandits as bb

        def featurize(X: Any, tokens: Any) -> FloatArray:
            """[contexts, d, arms]; the one context says nothing."""
            design: FloatArray = features[np.asarray(tokens)].T[None]
            return design

        self.agent = bb.LipschitzContextualAgent(
            [bb.Arm(arm) for arm in range(len(features))],
            bb.ThompsonSampling(),
            bb.FunctionArmFeaturizer(featurize),
            bb.NormalRegressor(alpha=1.0 / scale**2, beta=1.0 / scale**2),
            random_seed=0,
        )
        self.context = np.zeros((1, 1))

    def decide(self) -> int:
        return int(self.agent.pull(self.context)[0])

    def update(self, arm: int, reward: float) -> None:
        self.agent.select_for_update(arm).update(self.context, np.array([reward]))


class Coba:
    """Its LinTSLearner."""

    def __init__(self, features: FloatArray, scale: float) -> None:
        from coba.learners import LinTSLearner

        self.learner = LinTSLearner(v=scale**2, features=["a"])
        self.actions = [tuple(row) for row in features.tolist()]
        self.numbers = {action: arm for arm, action in enumerate(self.actions)}

    def decide(self) -> int:
        action, self.probability = self.learner.predict(None, self.actions)[:2]
        return self.numbers[tuple(action)]

    def update(self, arm: int, reward: float) -> None:
        self.learner.learn(None, self.actions[arm], reward, self.probability)


class VowpalBag:
    """`--cb_explore_adf --bag 100`: a hundred bootstrapped models."""

    def __init__(self, features: FloatArray, scale: float) -> None:
        from vowpalwabbit import Workspace

        self.workspace = Workspace("--cb_explore_adf --bag 100 --quiet")
        self.lines = [
            "|a " + " ".join(f"{i}:{value:.9g}" for i, value in enumerate(row))
            for row in features.tolist()
        ]
        self.rng = np.random.default_rng(0)

    def decide(self) -> int:
        shares = np.array(self.workspace.predict(self.lines))
        arm = int(self.rng.choice(len(shares), p=shares / shares.sum()))
        self.share = shares[arm]
        return arm

    def update(self, arm: int, reward: float) -> None:
        labelled = list(self.lines)
        labelled[arm] = f"0:{-reward}:{self.share} {labelled[arm]}"
        self.workspace.learn(labelled)


class MabWiser:
    """Its LinTS keeps a model for each arm and shares nothing between arms, so each arm sees the constant feature 1."""

    def __init__(self, features: FloatArray, scale: float) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(list(range(len(features))), LearningPolicy.LinTS(alpha=scale), seed=0)
        self.mab.fit([0], [0.0], [[1.0]])

    def decide(self) -> int:
        return int(self.mab.predict([[1.0]]))

    def update(self, arm: int, reward: float) -> None:
        self.mab.partial_fit([arm], [reward], [[1.0]])


PEERS: dict[str, Callable[[FloatArray, float], Peer]] = {
    "bayesianbandits": BayesianBandits,
    "coba": Coba,
    "vowpalwabbit --bag": VowpalBag,
    "mabwiser": MabWiser,
}
