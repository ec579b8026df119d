"""Identities: members as minimisers, their decomposition, and invariance to the order of pulls."""

import math
from itertools import product

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import Judge, Outcome, Scale
from ensample.claims.evidence import generator, identity
from ensample.claims.recorded import History, record, relative_error
from ensample.claims.texts import claim, twin
from ensample.problems.problem import unit_rows
from ensample.types import FloatArray, IntArray

TOLERANCE = 1e-9


def record_each(
    seed: int, claim: str, rounds: int, regularizations: tuple[float, ...] = (0.1, 1.0, 30.0)
) -> list[History]:
    """Record a run for each regularization."""
    return [
        record(seed, claim, part, rounds=rounds, lam=lam)
        for part, lam in enumerate(regularizations)
    ]


def error_identity(errors: list[float], sample: int) -> Outcome:
    detail = f"relative error, tolerance {TOLERANCE:g}"
    return identity(max(errors), TOLERANCE, sample, detail)


# minimiser-form: every member minimises a perturbed least-squares problem


def measure_minimiser(scale: Scale, seed: int, centred: bool = True) -> Judge:
    """Incremental estimates against a fresh least-squares solution, by a QR that forms no V."""
    rounds = scale.choose(150, 1000, 10_000)
    histories = record_each(seed, "minimiser-form", rounds)
    times = np.unique(np.linspace(0, rounds, 16).astype(int))
    listed = ", ".join(f"{history.lam:g}" for history in histories)
    detail = f"lam = {listed}; relative error, tolerance {TOLERANCE:g}"

    def judge(f: float) -> Outcome:
        errors = [
            relative_error(history.estimates[t], minimisers(history, t, centred, f))
            for history in histories
            for t in times
        ]
        return identity(max(errors), TOLERANCE, len(errors) * 10, detail)

    return judge


def minimisers(history: History, t: int, centred: bool, f: float) -> FloatArray:
    """argmin lam |theta - W/lam|^2 + sum (X'theta - Y - f Z)^2 for each member: [m, d]."""
    centre = history.W / history.lam if centred else history.W
    rows = history.phi(t).T
    targets = np.vstack([np.sqrt(history.lam) * centre.T, history.Y[:t, None] + f * history.Z[:t]])
    return np.asarray(np.linalg.lstsq(rows, targets, rcond=None)[0].T)


claim("minimiser-form", measure_minimiser, broken=twin(measure_minimiser, centred=False))

# decomposition: a member is the ridge estimate plus a perturbation that rewards do not enter


def measure_decomposition(scale: Scale, seed: int, shift: int = 0) -> Judge:
    """theta^j against theta_hat from rewards alone and theta~^j from perturbations alone."""
    histories = record_each(seed, "decomposition", scale.choose(150, 1000, 10_000))

    def judge(f: float) -> Outcome:
        errors = [error for history in histories for error in errors_of_parts(history, shift, f)]
        return error_identity(errors, 10 * len(errors))

    return judge


def errors_of_parts(history: History, shift: int, f: float) -> list[float]:
    """Relative errors of both parts, with W multiplied by f and Z moved by some members."""
    rounds, Z, errors = len(history.X), np.roll(history.Z, shift, axis=1), []
    for t in range(0, rounds + 1, max(1, rounds // 50)):
        X = history.X[:t]
        V = history.lam * np.eye(X.shape[1]) + X.T @ X
        ridge = np.asarray(np.linalg.solve(V, X.T @ history.Y[:t]), np.float64)
        perturbed = np.asarray(np.linalg.solve(V, f * history.W.T + X.T @ Z[:t]).T, np.float64)
        errors.append(relative_error(history.estimates[t], ridge + perturbed))
        errors.append(relative_error(history.theta_tilde[t], perturbed))
    return errors


claim("decomposition", measure_decomposition, broken=twin(measure_decomposition, shift=1))

# perturbation-identities: Phi, Z and U, on which the optimism argument rests


def measure_identities(scale: Scale, seed: int, rooted: bool = True) -> Judge:
    rounds = scale.choose(150, 1000, 5000)
    histories = record_each(seed, "perturbation-identities", rounds, (0.5, 1.0, 9.0))
    times = range(0, rounds, max(1, rounds // 40))

    def judge(f: float) -> Outcome:
        pairs = [(history, t) for history in histories for t in times]
        errors = [error for pair in pairs for error in errors_of_identities(*pair, rooted, f)]
        return error_identity(errors, len(errors))

    return judge


def errors_of_identities(history: History, t: int, rooted: bool, f: float) -> list[float]:
    """Relative errors of V = Phi Phi', theta~ = V^-1 Phi Z, U'Z = x*'theta~, |U| = |x*|_{V^-1}."""
    V, best = history.V[t], history.best
    Phi, Z = history.phi(t), history.perturbation(t)
    Phi[:, : best.size] *= f if rooted else f * math.sqrt(history.lam)
    U: FloatArray = np.linalg.solve(V, Phi).T @ best
    width = np.array(math.sqrt(best @ np.linalg.solve(V, best)))
    return [
        relative_error(Phi @ Phi.T, V),
        relative_error(np.linalg.solve(V, Phi @ Z).T, history.theta_tilde[t]),
        relative_error(U @ Z, history.theta_tilde[t] @ best),
        relative_error(np.array(np.linalg.norm(U)), width),
    ]


claim("perturbation-identities", measure_identities, broken=twin(measure_identities, rooted=False))

# permutation-invariance: the order of the pulls does not change the law of the perturbations

SIGNS = np.array(list(product((-1.0, 1.0), repeat=12)))  # all outcomes of 12 signs


def measure_permutation(scale: Scale, seed: int, by_pull: bool = True) -> Judge:
    """Two orders of the same pulls: equal coupled theta~, equal laws of U'Z, equal |U|."""
    cases, tolerance = scale.choose(50, 500, 5000), 1e-10
    pulls = "30 pulls of 5 arms, and all 2^12 sign vectors for 9 pulls"

    def judge(f: float) -> Outcome:
        rng = generator(seed, "permutation-invariance")
        errors = [error for _ in range(cases) for error in errors_of_orders(rng, by_pull, f)]
        detail = f"{pulls}; relative error, tolerance {tolerance:g}"
        return identity(max(errors), tolerance, 3 * cases, detail)

    return judge


def errors_of_orders(rng: Generator, by_pull: bool, f: float) -> list[float]:
    """Relative errors between two orders of pulls, the second with perturbations times f."""
    arms, d = unit_rows(rng, 5, 3), 3
    first = rng.integers(0, 5, 30)
    second = rng.permutation(first)
    stored, W = rng.standard_normal((5, 30)), rng.standard_normal(d)
    one = theta_tilde(arms, first, perturbations(first, stored, by_pull), W)
    other = theta_tilde(arms, second, f * perturbations(second, stored, by_pull), W)
    lengths = np.array([np.linalg.norm(direction(arms, order)) for order in (first, second)])
    orders = first[:9], rng.permutation(first[:9])
    laws = [np.sort(SIGNS @ direction(arms, order)) for order in orders]
    pairs = (one, other), (lengths[:1], lengths[1:]), laws
    return [relative_error(*pair) for pair in pairs]


def perturbations(order: IntArray, stored: FloatArray, by_pull: bool) -> FloatArray:
    """Z_t = Z_{a_t, N_{a_t,t}} as in the appendix, or the t-th number of one list for all arms."""
    if not by_pull:
        return np.asarray(stored[0, : order.size])
    pulls = [int(np.sum(order[:t] == arm)) for t, arm in enumerate(order)]
    return np.asarray(stored[order, pulls])


def theta_tilde(arms: FloatArray, order: IntArray, Z: FloatArray, W: FloatArray) -> FloatArray:
    X = arms[order]
    return np.asarray(np.linalg.solve(np.eye(W.size) + X.T @ X, W + X.T @ Z))


def direction(arms: FloatArray, order: IntArray) -> FloatArray:
    """U' = x*'V^-1 (I, X_1, ..., X_t) with lam = 1 and the first arm as x*."""
    Phi = np.hstack([np.eye(arms.shape[1]), arms[order].T])
    return np.asarray(np.linalg.solve(Phi @ Phi.T, Phi).T @ arms[0])


claim(
    "permutation-invariance", measure_permutation, broken=twin(measure_permutation, by_pull=False)
)
