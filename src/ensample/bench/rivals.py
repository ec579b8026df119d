"""Libraries side by side on two small problems, each through its own decide and update, as it comes.

`contexts`: a context in R^d each round, its last entry 1, and a parameter for each arm: all libraries can play that. Ours have
a block of features for each arm; Vowpal Wabbit crosses context and action; coba has indicators as actions; the others keep a
model for each arm.
`features`: standing arms with features and one parameter, for libraries whose arms can have some. A maker raises ImportError
where its library is not installed.
"""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

import numpy as np

from ensample.arms import ChangingArms, FiniteArms
from ensample.policies import EnsembleSampling, LinUCB, Recipe, ThompsonSampling
from ensample.problems.blocks import blocks
from ensample.types import FloatArray
from ensample.version import __version__

OURS = "ensample"


class Player(Protocol):
    """What a loop needs; the context is None where arms have features and stand."""

    def decide(self, x: FloatArray | None) -> int: ...

    def update(self, arm: int, reward: float) -> None: ...


Make = Callable[[int, int, int], Player]
"""From (arms, dim, seed)."""
MakeStanding = Callable[[FloatArray, int], Player]
"""From (features of the arms [K, d], seed)."""


class OurPlayer:
    """A live policy."""

    def __init__(self, policy: Any, arms: int = 0) -> None:
        self.policy, self.arms = policy, arms

    def decide(self, x: FloatArray | None) -> int:
        self.decision = self.policy.decide(None if x is None else blocks(x[:-1], self.arms))
        return int(self.decision.arm)

    def update(self, arm: int, reward: float) -> None:
        self.policy.update(self.decision, reward)


class VowpalPlayer:
    """Its text format; what it draws from is what it says."""

    def __init__(self, how: str, lines: list[str], seed: int) -> None:
        from vowpalwabbit import Workspace

        self.workspace = Workspace(f"--cb_explore_adf {how} --quiet --random_seed {seed + 1}")
        self.actions = lines
        self.rng = np.random.default_rng(seed)

    def decide(self, x: FloatArray | None) -> int:
        self.lines = (
            self.actions.copy() if x is None else [f"shared |C {vowpal_row(x)}", *self.actions]
        )
        shares = np.array(self.workspace.predict(self.lines))
        arm = int(self.rng.choice(len(shares), p=shares / shares.sum()))
        self.share = shares[arm]
        return arm

    def update(self, arm: int, reward: float) -> None:
        place = arm + len(self.lines) - len(self.actions)
        self.lines[place] = f"0:{-reward}:{self.share} {self.lines[place]}"
        self.workspace.learn(self.lines)


def vowpal_row(x: FloatArray) -> str:
    return " ".join(f"{place}:{value:.7g}" for place, value in enumerate(x.tolist()))


class BayesianPlayer:
    """An agent of bayesianbandits with a learner for each arm, or one for all."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def decide(self, x: FloatArray | None) -> int:
        self.context = np.zeros((1, 1)) if x is None else x[None]
        return int(self.agent.pull(self.context)[0])

    def update(self, arm: int, reward: float) -> None:
        self.agent.select_for_update(arm).update(self.context, np.array([reward]))


class CobaPlayer:
    """A learner of coba."""

    def __init__(self, learner: Any, actions: list[tuple[float, ...]]) -> None:
        self.learner, self.actions = learner, actions
        self.numbers = {action: arm for arm, action in enumerate(actions)}

    def decide(self, x: FloatArray | None) -> int:
        self.context = None if x is None else tuple(x.tolist())
        action, self.probability = self.learner.predict(self.context, self.actions)[:2]
        return self.numbers[tuple(action)]

    def update(self, arm: int, reward: float) -> None:
        self.learner.learn(self.context, self.actions[arm], reward, self.probability)


class MabWiserPlayer:
    """It wants data before it decides: a row of nothing for each arm."""

    def __init__(self, policy: str, arms: int, dim: int, seed: int) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(list(range(arms)), getattr(LearningPolicy, policy)(), seed=seed)
        self.mab.fit(list(range(arms)), [0.0] * arms, [[0.0] * dim] * arms)

    def decide(self, x: FloatArray | None) -> int:
        assert x is not None
        self.context = [x.tolist()]
        return int(self.mab.predict(self.context))

    def update(self, arm: int, reward: float) -> None:
        self.mab.partial_fit([arm], [reward], self.context)


class RiverPlayer:
    """LinUCBDisjoint, its policy for contexts."""

    def __init__(self, arms: int, seed: int) -> None:
        from river import bandit

        self.policy, self.arms = bandit.LinUCBDisjoint(seed=seed), list(range(arms))

    def decide(self, x: FloatArray | None) -> int:
        assert x is not None
        self.context = dict(enumerate(x.tolist()))
        return int(self.policy.pull(self.arms, context=self.context))

    def update(self, arm: int, reward: float) -> None:
        self.policy.update(arm, self.context, reward)


class PeerPolicy(NamedTuple):
    """A policy of a library, and how it is made for each problem; None where it cannot play."""

    library: str
    name: str
    contexts: Make
    features: MakeStanding | None


def ours(recipe: Recipe) -> PeerPolicy:
    return PeerPolicy(
        OURS,
        f"{type(recipe).__name__}()",
        lambda arms, dim, seed: OurPlayer(
            recipe.start(ChangingArms(arms * dim), seed=seed, log=None), arms
        ),
        lambda features, seed: OurPlayer(recipe.start(FiniteArms(features), seed=seed, log=None)),
    )


def vowpal(how: str) -> PeerPolicy:
    return PeerPolicy(
        "vowpalwabbit",
        f"--cb_explore_adf {how}".strip(),
        lambda arms, dim, seed: VowpalPlayer(
            f"{how} -q CA", [f"|A a{arm}" for arm in range(arms)], seed
        ),
        lambda features, seed: VowpalPlayer(
            how, [f"|A {vowpal_row(row)}" for row in features], seed
        ),
    )


def bayesian(learner: str, **options: float) -> PeerPolicy:
    def each(arms: int, dim: int, seed: int) -> Player:
        import bayesianbandits as bb

        kind = getattr(bb, learner)
        return BayesianPlayer(
            bb.ContextualAgent(
                [bb.Arm(arm, learner=kind(**options)) for arm in range(arms)],
                bb.ThompsonSampling(),
                random_seed=seed,
            )
        )

    def shared(features: FloatArray, seed: int) -> Player:
        import bayesianbandits as bb

        def featurize(X: Any, tokens: Any) -> FloatArray:
            """[contexts, d, arms]; the one context says nothing."""
            design: FloatArray = features[np.asarray(tokens)].T[None]
            return design

        return BayesianPlayer(
            bb.LipschitzContextualAgent(
                [bb.Arm(arm) for arm in range(len(features))],
                bb.ThompsonSampling(),
                bb.FunctionArmFeaturizer(featurize),
                getattr(bb, learner)(**options),
                random_seed=seed,
            )
        )

    return PeerPolicy("bayesianbandits", f"ThompsonSampling, {learner}", each, shared)


def coba(learner: str) -> PeerPolicy:
    def made(features: list[Any], actions: list[tuple[float, ...]], seed: int) -> Player:
        from coba import learners

        return CobaPlayer(getattr(learners, learner)(features=features, seed=seed), actions)

    return PeerPolicy(
        "coba",
        learner,
        lambda arms, dim, seed: made(
            [1, "a", "ax"], [tuple(row) for row in np.eye(arms).tolist()], seed
        ),
        lambda features, seed: made(["a"], [tuple(row) for row in features.tolist()], seed),
    )


def mabwiser(policy: str) -> PeerPolicy:
    return PeerPolicy(
        "mabwiser",
        f"LearningPolicy.{policy}",
        lambda arms, dim, seed: MabWiserPlayer(policy, arms, dim, seed),
        None,
    )


def version_of(library: str) -> str | None:
    """Of what is installed; ours plays also where it was only put on the path."""
    if library == OURS:
        return __version__
    try:
        return version(library)
    except ImportError:
        return None


RIVALS = (
    *map(ours, (EnsembleSampling(), LinUCB(), ThompsonSampling())),
    *map(vowpal, ("", "--bag 10", "--squarecb")),
    bayesian("NormalInverseGammaRegressor"),
    bayesian("EmpiricalBayesNormalRegressor", alpha=1.0, beta=1.0),
    *map(coba, ("LinTSLearner", "LinUCBLearner")),
    *map(mabwiser, ("LinTS", "LinUCB")),
    PeerPolicy("river", "LinUCBDisjoint", lambda arms, dim, seed: RiverPlayer(arms, seed), None),
)
