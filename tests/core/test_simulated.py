"""Simulated runs against obvious NumPy, which plays the same arms from the same random numbers.

Here are ensembles and histories. Kernels of other recipes are compared with live policies, which
play the same arms (tests/policies) or have the same law (tests/simulation).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import ensample as es
from ensample import _core
from ensample.calibration import Inflation
from ensample.problems.noise import noisy_reward
from ensample.problems.problem import ContextualProblem, FiniteProblem
from ensample.simulation.dispatch import Rngs, RunSettings
from ensample.simulation.options import Law

DIM, ARMS, ROUNDS, LAM = 3, 7, 300, 0.5
WARMUP, OPENING = [2, 5], [0, 1, 3, 4]  # so that V is regular without its prior
PRESCRIBED = [*WARMUP, *OPENING]
GAUSSIAN, UNIFORM, BINOMIAL, SPHERE = (Law(kind, 2, 0.5) for kind in range(4))
ROUND_ROBIN = 1


def problem() -> FiniteProblem:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((ARMS, DIM))
    linear = es.LinearProblem(
        es.FiniteArms(features), rng.standard_normal(DIM), 2.0, warmup=WARMUP, opening=OPENING
    )
    arrays = linear.as_arrays()
    assert isinstance(arrays, FiniteProblem)
    return arrays


def generators(seed: int) -> Rngs:
    return Rngs(*(np.random.default_rng([seed, stream]) for stream in range(4)))


class Simulated(NamedTuple):
    """What a run ends with."""

    regret: np.ndarray
    pulls: np.ndarray
    mean: np.ndarray
    target: np.ndarray


def settings(rounds: int) -> RunSettings:
    checkpoints, stop = np.arange(1, rounds + 1), np.zeros(1, np.int64)
    return RunSettings(LAM, LAM, None, False, False, 0.0, checkpoints, stop)


def simulated(
    kernel: str, seed: int, options: dict[str, Any], faced: Any = None, rounds: int = ROUNDS
) -> Simulated:
    arrays = problem() if faced is None else faced
    return Simulated(*_core.simulate(kernel, arrays, settings(rounds), generators(seed), options))


class Twin:
    """Ridge regression from scratch, and what its choices cost."""

    def __init__(self, seed: int) -> None:
        self.problem, self.rngs = problem(), generators(seed)
        self.X = self.problem.features
        self.seen: list[int] = []
        self.rewards: list[float] = []
        self.losses: list[float] = []

    @property
    def precision(self) -> np.ndarray:
        return LAM * np.eye(DIM) + self.gram

    @property
    def gram(self) -> np.ndarray:
        return self.X[self.seen].T @ self.X[self.seen]

    @property
    def target(self) -> np.ndarray:
        return self.X[self.seen].T @ np.array(self.rewards)

    @property
    def theta(self) -> np.ndarray:
        return np.linalg.solve(self.precision, self.target)

    @property
    def pulls(self) -> np.ndarray:
        return np.bincount(self.seen, minlength=ARMS)

    def observe(self, arm: int) -> float:
        y = self.problem.means[arm] + self.problem.spreads[arm] * self.rngs.noise.standard_normal()
        self.seen.append(arm)
        self.rewards.append(y)
        return float(y)

    def play(self, choose: "Choose", learn: "Learn" = lambda twin, arm, y: None) -> np.ndarray:
        """Return the regret after each round.

        `choose` is called after the warm-up and the opening, `learn` always.
        """
        for i in range(len(WARMUP) + ROUNDS):
            arm = PRESCRIBED[i] if i < len(PRESCRIBED) else choose(self, i - len(WARMUP))
            learn(self, arm, self.observe(arm))
            if i >= len(WARMUP):
                self.losses.append(self.problem.best - self.problem.means[arm])
        return np.cumsum(self.losses)

    def greedy(self, theta: np.ndarray) -> int:
        return int(np.argmax(self.X @ theta))


Choose = Callable[[Twin, int], int]
Learn = Callable[[Twin, int, float], None]


def compare(
    kernel: str, options: dict[str, Any], twin: Twin, regret: np.ndarray, seed: int
) -> None:
    run = simulated(kernel, seed, options)
    np.testing.assert_allclose(run.regret, regret, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(run.pulls, twin.pulls)
    np.testing.assert_allclose(run.mean, twin.theta, rtol=1e-7)
    explores = options.get("epsilon") != 0.0 or options.get("decay") != 0.0
    assert not explores or len(set(twin.seen[len(WARMUP) + len(OPENING) :])) >= 2, (
        "negative control"
    )


SEEDS = pytest.mark.parametrize("seed", [3, 4])


def draw(law: Law, n: int, rng: np.random.Generator) -> float:
    """Draw the sum of n perturbations."""
    if law.kind == GAUSSIAN.kind:
        return float(law.scale * np.sqrt(n) * rng.standard_normal())
    if law.kind == UNIFORM.kind:
        return float(np.sqrt(3.0) * law.scale * (2.0 * rng.random(n) - 1.0).sum())
    count = n * law.trials
    heads = rng.binomial(count, 0.5) if count > 1 else rng.random() < 0.5
    return float(law.scale / np.sqrt(law.trials) * (2.0 * heads - count))


def vector(law: Law, rng: np.random.Generator) -> np.ndarray:
    if law.kind == SPHERE.kind:
        w = rng.standard_normal(DIM)
        return np.asarray(law.scale * np.sqrt(DIM) * w / np.linalg.norm(w))
    return np.array([draw(law, 1, rng) for _ in range(DIM)])


FACTORS = [Inflation(1.5), Inflation(0.1, 0.4, 3.0), Inflation(0.1, 0.4, 3.0, determinant=True)]


def size_of(factor: Inflation, twin: Twin) -> float:
    """Return what a factor is after the observations so far."""
    if not factor.width:
        return factor.base
    information = DIM * np.log1p(len(twin.seen) / DIM / LAM)
    if factor.determinant:
        information = np.linalg.slogdet(twin.precision / LAM)[1]
    return float(factor.base + factor.width * np.sqrt(information + factor.tail))


def perturbed(twin: Twin, total: np.ndarray, factor: float) -> np.ndarray:
    return np.asarray(twin.theta + factor * np.linalg.solve(twin.precision, total))


def rooted_sum(twin: Twin, initial: float, reward: float) -> np.ndarray:
    """Draw W + scale R'g with the triangular root R'R = sum x x'."""
    w = initial * twin.rngs.perturbation.standard_normal(DIM)
    return np.asarray(
        w + np.linalg.cholesky(twin.gram) @ (reward * twin.rngs.perturbation.standard_normal(DIM))
    )


@SEEDS
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("adaptive", [False, True])
def test_gaussian_history(seed: int, factor: Inflation, adaptive: bool) -> None:
    def choose(twin: Twin, t: int) -> int:
        size = size_of(factor, twin) * (np.std(twin.rewards) if adaptive else 1.0)
        return twin.greedy(perturbed(twin, rooted_sum(twin, 0.4, 0.5), size))

    twin = Twin(seed)
    options = {
        "initial": Law(0, 1, 0.4),
        "reward": Law(0, 1, 0.5),
        "factor": factor,
        "adaptive": adaptive,
    }
    compare("gaussian_history", options, twin, twin.play(choose), seed)


@SEEDS
def test_history_of_aged_observations(seed: int) -> None:
    rate = 0.4
    added, ages = np.zeros((DIM, DIM)), [0.0, 0.0]  # E, A and n_b of cpp/fresh.hpp

    def learn(twin: Twin, arm: int, y: float) -> None:
        n = len(twin.seen)
        if n == 1:
            ages[1] = n
        elif n >= 1.25 * ages[1]:
            a = rate * np.log2(1.0 + (n - ages[1]) / ages[1])
            added[:] += a * twin.gram
            ages[:] = ages[0] + a, n

    def choose(twin: Twin, t: int) -> int:
        w = 0.4 * np.sqrt(1.0 + ages[0]) * twin.rngs.perturbation.standard_normal(DIM)
        root = np.linalg.cholesky(twin.gram + added)
        return twin.greedy(
            perturbed(twin, w + root @ (0.5 * twin.rngs.perturbation.standard_normal(DIM)), 1.0)
        )

    twin = Twin(seed)
    options = {"initial": Law(0, 1, 0.4), "reward": Law(0, 1, 0.5), "ageing": rate}
    compare("gaussian_history", options, twin, twin.play(choose, learn), seed)


@SEEDS
@pytest.mark.parametrize("law", [GAUSSIAN, UNIFORM, BINOMIAL])
def test_summed_history(seed: int, law: Law) -> None:
    def choose(twin: Twin, t: int) -> int:
        rng = twin.rngs.perturbation
        total = 0.4 * rng.standard_normal(DIM)
        for arm in np.flatnonzero(twin.pulls):
            total += draw(law, int(twin.pulls[arm]), rng) * twin.X[arm]
        return twin.greedy(perturbed(twin, total, 1.0))

    twin = Twin(seed)
    options = {"initial": Law(0, 1, 0.4), "reward": law}
    compare("summed_history", options, twin, twin.play(choose), seed)


LAWS = pytest.mark.parametrize(
    ("initial", "reward"),
    [(UNIFORM, UNIFORM), (SPHERE, BINOMIAL), (GAUSSIAN, UNIFORM), (GAUSSIAN, GAUSSIAN)],
)


class Members:
    """Algorithm 1 with the sums S^j of all members, [m, d]."""

    def __init__(self, twin: Twin, size: int, initial: Law, reward: Law) -> None:
        self.reward, self.rng = reward, twin.rngs.perturbation
        self.sums = np.array([vector(initial, self.rng) for _ in range(size)])

    def learn(self, twin: Twin, arm: int, y: float) -> None:
        """Perturb the prescribed arms after them, arm by arm, and later ones one by one."""
        after = len(twin.seen) - len(PRESCRIBED)
        for each in [] if after < 0 else sorted(PRESCRIBED) if after == 0 else [arm]:
            z = [draw(self.reward, 1, self.rng) for _ in self.sums]
            self.sums += np.outer(z, twin.X[each])


@SEEDS
@LAWS
def test_eager_ensemble(seed: int, initial: Law, reward: Law) -> None:
    twin = Twin(seed)
    members = Members(twin, 7, initial, reward)

    def choose(twin: Twin, t: int) -> int:
        member = int(twin.rngs.member.random() * 7)
        return twin.greedy(perturbed(twin, members.sums[member], 3.0))

    options = {"size": 7, "initial": initial, "reward": reward, "factor": Inflation(3.0)}
    compare("eager_ensemble", options, twin, twin.play(choose, members.learn), seed)


class Lazy:
    """Draw what a member has missed when it acts.

    With Gaussian laws a new member starts from R'g with R'R = ratio I + sum_k N_k x_k x_k', N_k
    being recent pull counts. Others have missed everything.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options, self.initial, self.reward = options, options["initial"], options["reward"]
        self.is_gaussian = self.initial.kind == self.reward.kind == GAUSSIAN.kind
        self.ratio = (self.initial.scale / self.reward.scale) ** 2
        self.root, self.work = np.sqrt(self.ratio) * np.eye(DIM), 0
        self.counts = np.zeros(ARMS, np.int64)
        self.sums: dict[int, np.ndarray] = {}
        self.seen: dict[int, np.ndarray] = {}
        self.member = -1

    def choose(self, twin: Twin, t: int) -> int:
        size, rng = self.options["size"], twin.rngs.perturbation
        if self.options["rule"] == ROUND_ROBIN:
            self.member = t % size
        elif self.member < 0 or t % self.options["stay"] == 0:
            self.member = int(twin.rngs.member.random() * size)
        is_new = self.member not in self.sums
        if is_new:
            self.sums[self.member], self.seen[self.member] = self.start(twin)
        missed = np.flatnonzero(twin.pulls - self.seen[self.member])
        self.work += missed.size * is_new
        for arm in missed:
            n = int(twin.pulls[arm] - self.seen[self.member][arm])
            self.sums[self.member] += draw(self.reward, n, rng) * twin.X[arm]
        self.seen[self.member] = twin.pulls
        return twin.greedy(perturbed(twin, self.sums[self.member], 3.0))

    def start(self, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
        rng = twin.rngs.perturbation
        if not self.is_gaussian:
            return vector(self.initial, rng), np.zeros(ARMS, np.int64)
        if self.work > 8 * DIM:
            self.root = np.linalg.cholesky(self.ratio * np.eye(DIM) + twin.gram).T
            self.counts, self.work = twin.pulls, 0
        return self.reward.scale * rng.standard_normal(DIM) @ self.root, self.counts.copy()


@SEEDS
@LAWS
@pytest.mark.parametrize("size", [7, 99, 100, 1000])  # members are scheduled ahead from 100 on
def test_lazy_ensemble(seed: int, size: int, initial: Law, reward: Law) -> None:
    twin, options = Twin(seed), {"size": size, "rule": 0, "stay": 1}
    options |= {"initial": initial, "reward": reward, "factor": Inflation(3.0)}
    compare("lazy_ensemble", options, twin, twin.play(Lazy(options).choose), seed)


@pytest.mark.parametrize(("rule", "stay"), [(0, 4), (1, 1)])
@pytest.mark.parametrize("size", [19, 400])
def test_lazy_ensemble_with_another_rule(size: int, rule: int, stay: int) -> None:
    twin, options = Twin(3), {"size": size, "rule": rule, "stay": stay, "factor": Inflation(3.0)}
    options |= {"initial": SPHERE, "reward": UNIFORM}
    compare("lazy_ensemble", options, twin, twin.play(Lazy(options).choose), 3)


def test_another_law_is_noticed() -> None:
    twin = Twin(3)
    options = {"size": 7, "rule": 0, "stay": 1, "factor": Inflation(3.0)}
    options |= {"initial": GAUSSIAN, "reward": GAUSSIAN}
    regret = twin.play(Lazy(options | {"reward": UNIFORM}).choose)
    with pytest.raises(AssertionError):
        compare("lazy_ensemble", options, twin, regret, 3)


@SEEDS
@pytest.mark.parametrize("offered", [0, 5])
@pytest.mark.parametrize("kernel", ["moving_history", "eager_moving"])
def test_moving_arms(seed: int, offered: int, kernel: str) -> None:
    truth, rounds, size = np.random.default_rng(2).standard_normal(DIM), 200, 4
    faced = ContextualProblem(truth, offered, 0, 0.5, 0.5)
    options = {"size": size, "initial": Law(0, 1, 0.4), "reward": Law(0, 1, 0.5)}
    run = simulated(kernel, seed, options, faced, rounds)

    rngs, G, b, regret = generators(seed), np.zeros((DIM, DIM)), np.zeros(DIM), [0.0]
    rng = rngs.perturbation
    sums = 0.4 * rng.standard_normal((size, DIM)) if kernel == "eager_moving" else None
    for _ in range(rounds):
        X = rngs.context.standard_normal((offered, DIM))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        if sums is not None:
            total = sums[int(rngs.member.random() * size)]
        else:
            total = 0.4 * rng.standard_normal(DIM)
            total += root_of(G).T @ (0.5 * rng.standard_normal(DIM))
        theta = np.linalg.solve(LAM * np.eye(DIM) + G, b + total)
        x = X[np.argmax(X @ theta)] if offered else theta / np.linalg.norm(theta)
        best = (X @ truth).max() if offered else np.linalg.norm(truth)
        y = x @ truth + 0.5 * rngs.noise.standard_normal()
        G, b = G + np.outer(x, x), b + y * x
        if sums is not None:
            sums += np.outer(0.5 * rng.standard_normal(size), x)
        regret.append(regret[-1] + best - x @ truth)
    np.testing.assert_allclose(run.regret, regret[1:], rtol=1e-7)
    np.testing.assert_allclose(run.mean, np.linalg.solve(LAM * np.eye(DIM) + G, b), rtol=1e-7)


def root_of(G: np.ndarray) -> np.ndarray:
    """Return the upper triangular R with R'R = G and no negative pivot, which may be singular."""
    R = np.zeros_like(G)
    for i in range(len(G)):
        row = G[i] - R[:i, i] @ R[:i]
        if row[i] > 1e-12:
            R[i, i:] = row[i:] / np.sqrt(row[i])
    return R


@pytest.mark.parametrize("noise", range(5))
def test_kernels_draw_the_rewards_of_python(noise: int) -> None:
    """Draw rewards of all five kinds, NORMAL_NOISE to SALE_NOISE.

    There is one arm, and its feature is 1: then b is the sum of the rewards.
    """
    one = es.LinearProblem(es.FiniteArms([[1.0]]), [0.4], 0.3).as_arrays()
    assert isinstance(one, FiniteProblem)
    run = simulated("epsilon_greedy", 0, {}, one._replace(noise=noise), 500)
    rng = generators(0).noise
    rewards = [noisy_reward(noise, 0.4, 0.3, rng) for _ in range(500)]
    assert run.target[0] == pytest.approx(sum(rewards), rel=1e-12)
    assert sum(rewards) != pytest.approx(500 * 0.4, rel=1e-6), "the control: they are random"


@pytest.mark.parametrize("kernel", ["lazy_ensemble", "eager_ensemble", "lazy_moving"])
def test_a_run_ends_when_it_is_told_to_stop(kernel: str) -> None:
    moving = ContextualProblem(np.ones(DIM), 5, 0, 0.1, 0.4)
    faced = moving if kernel == "lazy_moving" else problem()
    stopped = settings(9)._replace(checkpoints=np.array([2**30]), stop=np.ones(1, np.int64))
    run = Simulated(*_core.simulate(kernel, faced, stopped, generators(0), {"size": 3}))
    assert np.isnan(run.regret).all() and run.pulls.sum() <= len(PRESCRIBED)


BAD: dict[str, dict[str, Any]] = {
    "problem": {
        "features": np.zeros((ARMS, DIM + 1)),
        "means": np.zeros(ARMS - 1),
        "noise": 5,
        "best": "much",
        "warmup": np.array([ARMS]),
        "opening": np.array([-1]),
        "mean_path": np.zeros((2, ARMS + 1)),
        "period": -1,
        "by_coordinate": np.zeros((DIM, ARMS), np.float32),
    },
    "settings": {
        "lam": "much",
        "sizes": np.ones(DIM + 1),
        "learns_scales": 0.5,
        "checkpoints": np.array([9, 9]),
        "stop": np.zeros(0, np.int64),
    },
    "options": {
        "size": 0,
        "stay": 0,
        "rule": 2,
        "initial": Law(4, 1, 1.0),
        "reward": Law(3, 1, 1.0),
        "factor": 1.0,
        "symmetric": 1.5,
        "redraw_growth": -1.0,
        "basis": np.array([ARMS]),
        "sise": 3,
    },
    "rngs": {"member": None},
}


@pytest.mark.parametrize(("argument", "field"), [(a, field) for a in BAD for field in BAD[a]])
def test_a_bad_call_is_refused_by_name(argument: str, field: str) -> None:
    call = {"problem": problem(), "settings": settings(9), "rngs": generators(0)}
    call["options"] = {"size": 3}
    good, value, name = call[argument], BAD[argument][field], field.split()[-1]
    is_dict = isinstance(good, dict)
    call[argument] = good | {name: value} if is_dict else good._replace(**{name: value})
    with pytest.raises((TypeError, ValueError), match="argument `"):
        _core.simulate("lazy_ensemble", **call)


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`kernel`.*'lasy'"):
        simulated("lasy", 0, {})


def test_rounds_without_a_mean_are_refused() -> None:
    moving = problem()._replace(mean_path=np.zeros((2, ARMS)), best_means=np.zeros(2), period=4)
    with pytest.raises(ValueError, match="`mean_path`"):
        simulated("epsilon_greedy", 0, {}, moving, 9)


@pytest.mark.parametrize(
    ("kernel", "option", "value"),
    [
        ("ensemble_plus_plus", "size", 1 << 40),
        ("informed_by_fresh_members", "size", 1 << 40),
        ("kveton_phe", "scale", 0.0),
        ("multiplier_bootstrap", "basis", np.array([0, ARMS])),
        ("sup_linucb", "stages", 65),
    ],
)
def test_options_out_of_range_are_refused(kernel: str, option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"argument `{option}`"):
        simulated(kernel, 0, {option: value})
