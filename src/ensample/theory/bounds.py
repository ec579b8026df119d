"""Bounds on the regret over T rounds."""

import math

from ensample.checks import number, whole
from ensample.errors import AssumptionError
from ensample.perturbations import GAUSSIAN, P_N, Perturbation
from ensample.theory.assumptions import (
    require_corollary,
    require_finite,
    require_optimistic,
    require_theorem,
    unit_anticoncentration,
)
from ensample.theory.guarantee import GENERAL_THEOREM, LINUCB_THEOREM, OPTIMISTIC_RULE
from ensample.theory.radii import (
    elliptical_potential_bound,
    estimator_radius,
    log_histories,
    radius,
    spread,
)
from ensample.theory.setting import Setting


def regret_bound(gamma: float, p: float, setting: Setting) -> float:
    """The general theorem: B(gamma, p) for estimates within gamma, optimistic with chance p.

    B = gamma (1 + 2/p) sqrt(2 d T log(1 + T/(d lam))) + (gamma/p) sqrt((2T/lam) log(1/delta)). It
    needs lam >= 1 (the printed statement says lam > 0, but its potential lemma is false below 1).
    It holds word for word for sets of arms X_t that change predictably, with the best arm x*_t of
    each round for x*: the proof looks at one round at a time. So do LinPHE's Corollary and LinUCB;
    Theorem 1 does not, its union being over pull counts of fixed arms.

    Reference: Lee & Oh 2024, "General regret bound for linear bandit algorithm".
    """
    gamma = number("gamma", gamma, 0.0, math.inf)
    p = number("p", p, most=1.0, above=0.0)
    GENERAL_THEOREM.require_confidence(setting)
    walk = math.sqrt(setting.horizon * elliptical_potential_bound(setting))
    chance = math.sqrt(-2.0 * setting.horizon / setting.regularization * math.log(setting.delta))
    return gamma * (1.0 + 2.0 / p) * walk + gamma / p * chance


def theorem_bound(setting: Setting, perturbation: Perturbation = GAUSSIAN) -> float:
    """Theorem 1, linear ensemble sampling: B(gamma_T, p/4) with probability 1 - 4 delta.

    For Algorithm 1 with uniform J_t, `ensemble_size` members, reward perturbations of
    `perturbation_scale` and initial ones sqrt(lam) times that, on finitely many arms of norm <= 1.
    p is p_N for Gaussian laws and 0.01 for the others.

    >>> round(theorem_bound(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)))
    6347334

    Reference: Lee & Oh 2024, Theorem 1.
    """
    require_theorem(setting, perturbation)
    _, p = unit_anticoncentration(perturbation)
    return regret_bound(estimator_radius(setting, perturbation), p / 4.0, setting)


def phe_bound(setting: Setting, perturbation: Perturbation = GAUSSIAN) -> float:
    """The Corollary for LinPHE: B(gamma_T, p/2) with probability 1 - 3 delta, for any arms.

    Reference: Lee & Oh 2024, Corollary 1.
    """
    require_corollary(setting, perturbation)
    _, p = unit_anticoncentration(perturbation)
    return regret_bound(estimator_radius(setting, perturbation), p / 2.0, setting)


def ucb_bound(setting: Setting) -> float:
    """LinUCB: B(2 beta_T, 1) with probability 1 - 2 delta, also for arms that change."""
    LINUCB_THEOREM.require_confidence(setting)
    return regret_bound(2.0 * radius(setting), 1.0, setting)


def optimistic_size(setting: Setting) -> int:
    """Members enough for one of them to be optimistic in every round, with probability 1 - delta.

    (K log T + log(1/delta)) / log(1/(1 - p_N)) rounded up, at least 1. Given the pull counts, the
    members miss optimism independently with probability 1 - p_N each; the union is over at most T^K
    vectors of counts.

    >>> optimistic_size(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1))
    1084
    """
    require_finite(OPTIMISTIC_RULE.name, setting)
    return max(1, math.ceil(log_histories(setting) / -math.log1p(-P_N)))


def optimistic_radius(setting: Setting, size: int | None = None) -> float:
    """gamma_opt: all `size` members stay within it in all rounds with probability 1 - 2 delta.

    beta_T + beta_T (sqrt(d log(1 + T/(d lam)) + 2 log(2m/delta)) + sqrt(d) + sqrt(2
    log(2m/delta))).
    """
    size = optimistic_size(setting) if size is None else size
    log_failure = math.log(setting.delta) - math.log(2.0 * whole("size", size, 1))
    return radius(setting) * (1.0 + spread(setting, log_failure, GAUSSIAN))


def optimistic_bound(setting: Setting, size: int | None = None) -> float:
    """The optimistic member rule with `size` Gaussian members at beta_T, or `optimistic_size`.

    gamma_opt sqrt(2 d T log(1 + T/(d lam))) with probability 1 - 3 delta, if there are at least
    `sharp_optimistic_size`: Theorem 1's factor 1 + 8/p_N = 51.4 becomes 1 and its second term goes.
    More members make it larger, by a logarithm.

    That the maximum over an ensemble explores is known: it is remarked in Janz et al. 2024 and in
    Janz, Akhavan & Szepesvari 2026 (section 4: d^(3/2) sqrt(T) with d log T members); maxima over
    perturbations are used by Oh & Iyengar 2019 and Ishfaq et al. 2021 (LSVI-PHE). Ours are these
    explicit constants only, derived from the paper's lemmas; they are not in it.

    >>> setting = Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    >>> round(optimistic_bound(setting)), round(optimistic_bound(setting, 839))
    (103564, 102971)
    """
    require_optimistic(setting)
    if size is not None:
        require_members(setting, size)
    return optimistic_radius(setting, size) * math.sqrt(
        setting.horizon * elliptical_potential_bound(setting)
    )


def require_members(setting: Setting, size: int) -> None:
    """Raise unless so many members are enough for one of them to be optimistic in every round."""
    from ensample.theory.sharp import sharp_optimistic_size  # which builds on this module

    least = sharp_optimistic_size(setting)
    if whole("size", size, 1) < least:
        raise AssumptionError(
            OPTIMISTIC_RULE.name, f"at least {least:,} members", f"size = {size:,}"
        )
