"""Radii of confidence and the size of the ensemble. Logarithms are natural."""

import math

from ensample.checks import instance, whole
from ensample.perturbations import GAUSSIAN, Perturbation
from ensample.theory.assumptions import (
    require_regularization,
    require_theorem,
    unit_anticoncentration,
)
from ensample.theory.setting import LONGEST, Setting


def radius(setting: Setting, t: int | None = None) -> float:
    """beta_t, the confidence radius of the ridge estimate after t rounds, or the horizon.

    beta_t = sigma sqrt(d log(1 + t/(d lam)) + 2 log(1/delta)) + sqrt(lam) S.
    With probability 1 - delta, |theta_hat_t - theta*|_{V_t} <= beta_t for all t.

    >>> radius(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1))
    7.633134720479198

    Reference: Abbasi-Yadkori, Pal & Szepesvari 2011, Theorem 2.
    """
    instance("setting", setting, Setting, "a Setting")
    t = setting.horizon if t is None else whole("t", t, 0, LONGEST)
    width = math.sqrt(information(setting, t) - 2.0 * math.log(setting.delta))
    return setting.noise * width + math.sqrt(setting.regularization) * setting.norm


def determinant_radius(setting: Setting, known: float) -> float:
    """beta_t in determinant form: sigma sqrt(log(det V_t / lam^d) + 2 log(1/delta)) + sqrt(lam) S.

    `known` is the logarithm of the determinant over lam^d.

    At most `radius` for arms of norm <= 1, and what that is derived from.
    """
    width = math.sqrt(max(0.0, known) - 2.0 * math.log(setting.delta))
    return setting.noise * width + math.sqrt(setting.regularization) * setting.norm


def perturbation_scale(setting: Setting, perturbation: Perturbation = GAUSSIAN) -> float:
    """The scale of the reward perturbations that makes a member optimistic often enough.

    beta_T / c where P(u'Z >= c |u|) >= p at scale 1: beta_T for Gaussian laws, 3 beta_T for the
    others.
    """
    c, _ = unit_anticoncentration(perturbation)
    return radius(setting) / c


def perturbation_radius(setting: Setting, perturbation: Perturbation = GAUSSIAN) -> float:
    """gamma~_T: |theta~_t^j|_{V_t} <= gamma~_T with probability 1 - delta/T, for each j and t.

    Gaussian: beta_T (sqrt(d log(1 + T/(d lam)) + 2 log(2T/delta)) + sqrt(d) + sqrt(2
    log(2T/delta))). Other laws: scale (sqrt(d log(1 + T/(d lam)) + 2 log(2T/delta)) + sqrt(2d + 4
    log(2T/delta))), scale = 3 beta_T.
    """
    log_failure = math.log(setting.delta) - math.log(2.0 * setting.horizon)
    return perturbation_scale(setting, perturbation) * spread(setting, log_failure, perturbation)


def estimator_radius(setting: Setting, perturbation: Perturbation = GAUSSIAN) -> float:
    """gamma_T = gamma~_T + beta_T: how far a member may be from theta*, in the norm of V."""
    return perturbation_radius(setting, perturbation) + radius(setting)


def ensemble_size(setting: Setting, perturbation: Perturbation = GAUSSIAN) -> int:
    """m of Theorem 1: (8/p^2) (K log T + log(1/delta)) rounded up, at least 1.

    p = p_N for Gaussian laws, otherwise 0.01.

    More than T members are never useful: T members, one a round, are LinPHE (the Proposition).

    >>> ensemble_size(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1))
    59497
    """
    require_theorem(setting, perturbation)
    _, p = unit_anticoncentration(perturbation)
    return max(1, math.ceil(8.0 / p**2 * log_histories(setting)))


def elliptical_potential_bound(setting: Setting) -> float:
    """2 d log(1 + T/(d lam)), above sum_t |X_t|^2_{V_{t-1}^-1} for unit arms and lam >= 1.

    Reference: Abbasi-Yadkori, Pal & Szepesvari 2011, Lemmas 10 and 11.
    """
    require_regularization("the elliptical potential lemma", setting)
    return 2.0 * information(setting, setting.horizon)


def information(setting: Setting, t: int) -> float:
    """d log(1 + t/(d lam)), an upper bound on log(det V_t / lam^d)."""
    return setting.dim * math.log1p(t / setting.dim / setting.regularization)


def log_histories(setting: Setting) -> float:
    """K log T + log(1/delta): the union over vectors of pull counts, and the confidence."""
    assert setting.arms is not None
    return setting.arms * math.log(setting.horizon) - math.log(setting.delta)


def spread(
    setting: Setting, log_failure: float, perturbation: Perturbation, known: float | None = None
) -> float:
    """A bound on |theta~|_V at scale 1 that fails with probability at most 2 exp(log_failure).

    `known` is log(det V / lam^d), if it is; else what it is at most after T rounds.
    """
    unit = perturbation.rescaled(1.0)
    known = information(setting, setting.horizon) if known is None else known
    rewards = unit.subgaussian * math.sqrt(known - 2.0 * log_failure)
    return rewards + unit.norm_bound(setting.dim, log_failure)
