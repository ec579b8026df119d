"""Simulated runs of linear recipes against obvious NumPy, which plays the same arms from the same random numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ensample as es
from core.test_recipes import staged_arm
from ensample import _core
from ensample.inflation import Inflation
from ensample.problems.arrays import ContextualProblem, FiniteProblem
from ensample.simulation.options import Law
from ensample.simulation.state import Rngs, RunSize, RunState, new_state
from naive import relatives

DIM, ARMS, ROUNDS, LAM = 3, 7, 300, 0.5
WARMUP, OPENING = [2, 5], [0, 1, 3, 4]  # so that V is regular without its prior


def problem() -> FiniteProblem:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((ARMS, DIM))
    linear = es.LinearProblem(
        es.FiniteArms(features), rng.standard_normal(DIM), 2.0, warmup=WARMUP, opening=OPENING
    )
    arrays = linear.place()
    assert isinstance(arrays, FiniteProblem)
    return arrays


def generators(seed: int) -> Rngs:
    return Rngs(*(np.random.default_rng([seed, stream]) for stream in range(4)))


def simulated(kernel: str, seed: int, options: dict[str, Any]) -> RunState:
    faced = problem()
    checkpoints = np.arange(1, ROUNDS + 1)
    state = new_state(RunSize.of(faced, DIM), LAM, checkpoints, np.zeros(1, np.int64))
    _core.simulate(kernel, faced, state, generators(seed), options)
    return state


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
        prescribed = [*WARMUP, *OPENING]
        for i in range(len(WARMUP) + ROUNDS):
            arm = prescribed[i] if i < len(prescribed) else choose(self, i - len(WARMUP))
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
    state = simulated(kernel, seed, options)
    np.testing.assert_allclose(state.regret, regret, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(state.pulls[:ARMS], twin.pulls)
    np.testing.assert_allclose(state.mean, twin.theta, rtol=1e-7)
    explores = options.get("epsilon") != 0.0 or options.get("decay") != 0.0
    assert not explores or len(set(twin.seen[len(WARMUP) + len(OPENING) :])) >= 2, (
        "negative control"
    )


SEEDS = pytest.mark.parametrize("seed", [3, 4])


@SEEDS
@pytest.mark.parametrize(("epsilon", "decay"), [(0.0, 0.0), (0.3, 0.0), (0.1, 20.0)])
def test_epsilon_greedy(seed: int, epsilon: float, decay: float) -> None:
    def choose(twin: Twin, t: int) -> int:
        chance = decay / (decay + len(twin.seen)) if decay else epsilon
        if chance > 0.0 and twin.rngs.member.random() < chance:
            return int(twin.rngs.member.random() * ARMS)
        return twin.greedy(twin.theta)

    twin = Twin(seed)
    compare("epsilon_greedy", {"epsilon": epsilon, "decay": decay}, twin, twin.play(choose), seed)


FACTORS = [Inflation(1.5), Inflation(0.1, 0.4, 3.0), Inflation(0.1, 0.4, 3.0, determinant=True)]


def size_of(factor: Inflation, twin: Twin) -> float:
    """Return what a factor is after the observations so far."""
    if not factor.width:
        return factor.base
    information = DIM * np.log1p(len(twin.seen) / DIM / LAM)
    if factor.determinant:
        information = np.linalg.slogdet(twin.precision / LAM)[1]
    return float(factor.base + factor.width * np.sqrt(information + factor.tail))


@SEEDS
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("watch", [False, True])
def test_linucb(seed: int, factor: Inflation, watch: bool) -> None:
    lengths = [0.0]

    def choose(twin: Twin, t: int) -> int:
        beta = size_of(factor, twin) + (np.sqrt(LAM) * max(lengths) if watch else 0.0)
        widths = np.sqrt(np.einsum("ki,ij,kj->k", twin.X, np.linalg.inv(twin.precision), twin.X))
        return int(np.argmax(twin.X @ twin.theta + beta * widths))

    twin = Twin(seed)
    regret = twin.play(
        choose, lambda twin, arm, y: lengths.append(float(np.linalg.norm(twin.theta)))
    )
    compare("linucb", {"factor": factor, "watch_norm": watch}, twin, regret, seed)


@SEEDS
def test_sup_linucb(seed: int) -> None:
    stages, radius, floor = 5, 0.7, 0.05
    grams, targets = np.tile(LAM * np.eye(DIM), (stages, 1, 1)), np.zeros((stages, DIM))

    def decided(twin: Twin) -> tuple[int, int, bool]:
        means = np.linalg.solve(grams, targets[..., None])[..., 0]
        return staged_arm(
            np.linalg.inv(grams), means, np.ascontiguousarray(twin.X.T), radius, floor
        )

    def learn(twin: Twin, arm: int, y: float) -> None:
        chosen, stage, learns = decided(twin)
        x = twin.X[arm]
        widths = radius * np.sqrt(np.einsum("i,sij,j->s", x, np.linalg.inv(grams), x))
        unsure = np.flatnonzero(widths > np.maximum(0.5 ** np.arange(1, stages + 1), floor))
        if arm != chosen:
            learns, stage = unsure.size > 0, int(unsure[0]) if unsure.size else 0
        if learns:
            grams[stage] += np.outer(x, x)
            targets[stage] += y * x

    twin = Twin(seed)
    regret = twin.play(lambda twin, t: decided(twin)[0], learn)
    compare("sup_linucb", {"stages": stages, "radius": radius, "floor": floor}, twin, regret, seed)


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
@pytest.mark.parametrize("law", ["gaussian", "uniform", "binomial"])
def test_summed_history(seed: int, law: str) -> None:
    kind = ["gaussian", "uniform", "binomial"].index(law)

    def sum_of(n: int, rng: np.random.Generator) -> float:
        if law == "gaussian":
            return float(0.5 * np.sqrt(n) * rng.standard_normal())
        if law == "uniform":
            return float(np.sqrt(3.0) * 0.5 * (2.0 * rng.random(n) - 1.0).sum())
        return float(0.5 / np.sqrt(2) * (2.0 * rng.binomial(2 * n, 0.5) - 2 * n))

    def choose(twin: Twin, t: int) -> int:
        total = 0.4 * twin.rngs.perturbation.standard_normal(DIM)
        for arm in np.flatnonzero(twin.pulls):
            total += sum_of(int(twin.pulls[arm]), twin.rngs.perturbation) * twin.X[arm]
        return twin.greedy(perturbed(twin, total, 1.0))

    twin = Twin(seed)
    options = {"initial": Law(0, 1, 0.4), "reward": Law(kind, 2, 0.5)}
    compare("summed_history", options, twin, twin.play(choose), seed)


@SEEDS
def test_kveton_phe(seed: int) -> None:
    a, basis = 0.7, np.array([0, 2, 6])

    def choose(twin: Twin, t: int) -> int:
        waiting = basis[twin.pulls[basis] == 0]
        if waiting.size:
            return int(waiting[t % waiting.size])
        pseudo = np.ceil(a * twin.pulls).astype(np.int64)
        played = np.flatnonzero(twin.pulls)
        heads = np.array([twin.rngs.perturbation.binomial(pseudo[arm], 0.5) for arm in played])
        G = (a + 1.0) * LAM * np.eye(DIM) + (twin.X.T * (twin.pulls + pseudo)) @ twin.X
        return twin.greedy(np.linalg.solve(G, twin.target + twin.X[played].T @ heads))

    twin = Twin(seed)
    compare("kveton_phe", {"scale": a, "basis": basis}, twin, twin.play(choose), seed)


@SEEDS
def test_multiplier_bootstrap(seed: int) -> None:
    size, spread, pseudo, basis = 5, 0.6, 0.4, np.array([0, 2, 6])
    grams, targets = np.tile(LAM * np.eye(DIM), (size, 1, 1)), np.zeros((size, DIM))

    def choose(twin: Twin, t: int) -> int:
        waiting = basis[twin.pulls[basis] == 0]
        if waiting.size:
            return int(waiting[t % waiting.size])
        j = int(twin.rngs.member.random() * size)
        return twin.greedy(np.linalg.solve(grams[j], targets[j]))

    def learn(twin: Twin, arm: int, y: float) -> None:
        weights = np.maximum(1.0 + spread * twin.rngs.perturbation.standard_normal((size, 3)), 0.0)
        real, low, high = weights.T * [[1.0], [pseudo], [pseudo]]
        grams[:] += (real + low + high)[:, None, None] * np.outer(twin.X[arm], twin.X[arm])
        targets[:] += np.outer(real * y + high, twin.X[arm])

    twin = Twin(seed)
    options = {"size": size, "spread": spread, "scale": pseudo, "basis": basis}
    compare("multiplier_bootstrap", options, twin, twin.play(choose, learn), seed)


@SEEDS
def test_ensemble_plus_plus(seed: int) -> None:
    size, scale = 4, 0.8
    twin = Twin(seed)

    def on_sphere() -> np.ndarray:
        z = twin.rngs.perturbation.standard_normal(size)
        return np.asarray(z / np.linalg.norm(z))

    S = np.array([np.sqrt(LAM) * on_sphere() for _ in range(DIM)])
    prescribed = sorted([*WARMUP, *OPENING])  # their perturbations are drawn after them, arm by arm

    def learn(twin: Twin, arm: int, y: float) -> None:
        if len(twin.seen) == len(prescribed):
            S[:] += sum(np.outer(twin.X[each], on_sphere()) for each in prescribed)
        elif len(twin.seen) > len(prescribed):
            S[:] += np.outer(twin.X[arm], on_sphere())

    def choose(twin: Twin, t: int) -> int:
        return twin.greedy(perturbed(twin, S @ twin.rngs.member.standard_normal(size), scale))

    compare(
        "ensemble_plus_plus", {"size": size, "scale": scale}, twin, twin.play(choose, learn), seed
    )


@SEEDS
def test_informed_by_fresh_members(seed: int) -> None:
    size = 8

    def choose(twin: Twin, t: int) -> int:
        thetas = np.array([perturbed(twin, rooted_sum(twin, 0.4, 0.5), 1.0) for _ in range(size)])
        gaps, gains = relatives.gaps_and_gains(twin.X, thetas)
        first, second, share = _core.best_pair(gaps, gains, twin.X @ thetas.mean(axis=0))
        return first if twin.rngs.member.random() < share else second

    twin = Twin(seed)
    options = {"size": size, "initial": Law(0, 1, 0.4), "reward": Law(0, 1, 0.5)}
    compare("informed_by_fresh_members", options, twin, twin.play(choose), seed)


@SEEDS
def test_informed_ensemble(seed: int) -> None:
    size = 8
    twin = Twin(seed)
    S = 0.4 * twin.rngs.perturbation.standard_normal((size, DIM))
    prescribed = sorted([*WARMUP, *OPENING])  # their perturbations are drawn after them, arm by arm

    def learn(twin: Twin, arm: int, y: float) -> None:
        after = len(twin.seen) - len(prescribed)
        for each in [] if after < 0 else prescribed if after == 0 else [arm]:
            S[:] += np.outer(0.5 * twin.rngs.perturbation.standard_normal(size), twin.X[each])

    def choose(twin: Twin, t: int) -> int:
        thetas = np.array([perturbed(twin, sums, 1.0) for sums in S])
        gaps, gains = relatives.gaps_and_gains(twin.X, thetas)
        first, second, share = _core.best_pair(gaps, gains, twin.X @ thetas.mean(axis=0))
        return first if twin.rngs.member.random() < share else second

    options = {"size": size, "initial": Law(0, 1, 0.4), "reward": Law(0, 1, 0.5)}
    compare("informed_ensemble", options, twin, twin.play(choose, learn), seed)


@SEEDS
@pytest.mark.parametrize("offered", [0, 5])
def test_history_on_moving_arms(seed: int, offered: int) -> None:
    truth, rounds = np.random.default_rng(2).standard_normal(DIM), 200
    problem = ContextualProblem(truth, offered, 0, 0.5, 0.5)
    state = new_state(
        RunSize.of(problem, DIM), LAM, np.arange(1, rounds + 1), np.zeros(1, np.int64)
    )
    options = {"initial": Law(0, 1, 0.4), "reward": Law(0, 1, 0.5)}
    _core.simulate("moving_history", problem, state, generators(seed), options)

    rngs, V, G, b, regret = (
        generators(seed),
        LAM * np.eye(DIM),
        np.zeros((DIM, DIM)),
        np.zeros(DIM),
        [0.0],
    )
    for _ in range(rounds):
        X = rngs.context.standard_normal((offered, DIM))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        total = 0.4 * rngs.perturbation.standard_normal(DIM)
        total += root_of(G).T @ (0.5 * rngs.perturbation.standard_normal(DIM))
        theta = np.linalg.solve(V, b + total)
        x = X[np.argmax(X @ theta)] if offered else theta / np.linalg.norm(theta)
        best = (X @ truth).max() if offered else np.linalg.norm(truth)
        y = x @ truth + 0.5 * rngs.noise.standard_normal()
        V, G, b = V + np.outer(x, x), G + np.outer(x, x), b + y * x
        regret.append(regret[-1] + best - x @ truth)
    np.testing.assert_allclose(state.regret, regret[1:], rtol=1e-7)
    np.testing.assert_allclose(state.mean, np.linalg.solve(V, b), rtol=1e-7)


def root_of(G: np.ndarray) -> np.ndarray:
    """Return the upper triangular R with R'R = G and no negative pivot, which may be singular."""
    R = np.zeros_like(G)
    for i in range(len(G)):
        row = G[i] - R[:i, i] @ R[:i]
        if row[i] > 1e-12:
            R[i, i:] = row[i:] / np.sqrt(row[i])
    return R


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
