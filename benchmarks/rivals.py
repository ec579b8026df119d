"""Policies of ours and of other libraries behind one interface, `Player`.

There are three kinds of problems. With `contexts` a context in R^d comes each round, its last entry
1, and each arm has a parameter of its own: ours have a block of features for each arm, Vowpal
Wabbit crosses context and action (`-q CA`), coba has indicators as actions, and the others keep a
model for each arm. With `features` arms stand, have features and share one parameter. `data` are
contexts of a data set, for experiments of ours instead of bare policies.

A maker raises ImportError where its library is not installed.
"""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

import numpy as np

import ensample as es
from ensample.problems.classification import blocks
from ensample.types import FloatArray

OURS = "ensample"


class Player(Protocol):
    """A policy in a loop. The context is None where arms stand and have features."""

    def decide(self, x: FloatArray | None) -> int: ...

    def update(self, arm: int, reward: float) -> None: ...


ForContexts = Callable[[int, int, int], Player]
"""Makes a player from (arms, dim, seed)."""

ForFeatures = Callable[[FloatArray, int], Player]
"""Makes a player from (features of the arms [K, d], seed)."""


class PolicyPlayer:
    """A live policy."""

    def __init__(self, policy: es.Policy, arms: int = 0) -> None:
        self.policy, self.arms = policy, arms

    def decide(self, x: FloatArray | None) -> int:
        self.decision = self.policy.decide(None if x is None else blocks(x[:-1], self.arms))
        assert self.decision.arm is not None
        return self.decision.arm

    def update(self, arm: int, reward: float) -> None:
        self.policy.update(self.decision, reward)


class ExperimentPlayer:
    """An experiment without a floor, so that it is compared by what it chooses itself."""

    def __init__(self, recipe: es.Recipe, features: Any, arms: int, seed: int) -> None:
        names = [str(number) for number in range(arms)]
        options: dict[str, Any] = {"features": features, "floor": 0.0, "seed": seed}
        self.experiment = es.Experiment("benchmark", actions=names, recipe=recipe, **options)

    def decide(self, x: FloatArray | None) -> int:
        assert x is not None
        self.decision = self.experiment.decide(x[:-1].tolist())
        return int(self.decision.action)

    def update(self, arm: int, reward: float) -> None:
        self.experiment.reward(self.decision, reward)


class VowpalPlayer:
    """Vowpal Wabbit with its text format.

    The arm is drawn from the probabilities that it returns.
    """

    def __init__(self, options: str, actions: list[str], seed: int) -> None:
        from vowpalwabbit import Workspace

        self.workspace = Workspace(f"--cb_explore_adf {options} --quiet --random_seed {seed + 1}")
        self.actions, self.rng = actions, np.random.default_rng(seed)

    def decide(self, x: FloatArray | None) -> int:
        shared = [] if x is None else [f"shared |C {vowpal_row(x)}"]
        self.lines = [*shared, *self.actions]
        shares = np.array(self.workspace.predict(self.lines))
        arm = int(self.rng.choice(len(shares), p=shares / shares.sum()))
        self.share = shares[arm]
        return arm

    def update(self, arm: int, reward: float) -> None:
        place = arm + len(self.lines) - len(self.actions)
        self.lines[place] = f"0:{-reward}:{self.share} {self.lines[place]}"
        self.workspace.learn(self.lines)


class BayesianPlayer:
    """An agent of bayesianbandits."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def decide(self, x: FloatArray | None) -> int:
        self.context = np.zeros((1, 1)) if x is None else x[None]
        return int(self.agent.pull(self.context)[0])

    def update(self, arm: int, reward: float) -> None:
        self.agent.select_for_update(arm).update(self.context, np.array([reward]))


class CobaPlayer:
    """A learner of coba."""

    def __init__(self, learner: str, actions: list[tuple[float, ...]], **options: Any) -> None:
        from coba import learners

        self.learner, self.actions = getattr(learners, learner)(**options), actions
        self.numbers = {action: arm for arm, action in enumerate(actions)}

    def decide(self, x: FloatArray | None) -> int:
        self.context = None if x is None else tuple(x.tolist())
        action, self.probability = self.learner.predict(self.context, self.actions)[:2]
        return self.numbers[tuple(action)]

    def update(self, arm: int, reward: float) -> None:
        self.learner.learn(self.context, self.actions[arm], reward, self.probability)


class MabWiserPlayer:
    """A bandit of MABWiser, with a model for each arm. Standing arms see the constant feature 1.

    It needs data before it decides: a row of zeros for each arm.
    """

    def __init__(self, policy: str, arms: int, dim: int, seed: int, **options: float) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(list(range(arms)), getattr(LearningPolicy, policy)(**options), seed=seed)
        self.mab.fit(list(range(arms)), [0.0] * arms, [[0.0] * dim] * arms)

    def decide(self, x: FloatArray | None) -> int:
        self.context = [[1.0] if x is None else x.tolist()]
        return int(self.mab.predict(self.context))

    def update(self, arm: int, reward: float) -> None:
        self.mab.partial_fit([arm], [reward], self.context)


class RiverPlayer:
    """LinUCBDisjoint, river's policy for contexts."""

    def __init__(self, arms: int, seed: int) -> None:
        from river import bandit

        self.policy, self.arms = bandit.LinUCBDisjoint(seed=seed), list(range(arms))

    def decide(self, x: FloatArray | None) -> int:
        assert x is not None
        self.context = dict(enumerate(x.tolist()))
        return int(self.policy.pull(self.arms, context=self.context))

    def update(self, arm: int, reward: float) -> None:
        self.policy.update(arm, self.context, reward)


def vowpal_row(x: FloatArray) -> str:
    return " ".join(f"{place}:{value:.7g}" for place, value in enumerate(x.tolist()))


def vowpal_contexts(options: str) -> ForContexts:
    return lambda arms, dim, seed: VowpalPlayer(
        f"{options} -q CA", [f"|A a{arm}" for arm in range(arms)], seed
    )


def vowpal_features(options: str) -> ForFeatures:
    return lambda features, seed: VowpalPlayer(
        options, [f"|A {vowpal_row(row)}" for row in features], seed
    )


def bayesian_contexts(learner: str, **options: float) -> ForContexts:
    """Give each arm a learner of its own."""

    def make(arms: int, dim: int, seed: int) -> Player:
        import bayesianbandits as bb

        kind = getattr(bb, learner)
        learners = [bb.Arm(arm, learner=kind(**options)) for arm in range(arms)]
        return BayesianPlayer(bb.ContextualAgent(learners, bb.ThompsonSampling(), random_seed=seed))

    return make


def bayesian_features(learner: str, **options: float) -> ForFeatures:
    """Share one learner between all arms."""

    def make(features: FloatArray, seed: int) -> Player:
        import bayesianbandits as bb

        def featurize(X: Any, tokens: Any) -> FloatArray:
            design: FloatArray = features[np.asarray(tokens)].T[None]
            return design  # [contexts, d, arms], with one context that says nothing

        arms = [bb.Arm(arm) for arm in range(len(features))]
        featurizer = bb.FunctionArmFeaturizer(featurize)
        shared = getattr(bb, learner)(**options)
        agent = bb.LipschitzContextualAgent(
            arms, bb.ThompsonSampling(), featurizer, shared, random_seed=seed
        )
        return BayesianPlayer(agent)

    return make


def coba_contexts(learner: str) -> ForContexts:
    return lambda arms, dim, seed: CobaPlayer(
        learner, as_actions(np.eye(arms)), features=[1, "a", "ax"], seed=seed
    )


def coba_features(learner: str, **options: float) -> ForFeatures:
    return lambda features, seed: CobaPlayer(
        learner, as_actions(features), features=["a"], seed=seed, **options
    )


def as_actions(rows: FloatArray) -> list[tuple[float, ...]]:
    return [tuple(row) for row in rows.tolist()]


class Rival(NamedTuple):
    """A policy of a library, and how it is made for each kind of problem.

    None where it cannot play.
    """

    library: str
    name: str
    contexts: ForContexts | None = None
    features: ForFeatures | None = None
    data: ForContexts | None = None


def our_policy(recipe: es.Recipe) -> Rival:
    return Rival(
        OURS,
        f"{type(recipe).__name__}()",
        lambda arms, dim, seed: PolicyPlayer(
            recipe.start(es.ChangingArms(arms * dim), seed=seed, log=None), arms
        ),
        lambda features, seed: PolicyPlayer(
            recipe.start(es.FiniteArms(features), seed=seed, log=None)
        ),
    )


def our_experiment(recipe: es.Recipe, title: str, features: Any) -> Rival:
    def make(arms: int, dim: int, seed: int) -> Player:
        return ExperimentPlayer(recipe, features, arms, seed)

    return Rival(OURS, f"{type(recipe).__name__}(), {title}", data=make)


def vowpal(options: str) -> Rival:
    name = f"--cb_explore_adf {options}".strip()
    contexts = vowpal_contexts(options)
    return Rival("vowpalwabbit", name, contexts, vowpal_features(options), contexts)


def bayesian(learner: str, **options: float) -> Rival:
    contexts = bayesian_contexts(learner, **options)
    shared = bayesian_features(learner, **options)
    return Rival("bayesianbandits", f"ThompsonSampling, {learner}", contexts, shared, contexts)


def mabwiser(policy: str) -> Rival:
    def make(arms: int, dim: int, seed: int) -> Player:
        return MabWiserPlayer(policy, arms, dim, seed)

    return Rival("mabwiser", f"LearningPolicy.{policy}", make)


OWN_FEATURES = {"Disjoint()": es.Disjoint(cap=1024), "hashed, 256": es.Disjoint(hashed=256)}
RIVALS = (
    *map(our_policy, (es.EnsembleSampling(), es.LinUCB(), es.ThompsonSampling())),
    *(
        our_experiment(recipe, title, features)
        for title, features in OWN_FEATURES.items()
        for recipe in (
            es.EnsembleSampling(),
            es.LinUCB(),
            es.ThompsonSampling(),
            es.EpsilonGreedy(),
        )
    ),
    *map(vowpal, ("", "--bag 10", "--bag 100", "--squarecb")),
    bayesian("NormalInverseGammaRegressor"),
    bayesian("EmpiricalBayesNormalRegressor", alpha=1.0, beta=1.0),
    *(
        Rival("coba", name, coba_contexts(name), coba_features(name))
        for name in ("LinTSLearner", "LinUCBLearner")
    ),
    *map(mabwiser, ("LinTS", "LinUCB")),
    Rival("river", "LinUCBDisjoint", lambda arms, dim, seed: RiverPlayer(arms, seed)),
)


def bayesian_agent(features: FloatArray, scale: float) -> Player:
    precision = 1.0 / scale**2
    return bayesian_features("NormalRegressor", alpha=precision, beta=precision)(features, 0)


def coba_learner(features: FloatArray, scale: float) -> Player:
    return coba_features("LinTSLearner", v=scale**2)(features, 0)


def vowpal_bag(features: FloatArray, scale: float) -> Player:
    return vowpal_features("--bag 100")(features, 0)


def mabwiser_bandit(features: FloatArray, scale: float) -> Player:
    return MabWiserPlayer("LinTS", len(features), 1, 0, alpha=scale)


SINGLE_ROUNDS = {
    "bayesianbandits": bayesian_agent,
    "coba": coba_learner,
    "vowpalwabbit --bag": vowpal_bag,
    "mabwiser": mabwiser_bandit,
}
"""Thompson sampling with covariance scale^2 V^-1, or as near to it as a library gets.

MABWiser shares nothing between arms.
"""


def version_of(library: str) -> str | None:
    """Return the version of an installed library.

    Ours may also be on the path without being installed.
    """
    if library == OURS:
        return es.__version__
    try:
        return version(library)
    except ImportError:
        return None
