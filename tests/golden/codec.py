"""Objects in every form that is stored or typed: command-line text, snapshots, events and studies.

Cases are constructors as one types them. Only the public interface and files are used.
"""

import json
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ensample as es

HERE = Path(__file__).parent

MODELS = [
    "Linear()",
    "Logistic(fit='exact')",
    "Logistic()",
    "Neural((8, 4), 'tanh', loss='logistic', prior=0.5, optimizer='sgd', rate=0.01, batch=8, "
    "steps=2, memory=99)",
]
LAWS = [
    "CenteredBinomial(6, 0.5)",
    "Gaussian(0.25)",
    "Gaussian()",
    "Rademacher(2.0)",
    "Sphere(3.0)",
    "Uniform(0.5)",
]
RULES = ["OptimisticMember()", "RoundRobin()", "StickyMember(7)", "UniformMember()"]
SETTING = "Setting(dim=5, arms=20, horizon=1000, noise=0.25, norm=1)"
RECIPES = [
    "EnsembleSampling()",
    "EnsembleSampling(7, 0.5, 2.0, half_life=50.0)",
    "EnsembleSampling(7, initial=Sphere(2.0), reward=Uniform(0.25), member=StickyMember(3))",
    "EnsembleSampling(7, 0.5, 1, intercept=True, fresh=False)",
    "EnsembleSampling(size=20, scale='auto', model=Logistic(fit='exact'))",
    *(f"EnsembleSampling(5, model={model})" for model in MODELS),
    *(f"EnsembleSampling(5, 0.5, reward={law})" for law in LAWS if "Sphere" not in law),
    *(f"EnsembleSampling(5, 0.5, member={rule})" for rule in RULES),
    "EnsemblePlusPlus(5, 0.5, 2.0)",
    "EpsilonGreedy(0.25, 10.0, 2.0, model=Logistic())",
    "EVILL(0.5, 2.0, half_life=30.0)",
    "Greedy(2.0, half_life=30.0, model=Logistic())",
    "InformationDirected(9, 0.5, 2.0, fresh=True)",
    "KvetonPHE(0.75, 2.0)",
    "LinUCB(2.0, 3.0, 'determinant', 0.5, 2.0, 0.125)",
    "LinUCB(2.0, half_life=40.0)",
    "LinUCB(model=Logistic('exact'))",
    "MultiplierBootstrap(9, 0.25, 0.75, 2.0)",
    "PerturbedHistory(0.5, 2.0, Gaussian(0.25), Rademacher())",
    "PerturbedHistory(model=Logistic('exact'))",
    "RefreshedEnsembleSampling(5, 0.5, 3.0, 2.0)",
    "SharpEnsembleSampling(5, 0.5, 0.25, 2.0, 0.125, 3.0)",
    "SupLinUCB(500, 0.5, 2.0)",
    "SymmetrizedEnsembleSampling(6, 0.5, 2.0)",
    "ThompsonSampling(0.5, 2.0, True)",
    "ThompsonSampling(half_life=25.0, model=Logistic())",
]
WITH_SETTING = ["LinUCB.from_theorem(Setting(dim=2, arms=2, horizon=99, noise=0.25, norm=1))"]
TEXTS = {
    "es-37": "EnsembleSampling(37, 0.25)",
    "EnsembleSampling( size = 20, scale=2*noise )": "EnsembleSampling(20, 0.5)",
    "EnsembleSampling(20, scale=-(-2)*noise)": "EnsembleSampling(20, 0.5)",
    "EnsembleSampling(2, member=RoundRobin)": "EnsembleSampling(2, member=RoundRobin())",
    "EnsembleSampling(3, initial=None)": "EnsembleSampling(3)",
    "EnsembleSampling(3, reward=Uniform(noise*0.5))": "EnsembleSampling(3, reward=Uniform(0.125))",
    "EnsembleSampling(scale=auto, model=Logistic(fit=exact))": (
        "EnsembleSampling(model=Logistic('exact'))"
    ),
    "EnsembleSampling(3, model=Neural([8], tanh))": (
        "EnsembleSampling(3, model=Neural((8,), 'tanh'))"
    ),
    "EnsembleSampling(3, model=ensample.Logistic)": "EnsembleSampling(3, model=Logistic())",
    "ensample:LinUCB(2)": "LinUCB(2)",
    "LinUCB": "LinUCB()",
    "LinUCB(1, 1, constant)": "LinUCB(1, 1.0)",
    "LinUCB(radius=radius)": f"LinUCB(theory.radius({SETTING}))",
    "EnsembleSampling.from_theorem": f"EnsembleSampling.from_theorem({SETTING})",
    "EnsembleSampling.from_theorem(member=OptimisticMember())": (
        f"EnsembleSampling.from_theorem({SETTING}, member=OptimisticMember())"
    ),
    "LinUCB.from_theorem": f"LinUCB.from_theorem({SETTING})",
    "ThompsonSampling.from_theorem": f"ThompsonSampling.from_theorem({SETTING})",
    "PerturbedHistory.from_theorem": f"PerturbedHistory.from_theorem({SETTING})",
}
NOISES = [
    "BernoulliNoise()",
    "GaussianNoise(0.25)",
    "HeteroscedasticNoise(0.1, 0.5)",
    "RademacherNoise(0.5)",
    "StudentNoise(0.5)",
]
ARMS = "FiniteArms([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])"
PROBLEMS = [
    "BernoulliArms(3, 0.1, 0.9)",
    "Clicks(3, 4, 0.25, 2.0)",
    "EvillInstances('low')",
    "LogisticBandit(3, 4)",
    "Drift(3, 4, 0.5, 0.125)",
    "AdversarialDuplicates(3, 20, 4, 0.125, 0.5)",
    "Ball(3, 0.5)",
    "Contextual(3, 4, 0.5)",
    "Kveton(3, 4)",
    "LinReBoot(3, 4, 0.5)",
    "RandomSphere(3, 4)",
    *(f"RandomSphere(3, 4, {noise})" for noise in NOISES if "Bernoulli" not in noise),
    "Trap(4, 0.5)",
    "TwoArms(0.5, 4.0, 2.0)",
    "NetworkRewards(3, 4, 5, 0.5)",
    "Pricing(4, 50.0)",
    "Quadratic(3, 4, 5.0, 0.5)",
    "Rescaled(3, 4, 0.5, 2.0, 1.0, 3.0)",
    "Switch(3, 4, 0.5, 10)",
    "Wheel(0.25, 0.5, True)",
    "LinearProblem(UnitBall(2), [0.5, 0.25], 0.5)",
    "LinearProblem(Box([-1.0, 0.0], [1.0, 1.0]), [0.5, 0.25], 0.5)",
    f"LinearProblem({ARMS}, [0.5, 0.25], HeteroscedasticNoise(0.1, 0.5))",
    "ContextualLinearProblem(3, [0.5, 0.25], 0.5)",
    f"LogisticProblem({ARMS}, [0.5, 0.25])",
    f"MovingProblem({ARMS}, [0.5, 0.25], 0.5, every=3, step=0.5, seed=4)",
    f"ShiftedProblem({ARMS}, [0.5, 0.25], 0.5, 2.0)",
    "PricingProblem([1.0, 2.0], [0.5, 0.25])",
]
FEATURES = [
    "Crosses(Columns('age', 'user.visits'), OneHot('kind', most=4), cap=64)",
    "Crosses(hashed=32)",
    "Disjoint(OneHot())",
    "Disjoint(Hashing(16))",
    "Hybrid(Columns('age'), None, cap=32)",
]
REWARDS = [
    "Reward()",
    "Reward(-1, 2.5, '30 min', 0)",
    "Reward(low=0, high=10, wait=60, rule='sum')",
]
ES = {"recipe": "EnsembleSampling"}
TABLES: list[tuple[str, dict[str, Any]]] = [
    ("policy", ES | {"size": 5, "scale": "noise"}),
    ("policy", ES | {"scale": "0.5 radius", "regularization": "auto"}),
    ("policy", ES | {"regularization": 2.0, "scale": "radius"}),
    ("policy", ES | {"initial": "none", "reward": "Uniform"}),
    ("policy", ES | {"reward": {"kind": "Gaussian", "scale": "2 noise"}}),
    ("policy", ES | {"model": {"kind": "Neural", "steps": 2}}),
    ("policy", ES | {"theorem": True, "member": "OptimisticMember"}),
    ("policy", {"recipe": "LinUCB", "theorem": True, "delta": 0.125}),
    ("policy", {"recipe": "LinUCB", "form": "closed", "half_life": "none"}),
    ("policy", {"recipe": {"kind": "Greedy", "regularization": 3.0}}),
    ("policy", {"recipe": "ensample:ThompsonSampling", "scale": 0.5}),
    ("problem", {"family": "sphere", "dim": [2, 3], "noise": {"kind": "StudentNoise", "scale": 1}}),
    ("problem", {"family": "ensample:RandomSphere", "dim": 2}),
    ("problem", {"family": {"kind": "Ball", "dim": 4}, "horizon": [5, 6]}),
    ("problem", {"family": "evill", "variance": "low"}),
]


def made(text: str) -> Any:
    """Return what a case's constructor makes."""
    return eval(text, dict(vars(es)) | {name: getattr(es, name) for name in es.__all__})


def study(**parts: Any) -> Any:
    usual = {"policy": {"recipe": "Greedy"}, "problem": {"family": "sphere", "dim": 2, "arms": 3}}
    return es.Study(name="frozen", horizon=10, runs=1, **(usual | parts))


def in_study(key: str, value: Any) -> list[dict[str, Any]]:
    """Return what a study and the names of its results say of a recipe or a problem."""
    found = study(**{key: value})
    return [
        {
            "table": found.describe()[key],
            "definition": cell.definition,
            "key": cell.key,
            "digest": digest,
            "made": repr(cell.recipe if key == "policy" else cell.family),
        }
        for cell, digest in zip(found.cells, found.digests, strict=True)
    ]


def snapshot(text: str) -> dict[str, Any]:
    """Return the recipe in a snapshot's header."""
    policy = made(text).start(es.FiniteArms(np.eye(2)), seed=3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snapshot")
        policy.save(path)
        assert es.load(path).recipe == policy.recipe
        content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["content"])["recipe"]


def event(**parts: Any) -> dict[str, Any]:
    """Return the settings in the first event of an experiment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.sqlite")
        with es.open_experiment(path, "x", actions=["a", "b"], seed=3, **parts) as experiment:
            settings = experiment.settings
        with es.open_experiment(path) as again:
            assert again.settings == settings
        database = sqlite3.connect(path)
        (text,) = database.execute("SELECT event FROM events ORDER BY seq").fetchone()
        database.close()
    return json.loads(text)["settings"]


def typed(text: str) -> str:
    """Return the recipe that the command line makes of a text."""
    from ensample.cli.policies import contender

    return repr(contender(text).recipe(made(SETTING)))


def frozen() -> dict[str, Any]:
    """Return all forms of all cases."""
    encode: dict[str, tuple[list[str], Callable[[str], Any]]] = {
        "snapshots": (RECIPES + WITH_SETTING, snapshot),
        "features": (FEATURES, lambda text: event(features=made(text))),
        "rewards": (REWARDS, lambda text: event(reward=made(text))),
        "recipes": (RECIPES, lambda text: in_study("policy", made(text))),
        "problems": (PROBLEMS, lambda text: in_study("problem", made(text))),
        "typed": ([*TEXTS, *RECIPES], typed),
    }
    found: dict[str, Any] = {
        name: {text: function(text) for text in cases} for name, (cases, function) in encode.items()
    }
    found["tables"] = {json.dumps(table): in_study(key, table) for key, table in TABLES}
    return found
