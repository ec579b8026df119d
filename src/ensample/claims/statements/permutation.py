"""Only pull counts matter: the order of the pulls does not change the law of the perturbations."""

from itertools import product

import numpy as np
from numpy.random import Generator

from ensample.claims.claim import (
    SOUND,
    Broken,
    Claim,
    Cost,
    Fault,
    Judge,
    Kind,
    Outcome,
    Scale,
    Section,
)
from ensample.claims.evidence import generator, identity
from ensample.claims.recorded import relative_error
from ensample.problems.families import unit_rows
from ensample.types import FloatArray, IntArray

ID = "permutation-invariance"
TOLERANCE = 1e-10
SIGNS = np.array(
    list(product((-1.0, 1.0), repeat=12))
)  # every outcome of twelve Rademacher perturbations


def measure(scale: Scale, seed: int, by_pull: bool = True) -> Judge:
    """Two orders of the same pulls: equal theta~ under the coupling by arm and pull, equal laws of U'Z, equal |U|."""
    cases = scale.choose(50, 500, 5000)
    detail = f"30 pulls of 5 arms, and all 2^12 sign vectors for 9 pulls; relative error, tolerance {TOLERANCE:g}"

    def judge(f: float) -> Outcome:
        rng = generator(seed, ID)
        errors = [error for _ in range(cases) for error in differences(rng, by_pull, f)]
        return identity(max(errors), TOLERANCE, 3 * cases, detail)

    return judge


def differences(rng: Generator, by_pull: bool, f: float) -> list[float]:
    """Relative errors between two orders of the same pulls, the perturbations of the second multiplied by f."""
    arms, d = unit_rows(rng, 5, 3), 3
    first = rng.integers(0, 5, 30)
    second = rng.permutation(first)
    stored, W = rng.standard_normal((5, 30)), rng.standard_normal(d)
    one = theta_tilde(arms, first, perturbations(first, stored, by_pull), W)
    other = theta_tilde(arms, second, f * perturbations(second, stored, by_pull), W)
    lengths = np.array([np.linalg.norm(direction(arms, order)) for order in (first, second)])
    laws = difference_of_laws(arms, first[:9], rng.permutation(first[:9]))
    return [relative_error(one, other), relative_error(lengths[:1], lengths[1:]), laws]


def perturbations(order: IntArray, stored: FloatArray, by_pull: bool) -> FloatArray:
    """Z_t = Z_{a_t, N_{a_t,t}} as in the appendix, or else the t-th number of one list whatever the arm."""
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


def difference_of_laws(arms: FloatArray, first: IntArray, second: IntArray) -> float:
    """The law of U'Z for Rademacher perturbations, all of its points with their multiplicities."""
    one, other = (np.sort(SIGNS @ direction(arms, order)) for order in (first, second))
    return relative_error(one, other)


CLAIM = Claim(
    id=ID,
    title="Only pull counts matter",
    statement="the laws of theta~ and of U'Z depend on how often each arm was pulled, not on the order",
    latex=r"\tilde\theta_t = V_t^{-1}\boldsymbol{\Phi}_t\mathbf{Z}_{KT},\quad"
    r"\boldsymbol{\Phi}_t \text{ a function of } (N_{1,t},\dots,N_{K,t})",
    reference="appx:rigorous explanation",
    section=Section.OPTIMISM,
    assumptions=(
        "reward perturbations i.i.d.",
        "an arm is chosen before its perturbation is drawn",
    ),
    kind=Kind.IDENTITY,
    faults=(Fault("the perturbations of one of the two orders multiplied by f", measure),),
    broken=Broken(
        "perturbations stay with the round in place of (arm, pull)",
        lambda scale, seed: measure(scale, seed, by_pull=False)(SOUND),
    ),
    note="Arms must be predictable: the printed 'arbitrarily random' sequences may not look at the round's own perturbation.",
    costs={Scale.QUICK: Cost(0.3), Scale.STANDARD: Cost(3), Scale.PAPER: Cost(30)},
)
