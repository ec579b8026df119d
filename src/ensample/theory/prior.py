"""What is known about ensemble sampling for linear bandits, as data."""

import math
from dataclasses import dataclass

from ensample.checks import instance
from ensample.errors import AssumptionError
from ensample.theory.radii import ensemble_size
from ensample.theory.setting import Setting


@dataclass(frozen=True)
class Work:
    """One row of the comparison. The orders leave out constants and, in the regret, logarithms."""

    work: str
    year: int
    algorithm: str
    note: str = ""
    kind: str = "Frequentist"  # or Bayesian regret
    regret: str | None = None  # None: withdrawn, or not settled
    regret_order: float | None = None
    size: str | None = None
    size_order: float | None = None  # None where K is infinite or there is no settled claim
    prescribed_size: int | None = None  # with the published constants, where there are any


def prior_work(setting: Setting) -> tuple[Work, ...]:
    """The paper's comparison table, later results and claims beyond linear, at a setting.

    >>> [row.work for row in prior_work(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1))]
    ['Lu & Van Roy', 'Qin et al.', 'Janz et al.', 'Lee & Oh', 'Sun, Wang & Xu',
     'Janz, Akhavan & Szepesvari', 'Hwang & Oh']
    """
    instance("setting", setting, Setting, "a Setting")
    return (
        WITHDRAWN,
        qin(setting),
        janz(setting),
        lee_oh(setting),
        UNSETTLED,
        akhavan(setting),
        hwang_oh(setting),
    )


WITHDRAWN = Work(
    work="Lu & Van Roy",
    year=2017,
    algorithm="uniform member, N(0, sigma^2) reward perturbations, W from the prior",
    note="the analysis was withdrawn by its authors",
)

UNSETTLED = Work(
    work="Sun, Wang & Xu",
    year=2025,
    algorithm="generalised linear and neural ensembles: Algorithm 1 on the perturbed "
    "likelihood or loss",
    note="arXiv 2510.10730: bounds and sizes changed between versions; unsettled, so none is "
    "given here",
)


def qin(setting: Setting) -> Work:
    d, K, T = setting.dim, setting.arms, setting.horizon
    return Work(
        work="Qin et al.",
        year=2022,
        algorithm="as Lu & Van Roy",
        note="Bayesian regret is the weaker notion",
        kind="Bayesian",
        regret="sqrt(d T log K)",
        regret_order=None if K is None else math.sqrt(d * T * math.log(K)),
        size="K T",
        size_order=None if K is None else float(K * T),
    )


def janz(setting: Setting) -> Work:
    return Work(
        work="Janz et al.",
        year=2024,
        algorithm="theta_hat + xi_t r_t V^-1 S^J with a random sign xi_t each round",
        note="symmetrised; the bound grows with the ensemble size",
        regret="d^(5/2) sqrt(T)",
        regret_order=setting.dim**2.5 * math.sqrt(setting.horizon),
        size="d log T",
        size_order=setting.dim * log_horizon(setting),
    )


def lee_oh(setting: Setting) -> Work:
    return Work(
        work="Lee & Oh",
        year=2024,
        algorithm="Algorithm 1",
        note="the paper of this library; no dependence of the bound on K or m",
        regret=BEST,
        regret_order=best_order(setting),
        size="K log T",
        size_order=None if setting.arms is None else setting.arms * log_horizon(setting),
        prescribed_size=theorem_size(setting),
    )


def akhavan(setting: Setting) -> Work:
    d, T = setting.dim, setting.horizon
    return Work(
        work="Janz, Akhavan & Szepesvari",
        year=2026,
        algorithm="Algorithm 1 with unscaled sums; gamma beta_{t-1} (determinant form) applied "
        "when choosing",
        note="any arm set; 2000 d log(T/delta) members, lam >= 80, gamma = 40; on the unit ball "
        "m <= d/2 fails",
        regret=BEST,
        regret_order=best_order(setting),
        size="d log T",
        size_order=d * log_horizon(setting),
        prescribed_size=math.ceil(2000.0 * d * (math.log(T) - math.log(setting.delta))),
    )


def hwang_oh(setting: Setting) -> Work:
    d = setting.dim
    return Work(
        work="Hwang & Oh",
        year=2026,
        algorithm="the ensemble is refreshed when det V has grown by a factor",
        regret=BEST,
        regret_order=best_order(setting),
        size="d log d + d log log T",
        size_order=d * math.log(d) + d * math.log(max(log_horizon(setting), 1.0)),
    )


BEST = "d^(3/2) sqrt(T)"


def best_order(setting: Setting) -> float:
    return float(setting.dim**1.5 * math.sqrt(setting.horizon))


def log_horizon(setting: Setting) -> float:
    return math.log(max(setting.horizon, 2))


def theorem_size(setting: Setting) -> int | None:
    try:
        return ensemble_size(setting)
    except AssumptionError:
        return None
