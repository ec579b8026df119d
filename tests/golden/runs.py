"""Cases of the frozen runs, and the functions that play one case.

Only the public interface is used, so that the cases run unchanged on any implementation of the
kernels. Inputs come from uniform draws, sums by `math.fsum` and square roots: they have the same
bits on every machine.
"""

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ensample as es

HERE = Path(__file__).parent
Fields = dict[str, np.ndarray]

LOG = 1e-12
"""Relative tolerance of numbers that a logarithm gives: that of the C library froze them."""

DERIVED = 1e-9
"""Relative tolerance of numbers that follow from such numbers through matrices or many rounds."""

MOST = 8  # dimensions up to which arrays of the last state are stored beside their hashes
LISTED = 500  # arms up to which all propensities are stored

# ---------------------------------------------------------------------------------------------
# Inputs


@cache
def table(name: str, *shape: int) -> np.ndarray:
    """Return uniform draws on [-1, 1], fixed by a name and a shape."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    values = 2.0 * rng.random(shape) - 1.0
    values.setflags(write=False)
    return values


@cache
def noise(rounds: int) -> np.ndarray:
    """Return noise of standard deviation 0.3 by round and arm (modulo 64): [rounds, 64]."""
    draws = table("noise", rounds, 64, 3)
    total = draws[:, :, 0] + draws[:, :, 1]
    return 0.3 * (total + draws[:, :, 2])  # a sum of three has variance 1


def inner(x: np.ndarray, theta: np.ndarray) -> float:
    """Return x'theta, rounded once."""
    return math.fsum(a * b for a, b in zip(x.tolist(), theta.tolist(), strict=True))


def rows(name: str, count: int, dim: int) -> np.ndarray:
    """Return features for `count` arms, the last but one equal to the third."""
    features = table(name, count, dim).copy()
    features[-2] = features[2]
    return features


def best_row(theta: np.ndarray) -> np.ndarray:
    """Return the arm of the oracle that promises most."""
    features = rows("oracle", 9, 4)
    return features[max(range(len(features)), key=lambda k: (inner(features[k], theta), -k))]


def uneven() -> np.ndarray:
    """Return features of sizes 1 and 1e5."""
    return rows("uneven", 12, 4) * np.array([1.0, 1.0, 1e5, 1e5])


ARMS: dict[str, Callable[[], es.Arms]] = {
    "finite": lambda: es.FiniteArms(rows("finite", 11, 4)),
    "basis": lambda: es.FiniteArms(np.eye(6)),
    "many": lambda: es.FiniteArms(rows("many", 300, 20)),
    "large": lambda: es.FiniteArms(rows("large", 1 << 16, 16)),  # 2^20 features: quantised search
    "uneven": lambda: es.FiniteArms(uneven()),
    "ball": lambda: es.UnitBall(3),
    "box": lambda: es.Box([-1.0, 0.0, 0.0, -0.5], [1.0, 1.0, 0.5, 0.0]),
    "changing": lambda: es.ChangingArms(4),
    "oracle": lambda: es.OracleArms(4, best_row),
}


def theta_for(arms: es.Arms) -> np.ndarray:
    """Return the parameter of the rewards, which are of size 1 for every kind of arms."""
    theta = table("theta", 64)[: arms.dim].copy()
    if isinstance(arms, es.FiniteArms) and abs(arms.features).max() > 1e3:
        theta[2:] *= 1e-5
    return theta


class Rewards:
    """Rewards that depend on the round and the arm only."""

    def __init__(self, arms: es.Arms, rounds: int, clicks: bool) -> None:
        self.theta, self.noise, self.clicks = theta_for(arms), noise(rounds), clicks
        self.known: dict[int, float] = {}

    def __call__(self, decision: es.Decision) -> float:
        """Return the reward of a decision; 0 or 1 where rewards are clicks."""
        arm = decision.arm if decision.standing else None
        mean = self.known.get(arm) if arm is not None else None
        if mean is None:
            mean = inner(decision.features, self.theta)
            if arm is not None:
                self.known[arm] = mean
        y = mean + float(self.noise[decision.round, (decision.arm or 0) % 64])
        return float(y > 0.2) if self.clicks else y


def offered(arms: es.Arms, t: int) -> np.ndarray | None:
    """Return the features of a round where arms change: 3 to 7 arms."""
    if not isinstance(arms, es.ChangingArms):
        return None
    return table("changing", 1024, 7, arms.dim)[t, : 3 + t % 5]


class Root(es.GeneralizedLinear):
    """Canonical link u / sqrt(1 + u^2): not one of the library's, and without exp."""

    low, high = -1.0, 1.0

    def mean(self, u: Any) -> Any:
        return u / np.sqrt(1.0 + u * u)

    def slope(self, u: Any) -> Any:
        square = 1.0 + u * u
        return 1.0 / (square * np.sqrt(square))

    def surplus(self, u: Any, y: Any) -> Any:
        return self.mean(u) - y


def every_third(round: int, size: int, rng: np.random.Generator) -> int:
    """Choose a member by a rule of one's own."""
    return (round // 3 + int(rng.integers(2))) % size


every_third.__module__ = "runs"  # its name in stored snapshots

# ---------------------------------------------------------------------------------------------
# Recipes

ES, PHE, TS = es.EnsembleSampling, es.PerturbedHistory, es.ThompsonSampling
HALF, RADEMACHER, UNIFORM = es.Gaussian(0.5), es.Rademacher(0.5), es.Uniform(0.5)
BINOMIAL, SPHERE = es.CenteredBinomial(4, 0.5), es.Sphere(0.5)

LINEAR: dict[str, es.Recipe] = {
    "default": ES(),
    "default of 12": ES(12),
    "ageing 0": ES(12, ageing=0.0),
    "ageing 0.2": ES(12, ageing=0.2),
    "regularization": ES(12, regularization=0.5),
    "stored": ES(12, fresh=False),
    "scale": ES(12, 0.5),
    "scale, fresh": ES(12, 0.5, fresh=True),
    "scale, fresh, ageing": ES(12, 0.5, fresh=True, ageing=0.1),
    "two scales, fresh": ES(12, initial=HALF, reward=es.Gaussian(0.3), fresh=True),
    "round robin": ES(12, 0.5, member=es.RoundRobin()),
    "sticky": ES(12, 0.5, member=es.StickyMember(7)),
    "optimistic": ES(12, 0.5, member=es.OptimisticMember()),
    "own rule": ES(12, 0.5, member=every_third),
    "round robin, calibrated": ES(12, member=es.RoundRobin()),
    "optimistic, calibrated": ES(12, member=es.OptimisticMember()),
    "intercept": ES(12, intercept=True),
    "intercept, stored": ES(12, intercept=True, fresh=False),
    "intercept, scale": ES(12, 0.5, intercept=True),
    "intercept, scale, fresh": ES(12, 0.5, intercept=True, fresh=True),
    "intercept, optimistic": ES(12, intercept=True, member=es.OptimisticMember()),
    "Rademacher": ES(12, 0.5, 2.0, SPHERE, RADEMACHER),
    "Uniform": ES(12, 0.5, 2.0, UNIFORM, UNIFORM),
    "CenteredBinomial": ES(12, 0.5, 2.0, BINOMIAL, BINOMIAL),
    "Rademacher start": ES(12, 0.5, initial=RADEMACHER),
    "Sphere start": ES(12, 0.5, initial=SPHERE),
    "Rademacher, calibrated": ES(12, reward=es.Rademacher()),
    "Uniform, calibrated": ES(12, reward=es.Uniform(), initial=es.Sphere()),
    "CenteredBinomial, calibrated": ES(12, reward=es.CenteredBinomial(6)),
    "one member": ES(1, 0.5),
    "symmetrized": es.SymmetrizedEnsembleSampling(6, 0.5),
    "sharp": es.SharpEnsembleSampling(12, gamma=0.3),
    "refreshed": es.RefreshedEnsembleSampling(12, 0.5),
    "PHE": PHE(0.5),
    "PHE, calibrated": PHE(),
    "PHE, Rademacher": PHE(0.5, reward=RADEMACHER),
    "PHE, Rademacher, calibrated": PHE(reward=es.Rademacher()),
    "PHE, CenteredBinomial": PHE(0.5, reward=BINOMIAL),
    "PHE, Uniform": PHE(0.5, initial=SPHERE, reward=UNIFORM),
    "Thompson": TS(0.5),
    "Thompson, calibrated": TS(),
    "Thompson, adaptive": TS(adaptive=True),
    "LinUCB": es.LinUCB(0.5),
    "LinUCB, calibrated": es.LinUCB(),
    "LinUCB, closed": es.LinUCB(form="closed", noise=0.3),
    "LinUCB, determinant": es.LinUCB(form="determinant", noise=0.3),
    "LinUCB, watched norm": es.LinUCB(form="determinant", noise=0.3, norm=None),
    "SupLinUCB": es.SupLinUCB(horizon=400, radius=0.5),
    "Kveton": es.KvetonPHE(),
    "bootstrap": es.MultiplierBootstrap(8),
    "Ensemble++": es.EnsemblePlusPlus(8, 0.5),
    "information": es.InformationDirected(12, 0.5),
    "information, calibrated": es.InformationDirected(12),
    "information, fresh": es.InformationDirected(12, fresh=True),
    "greedy": es.Greedy(1.0),
    "greedy, calibrated": es.Greedy(),
    "epsilon-greedy": es.EpsilonGreedy(0.3),
    "epsilon-greedy, decay": es.EpsilonGreedy(1.0, decay=20.0),
    "own link": ES(12, 0.5, 0.5, model=Root(), fresh=False),
    "own link, exact": ES(5, 0.5, 0.5, model=Root("exact"), fresh=False),
}
FADING: dict[str, es.Recipe] = {
    "half life": ES(12, half_life=30),
    "half life, stored": ES(12, half_life=30, fresh=False),
    "half life, scale": ES(12, 0.5, half_life=30),
    "half life, scale, fresh": ES(12, 0.5, half_life=30, fresh=True),
    "half life, laws": ES(12, 0.5, initial=SPHERE, reward=RADEMACHER, half_life=12.5),
    "half life, PHE": PHE(0.5, half_life=30),
    "half life, Thompson": TS(0.5, half_life=30),
    "half life, Thompson, calibrated": TS(half_life=30),
    "half life, LinUCB": es.LinUCB(form="closed", noise=0.3, half_life=30),
    "half life, greedy": es.Greedy(half_life=30),
}
EXACT, STREAM = es.Logistic("exact"), es.Logistic()
LOGISTIC: dict[str, es.Recipe] = {
    "logistic": ES(12, model=STREAM),
    "logistic, stored": ES(12, model=STREAM, fresh=False),
    "logistic, scale, fresh": ES(12, 0.5, 0.3, model=STREAM, fresh=True),
    "logistic, laws": ES(12, 0.5, 0.1, SPHERE, RADEMACHER, model=STREAM),
    "logistic, optimistic": ES(12, model=STREAM, member=es.OptimisticMember()),
    "logistic, half life": ES(12, model=STREAM, half_life=30),
    "logistic, exact": ES(8, model=EXACT),
    "logistic, exact, half life": ES(5, model=EXACT, half_life=30),
    "logistic, Thompson": TS(model=STREAM),
    "logistic, Thompson, exact": TS(model=EXACT),
    "logistic, PHE": PHE(model=STREAM),
    "logistic, PHE, exact": PHE(model=EXACT),
    "logistic, LinUCB": es.LinUCB(model=STREAM),
    "logistic, LinUCB, exact": es.LinUCB(model=EXACT),
    "logistic, greedy": es.Greedy(model=STREAM),
    "logistic, greedy, exact": es.Greedy(model=EXACT),
    "logistic, epsilon-greedy": es.EpsilonGreedy(0.3, model=STREAM),
    "logistic, Kveton": es.KvetonPHE(model=STREAM),
    "EVILL": es.EVILL(),
}


def net(*hidden: int, **options: Any) -> es.Neural:
    """Return small networks with a small memory."""
    return es.Neural(hidden, **{"batch": 16, "memory": 40, **options})


NETWORKS: dict[str, es.Recipe] = {
    "networks": ES(4, model=net(8)),
    "networks, two layers": ES(3, model=net(6, 5, prior=1.0, steps=2)),
    "networks, leaky": ES(4, 0.3, model=net(8, activation="leaky", prior=0.5)),
    "networks, tanh": ES(4, model=net(8, activation="tanh", rate=0.01)),
    "networks, sgd": ES(4, model=net(6, optimizer="sgd", rate=0.02)),
    "networks, sgd, tanh": ES(
        3, 0.5, 2.0, reward=es.Rademacher(), model=net(6, activation="tanh", optimizer="sgd")
    ),
    "networks, clicks": ES(4, model=net(8, loss="logistic")),
    "networks, clicks, tanh": ES(
        4, model=net(6, activation="tanh", loss="logistic", optimizer="sgd", prior=1.0)
    ),
    "networks, optimistic": ES(4, model=net(8), member=es.OptimisticMember()),
    "networks, greedy": es.Greedy(model=net(8)),
    "networks, epsilon-greedy": es.EpsilonGreedy(0.3, model=net(8)),
}
RECIPES = LINEAR | FADING | LOGISTIC | NETWORKS
MODELS = LOGISTIC | NETWORKS  # whose exp and log are about to change

LISTED_ARMS = ("finite", "changing")
SUPPORTED: dict[str, tuple[str, ...]] = {  # kinds of arms, where not all
    **{name: ("finite", "changing", "ball") for name in RECIPES if "LinUCB" in name},
    **{name: LISTED_ARMS for name in RECIPES if "information" in name or "epsilon" in name},
    **{name: LISTED_ARMS for name in NETWORKS},
    "logistic, Thompson, exact": LISTED_ARMS,
    "logistic, PHE, exact": LISTED_ARMS,
    "EVILL": ("finite", "oracle"),
    "SupLinUCB": ("finite", "many", "basis"),
    "Kveton": ("finite", "many", "basis"),
    "bootstrap": ("finite", "many", "basis"),
    "logistic, Kveton": ("finite", "basis"),
}
EVERYWHERE = (  # recipes that are played on every kind of arms
    *("default of 12", "stored", "scale", "scale, fresh", "optimistic", "intercept", "sharp"),
    *("Rademacher", "refreshed", "PHE", "PHE, Uniform", "PHE, Rademacher", "Thompson"),
    *("Thompson, adaptive", "LinUCB", "LinUCB, calibrated", "Ensemble++", "symmetrized"),
    *("greedy, calibrated", "half life", "half life, scale", "half life, LinUCB"),
    *("logistic", "logistic, stored", "logistic, exact", "logistic, LinUCB", "EVILL"),
    *("Thompson, calibrated", "LinUCB, determinant", "own link"),
)
ON_MANY = (  # recipes that are played with 300 arms in 20 dimensions
    *("default of 12", "stored", "scale", "intercept", "PHE, Rademacher", "PHE, calibrated"),
    *("LinUCB, calibrated", "SupLinUCB", "Kveton", "bootstrap", "information, calibrated"),
    *("Thompson, adaptive", "half life", "own link", "sharp", "refreshed", "optimistic"),
)
ON_LARGE = (  # recipes that are played with 65,536 arms in 16 dimensions
    *("default of 12", "stored", "scale", "optimistic", "PHE, calibrated", "Thompson"),
    *("LinUCB", "LinUCB, calibrated", "greedy, calibrated", "epsilon-greedy", "half life"),
)
ON_UNEVEN = (  # recipes that are played with features of sizes 1 and 1e5
    *("default of 12", "stored", "scale", "scale, fresh", "intercept", "PHE", "PHE, calibrated"),
    *("Thompson, adaptive", "LinUCB", "LinUCB, calibrated", "greedy", "greedy, calibrated"),
    *("refreshed", "Ensemble++", "bootstrap", "SupLinUCB", "Kveton", "half life, scale"),
)
LATE = ("default of 12", "stored", "scale, fresh", "PHE, calibrated", "LinUCB, calibrated")


class Live(NamedTuple):
    """A policy that is played for some rounds."""

    recipe: str
    arms: str
    rounds: int
    late: bool = False  # learn rewards five at a time, in reverse order
    seeds: tuple[int, ...] = (0, 1)

    @property
    def name(self) -> str:
        return f"{self.recipe} on {self.arms}{' (late rewards)' if self.late else ''}"


def live_cases(recipes: dict[str, es.Recipe]) -> Iterator[Live]:
    """Yield every recipe on finite and changing arms, and some on all kinds."""
    for name in recipes:
        able = SUPPORTED.get(name, tuple(ARMS))
        yield Live(name, "finite", 150 if name in NETWORKS else 400)
        if "changing" in able:
            yield Live(name, "changing", 100 if name in NETWORKS else 270)
        if name in EVERYWHERE:
            others = (kind for kind in ("ball", "box", "oracle") if kind in able)
            yield from (Live(name, kind, 60 if "exact" in name else 270) for kind in others)
        if name in ON_MANY:
            yield Live(name, "many", 300, seeds=(2,))
        if name in ON_LARGE:
            yield Live(name, "large", 70, seeds=(3,))
        if name in ON_UNEVEN:
            yield Live(name, "uneven", 300)
        if name in LATE:
            yield Live(name, "finite", 300, late=True)
        if name in ("default", "scale", "LinUCB, calibrated"):
            yield Live(name, "basis", 700, seeds=(4,))


LIVE = {case.name: case for case in live_cases(LINEAR | FADING)}
MODEL_LIVE = {case.name: case for case in live_cases(MODELS)}

# ---------------------------------------------------------------------------------------------
# Simulations

THETA = table("theta", 64)[:4]
STUDENT, UNEQUAL = es.StudentNoise(0.3), es.HeteroscedasticNoise(0.1, 0.5)
PROBLEMS: dict[str, es.Problem | es.Family] = {
    "sphere": es.problem("sphere", dim=5, arms=15),
    "sphere 12": es.problem("sphere", dim=12, arms=80),
    "contextual": es.problem("contextual", dim=4, arms=6),
    "ball": es.problem("ball", dim=4),
    "kveton": es.problem("kveton", dim=4, arms=15),
    "linreboot": es.problem("linreboot", dim=4, arms=15),
    "bernoulli": es.problem("bernoulli", arms=8),
    "two-arms": es.problem("two-arms"),
    "trap": es.problem("trap", dim=6),
    "duplicates": es.problem("adversarial-duplicates", dim=4, arms=60, centres=5),
    "rescaled": es.problem("rescaled", dim=4, arms=15, unit=100.0, orders=6.0, shift=1e3),
    "drift": es.problem("drift", dim=4, arms=15),
    "switch": es.problem("switch", dim=4, arms=15, every=100),
    "pricing": es.problem("pricing", arms=8),
    "student": es.problem("sphere", dim=4, arms=15, noise=STUDENT),
    "rademacher": es.problem("sphere", dim=4, arms=15, noise=es.RademacherNoise(0.3)),
    "heteroscedastic": es.problem("sphere", dim=4, arms=15, noise=UNEQUAL),
    "shifted": es.ShiftedProblem(es.FiniteArms(rows("shifted", 15, 4)), THETA, 0.3, shift=20.0),
    "moving": es.MovingProblem(es.FiniteArms(rows("moved", 9, 4)), THETA, 0.3, every=50, step=0.1),
    "logistic": es.problem("logistic", dim=4, arms=12),
    "logistic sphere": es.problem("logistic", dim=4, arms=12, features="sphere"),
    "clicks": es.problem("clicks", dim=4, arms=6, rate=0.2),
    "evill": es.problem("evill"),
    "quadratic": es.problem("quadratic", dim=3, arms=6, height=2.0),
}


class Simulated(NamedTuple):
    """A simulation."""

    recipe: str
    problem: str
    way: str
    horizon: int
    runs: int = 2
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.recipe}, {self.way} on {self.problem} to {self.horizon}"


BOTH = ("default of 12", "stored", "scale", "Thompson", "PHE")  # on families of all kinds
WAYS: dict[str, tuple[str, ...]] = {  # on finitely many arms, where not only "auto"
    **{name: ("lazy", "eager") for name in ("stored", "scale", "round robin", "intercept, stored")},
    **{name: ("lazy", "eager") for name in ("Rademacher", "one member", "Sphere start")},
    "CenteredBinomial": ("lazy", "eager"),
    "intercept, scale": ("live",),
    "intercept, scale, fresh": ("live",),
    "sticky": ("live",),
    "own rule": ("live",),
    "half life, LinUCB": ("live",),
    "own link": (),  # whose rewards lie in [-1, 1]
    "own link, exact": (),
    "Uniform": ("eager",),
}
IN_A_SCENE: dict[str, tuple[str, ...]] = {  # on the ball and on arms that change
    **{name: ("lazy", "eager") for name in ("scale", "stored", "round robin")},
    **{name: ("lazy",) for name in ("default of 12", "scale, fresh", "scale, fresh, ageing")},
    **{name: ("lazy",) for name in ("ageing 0", "two scales, fresh")},
    **{name: ("eager",) for name in ("PHE", "PHE, calibrated", "Thompson", "Rademacher")},
    "Thompson, calibrated": ("eager",),
    "LinUCB": ("live",),
    "half life": ("live",),
}
FAMILIES = (
    *("kveton", "linreboot", "bernoulli", "two-arms", "trap", "duplicates", "rescaled", "drift"),
    *("switch", "pricing", "student", "rademacher", "heteroscedastic", "shifted", "moving"),
)


def simulated_cases() -> Iterator[Simulated]:
    """Yield every linear recipe on a sphere, some on arms that change and on every family."""
    for name in LINEAR | FADING:
        for way in WAYS.get(name, ("auto",)):
            yield Simulated(name, "sphere", way, 120 if way == "live" else 700)
    for name, ways in IN_A_SCENE.items():
        for way in ways:
            horizon = 120 if way == "live" else 500
            yield from (Simulated(name, where, way, horizon) for where in ("contextual", "ball"))
    for where in FAMILIES:
        for name in (*BOTH, "LinUCB, calibrated", "Kveton", "bootstrap", "information, fresh"):
            if where != "trap" or name not in ("Kveton", "bootstrap"):  # which see standing arms
                yield Simulated(name, where, WAYS.get(name, ("auto",))[0], 400)
    for name in ("half life", "half life, scale", "half life, Thompson", "half life, greedy"):
        yield from (Simulated(name, where, "auto", 600) for where in ("drift", "switch", "moving"))
    for name in ("default", *BOTH, "PHE, Rademacher", "LinUCB, determinant", "LinUCB, calibrated"):
        way = WAYS.get(name, ("auto",))[0]
        yield Simulated(name, "sphere 12", way, 3000, 3, seed=7)
    for name in ("scale", "stored", "one member"):
        yield Simulated(name, "sphere 12", "eager", 2500, seed=8)
    for name in ("default of 12", "scale", "PHE", "Thompson, calibrated"):
        yield from (Simulated(name, where, "auto", 2500) for where in ("contextual", "ball"))
    yield Simulated("default of 12", "quadratic", "live", 300)
    yield Simulated("scale", "sphere", "live", 300)


def model_simulated_cases() -> Iterator[Simulated]:
    """Yield recipes with `Logistic` and `Neural`, and linear recipes on logistic problems."""
    for name in LOGISTIC:
        way, horizon = ("live", 120) if name in NO_KERNEL else ("auto", 400)
        yield Simulated(name, "logistic", way, horizon)
    for name in ("logistic", "logistic, stored", "logistic, scale, fresh"):
        yield from (Simulated(name, where, "lazy", 2300) for where in ("clicks", "evill"))
    for name in ("logistic, exact", "EVILL", "logistic, Thompson, exact"):
        yield from (Simulated(name, where, "eager", 400) for where in ("logistic sphere", "evill"))
    for name in (*BOTH, "LinUCB, calibrated"):
        yield Simulated(name, "logistic", WAYS.get(name, ("auto",))[0], 400)
    for name in ("networks", "networks, sgd", "networks, tanh"):
        yield Simulated(name, "quadratic", "live", 100)
    yield Simulated("networks, clicks", "logistic", "live", 100)


NO_KERNEL = (  # recipes that only their live policies simulate
    *("logistic, laws", "logistic, optimistic", "logistic, half life", "logistic, Thompson"),
    *("logistic, exact, half life", "logistic, PHE", "logistic, LinUCB", "logistic, greedy"),
    "logistic, epsilon-greedy",
)
SIMULATED = {case.name: case for case in simulated_cases()}
MODEL_SIMULATED = {case.name: case for case in model_simulated_cases()}


class Sample(NamedTuple):
    """Final regrets of many runs, to be compared as a distribution."""

    recipe: es.Recipe
    control: es.Recipe  # plays by another law, which the comparison has to notice
    problem: str
    way: str
    horizon: int
    frozen: int  # runs in the golden file
    runs: int  # runs that a test compares with them


WILD, CLICKING = es.EpsilonGreedy(0.9, model=STREAM), NETWORKS["networks, clicks"]
SAMPLES: dict[str, Sample] = {
    **{
        name: Sample(LOGISTIC[name], control, where, "auto", 300, 400, 200)
        for name, control, where in (
            ("logistic", ES(12, 4.0, model=STREAM, fresh=True), "logistic"),
            ("logistic, stored", ES(12, 4.0, model=STREAM, fresh=False), "logistic"),
            ("logistic, scale, fresh", ES(12, 4.0, 0.3, model=STREAM, fresh=True), "clicks"),
            ("logistic, exact", ES(8, 4.0, model=EXACT), "logistic"),
            ("logistic, Thompson, exact", TS(4.0, model=EXACT), "logistic"),
            ("logistic, PHE, exact", PHE(4.0, model=EXACT), "logistic"),
            ("EVILL", es.EVILL(scale=4.0), "logistic"),
            ("logistic, LinUCB, exact", es.LinUCB(radius=8.0, model=EXACT), "logistic"),
            ("logistic, Kveton", es.KvetonPHE(6.0, model=STREAM), "logistic"),
        )
    },
    **{
        name: Sample(LOGISTIC[name], WILD, "logistic", "live", 200, 200, 30)
        for name in ("logistic, Thompson", "logistic, half life")
    },
    **{
        name: Sample(NETWORKS[name], es.EpsilonGreedy(0.9), where, "live", 100, 200, 30)
        for name, where in (
            ("networks", "sphere"),
            ("networks, two layers", "sphere"),
            ("networks, tanh", "sphere"),
            ("networks, sgd", "sphere"),
        )
    },
    "networks, clicks": Sample(CLICKING, WILD, "logistic", "live", 100, 200, 30),
}


def sample(recipe: es.Recipe, case: Sample, runs: int, seed: int) -> np.ndarray:
    """Return the final regrets of so many runs: [runs]."""
    where = PROBLEMS[case.problem]
    found = es.simulate(recipe, where, case.horizon, runs, seed, case.way, 1, threads=1)
    return found.regret[:, -1]


# ---------------------------------------------------------------------------------------------
# What is not compared bit for bit


def is_aged(recipe: es.Recipe) -> bool:
    """Return True if perturbations grow with log2 of the number of observations."""
    return getattr(recipe, "ageing_rate", 0.0) > 0.0


def has_log_radius(recipe: es.Recipe) -> bool:
    """Return True if a radius with log1p or log det V multiplies what estimates add to the mean."""
    if isinstance(recipe, es.LinUCB):
        return recipe.radius == "auto" or recipe.form != "constant"
    return isinstance(recipe, es.SharpEnsembleSampling) or getattr(recipe, "adaptive", False)


def has_half_life(recipe: es.Recipe) -> bool:
    """Return True if the past fades by exp(-log 2 / half_life) a round."""
    return recipe.half_life is not None


INEXACT: tuple[tuple[str, Callable[[es.Recipe, str], bool], tuple[str, ...], float], ...] = (
    # (why, where (recipe, kind of arms), which fields by their last parts, relative tolerance)
    ("log det V: row 4 after the matrices of `Ridge`", lambda r, a: True, ("information",), LOG),
    ("log det V at the last refresh", lambda r, a: True, ("last",), LOG),
    ("log2 of counts", lambda r, a: is_aged(r), ("ages",), LOG),
    ("log2 of counts, factorised", lambda r, a: is_aged(r), ("root", "estimates"), DERIVED),
    ("radius with a logarithm", lambda r, a: has_log_radius(r), ("estimates",), LOG),
    (
        "decisions on a ball, which are continuous in all of these",
        lambda r, a: a == "ball" and (is_aged(r) or has_log_radius(r)),
        ("*",),
        DERIVED,
    ),
    ("exp of the half-life, in every number", lambda r, a: has_half_life(r), ("*",), DERIVED),
)
"""All that is compared within a tolerance. Numbers of arms and members are always exact."""


def tolerance(recipe: es.Recipe, arms: str, field: str) -> float:
    """Return the relative tolerance of a field of a live case; 0 where it has to be equal."""
    parts = field.split("/")
    whole = parts[1] in ("arms", "members", "propensities")  # numbers, and shares of votes
    found = [
        least
        for _, applies, fields, least in INEXACT
        if applies(recipe, arms) and ((fields == ("*",) and not whole) or set(fields) & set(parts))
    ]
    return max(found, default=0.0)


INEXACT_REGRET = ("pricing", "ball")
"""Problems whose regret is compared within DERIVED: exp, and arms that follow from logarithms."""


def ridge_parts(state: np.ndarray) -> Fields:
    """Return the parts of a `Ridge` state, numbers of two doubles added up."""
    d = state.shape[1]
    gram, low, inverse, rest = state[:d], state[d : 2 * d], state[2 * d : 3 * d], state[3 * d :]
    return {
        "gram": gram + low,
        "inverse": inverse,
        "target": rest[0] + rest[1],
        "mean": rest[2],
        "seen": rest[3],
        "information": rest[4, :1],
        "prior": rest[5],
        "gain": rest[6],
        "squares": rest[7] + rest[8],
        "fading": rest[9:],
    }


def digest(values: np.ndarray) -> np.ndarray:
    """Return the sha256 of an array with its type and shape: 32 bytes."""
    sha = hashlib.sha256(f"{values.dtype.str} {values.shape}".encode())
    sha.update(np.ascontiguousarray(values).tobytes())
    return np.frombuffer(sha.digest(), np.uint8)


def of_state(policy: es.Policy, where: str, arms: str) -> Fields:
    """Return what is kept of a policy's last state: hashes and, where they are small, arrays."""
    fields: Fields = {}
    for name, values in policy.model.arrays().items():
        array = np.array(values)
        if name == "ridge":
            d = array.shape[1]
            fields[f"{where}/log/information"] = array[3 * d + 4, :1].copy()
            array[3 * d + 4, 0] = 0.0
        inexact = tolerance(policy.recipe, arms, f"{where}/state/{name}")
        if not inexact:
            fields[f"{where}/sha256/{name}"] = digest(array)
        if inexact or (array.shape[-1] <= max(MOST, 12) and policy.arms.dim <= MOST):
            fields[f"{where}/state/{name}"] = array
    return fields


# ---------------------------------------------------------------------------------------------
# Playing


def play_live(case: Live) -> Fields:
    """Return arms, members, estimates, propensities and the last states of a live case."""
    fields: Fields = {}
    for seed in case.seeds:
        fields |= play_policy(case, seed)
    return fields


def takes_clicks(recipe: es.Recipe) -> bool:
    """Return True if rewards are 0 or 1."""
    low, high = recipe.model.reward_range
    return isinstance(recipe, es.KvetonPHE) or (low, high) != (-math.inf, math.inf)


def play_policy(case: Live, seed: int) -> Fields:
    """Return the fields of one seed."""
    arms = ARMS[case.arms]()
    policy = RECIPES[case.recipe].start(arms, seed=seed)
    reward = Rewards(arms, case.rounds, takes_clicks(policy.recipe))
    asked = {1, case.rounds // 3, case.rounds - 1}
    fields: Fields = {}
    decisions: list[es.Decision] = []
    waiting: list[es.Decision] = []
    for t in range(case.rounds):
        features = offered(arms, t)
        if t in asked:
            fields |= answers(policy, features, f"{seed}/", t)
        decision = policy.decide(features)
        decisions.append(decision)
        if not case.late:
            policy.update(decision, reward(decision))
            continue
        waiting.append(decision)
        if len(waiting) == 5:
            policy.update_many(waiting[::-1], [reward(item) for item in waiting[::-1]])
            waiting.clear()
    if decisions[0].arm is None:
        fields[f"{seed}/features"] = np.array([item.features for item in decisions])
    else:
        fields[f"{seed}/arms"] = np.array([item.arm for item in decisions], np.int32)
    fields[f"{seed}/members"] = np.array([item.member for item in decisions], np.int32)
    return fields | of_state(policy, str(seed), case.arms)


def answers(policy: es.Policy, features: np.ndarray | None, where: str, t: int) -> Fields:
    """Return what a policy answers before a round, where it has an answer."""
    fields: Fields = {}
    with suppress(AttributeError, es.EnsampleError):
        fields[f"{where}estimates/{t}"] = np.array(policy.estimates)
    with suppress(AttributeError, es.EnsampleError):
        fields[f"{where}estimates/mean/{t}"] = policy.mean
    with suppress(es.EnsampleError):
        shares = policy.propensities(features)
        if len(shares) > LISTED:
            fields[f"{where}propensities/arms/{t}"] = np.flatnonzero(shares).astype(np.int32)
            shares = shares[shares != 0.0]
        fields[f"{where}propensities/{t}"] = shares
    return fields


def play_simulated(case: Simulated) -> Fields:
    """Return regret at five checkpoints, and how often each arm was played."""
    found = es.simulate(
        RECIPES[case.recipe],
        PROBLEMS[case.problem],
        case.horizon,
        case.runs,
        case.seed,
        case.way,
        5,
        threads=1,
    )
    pulls = {} if found.pulls is None else {"pulls": found.pulls.astype(np.int64)}
    return {"regret": found.regret, "checkpoints": found.checkpoints, **pulls}


STEP_AFTER = 50  # rounds before the update that is compared


def step_arms(recipe: str) -> tuple[str, ...]:
    """Return the kinds of arms on which one update of a model is frozen."""
    only_standing = recipe in NETWORKS or "Kveton" in recipe or recipe == "EVILL"
    return ("finite",) if only_standing else LISTED_ARMS


STEPS = {
    f"{name} on {arms}": (name, arms)
    for name in MODELS
    for arms in step_arms(name)
    if not (arms == "changing" and "exact" in name)  # which look at the log
}


def step_start(recipe: str, arms: str) -> Fields:
    """Return the state of a model after some rounds, as `before/...`."""
    offer = ARMS[arms]()
    policy = RECIPES[recipe].start(offer, seed=5)
    reward = Rewards(offer, STEP_AFTER, takes_clicks(policy.recipe))
    for t in range(STEP_AFTER):
        decision = policy.decide(offered(offer, t))
        policy.update(decision, reward(decision))
    return {f"before/{name}": np.array(values) for name, values in policy.model.arrays().items()}


def step(recipe: str, arms: str, before: Fields) -> Fields:
    """Return the state of a model after one more update, and what it says then.

    The state is put into the arrays of a new policy, as `ensample.load` does.
    """
    offer = ARMS[arms]()
    policy = RECIPES[recipe].start(offer, seed=5)
    model = policy.model
    for name, values in model.arrays().items():
        values[...] = before[f"before/{name}"]
    listed = offer.rows if offer.rows is not None else offered(offer, STEP_AFTER)
    assert listed is not None
    arm, y = 1, 1.0 if takes_clicks(policy.recipe) else 0.7
    model.learn(STEP_AFTER, arm if offer.rows is not None else -1, listed[arm], y)
    fields = {f"after/{name}": np.array(values) for name, values in model.arrays().items()}
    seats = range(model.size) if model.size is not None else (STEP_AFTER + 1,)
    acting = model.at(STEP_AFTER + 1)
    fields["answers/scores"] = np.array([acting.scores(member, listed) for member in seats])
    with suppress(AttributeError):
        fields["answers/mean"] = np.array(model.mean)
    with suppress(AttributeError):
        fields["answers/estimates"] = np.array(acting.estimates(STEP_AFTER + 1))
    return fields


# ---------------------------------------------------------------------------------------------
# Files


def write(name: str, cases: dict[str, Fields]) -> None:
    """Write the fields of all cases to a compressed file: an index in JSON, and bytes."""
    index: dict[str, dict[str, Any]] = {}
    parts: list[bytes] = []
    start = 0
    for case, fields in cases.items():
        index[case] = {}
        for field, values in fields.items():
            data = np.ascontiguousarray(values).tobytes()
            index[case][field] = [values.dtype.str, list(values.shape), start]
            parts.append(data)
            start += len(data)
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(HERE / name, index=text, data=np.frombuffer(b"".join(parts), np.uint8))


@cache
def read(name: str) -> dict[str, Fields]:
    """Return the fields of all cases in a file."""
    with np.load(HERE / name) as file:
        index, data = json.loads(file["index"].tobytes()), file["data"]
    return {
        case: {
            field: np.frombuffer(data.data, dtype, math.prod(shape), start).reshape(shape)
            for field, (dtype, shape, start) in fields.items()
        }
        for case, fields in index.items()
    }
