"""Smaller ensembles with the same guarantee, by Chernoff's inequality and counted histories.

The paper's Proposition asks that in every round a share s = p/4 of the members be optimistic and
concentrated. For a fixed vector of pull counts each member is, independently, with probability q >=
p - delta/T, so that at most m s are with probability P(Bin(m, q) <= m s) <= exp(-m KL(s||q))
(Chernoff), where the paper has exp(-m p^2/8) (Hoeffding). And the pull counts of fewer than T
rounds on K arms are C(T-1+K, K) in number, which the paper bounds by T^K. Events, probability and
regret bound stay: B(gamma_T, s) with probability 1 - 4 delta. Not in the paper; the proof is its
own with two better steps.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ensample.checks import number, sequence, whole
from ensample.errors import AssumptionError
from ensample.perturbations import GAUSSIAN, P_N, Perturbation
from ensample.theory.assumptions import require_finite, require_theorem, unit_anticoncentration
from ensample.theory.bounds import regret_bound
from ensample.theory.guarantee import OPTIMISTIC_RULE, SHARP_THEOREM
from ensample.theory.radii import estimator_radius
from ensample.theory.setting import LONGEST, Setting

FEW = 64  # arms or rounds up to which logarithms are added one by one
STEPS = 100  # parts of p/4 in which `sharp_share` looks


class Tradeoff(NamedTuple):
    """The members that a share of optimistic ones needs, and the bound that it gives."""

    share: float  # of the members that are optimistic in every round
    size: int  # members that it takes
    bound: float  # on the regret, B(gamma_T, share)


def sharp_size(
    setting: Setting, share: float | None = None, perturbation: Perturbation = GAUSSIAN
) -> int:
    """Members of which a `share` is optimistic and concentrated in all rounds, but for delta.

    m = (log C(T-1+K, K) + log(1/delta)) / KL(share || p - delta/T) rounded up, at least 1, where
    KL(s||q) = s log(s/q) + (1-s) log((1-s)/(1-q)). The share is p/4 unless given, as in Theorem 1,
    whose bound and probability it keeps (see the module); p = p_N for Gaussian laws, else 0.01.

    >>> setting = Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    >>> sharp_size(setting), sharp_size(setting, P_N / 8)
    (2012, 1336)

    Reference: H. Chernoff, "A Measure of Asymptotic Efficiency for Tests of a Hypothesis", 1952;
    Lee & Oh 2024, Theorem 1.
    """
    require_theorem(setting, perturbation)
    share, p = checked_share(setting, share, perturbation)
    # q - share; p - share has no rounding where they are close
    gap = (p - share) - setting.delta / setting.horizon
    return max(1, math.ceil(sharp_log_histories(setting) / divergence(share, gap)))


def sharp_bound(
    setting: Setting, share: float | None = None, perturbation: Perturbation = GAUSSIAN
) -> float:
    """B(gamma_T, share), with probability 1 - 4 delta, for Algorithm 1 with `sharp_size` members.

    >>> round(sharp_bound(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)))
    6347334
    """
    require_theorem(setting, perturbation)
    share, _ = checked_share(setting, share, perturbation)
    return regret_bound(estimator_radius(setting, perturbation), share, setting)


def sharp_share(setting: Setting, size: int, perturbation: Perturbation = GAUSSIAN) -> float:
    """The largest share of optimistic members that `size` members keep, in hundredths of p/4.

    `AssumptionError` where they are too few for any.

    >>> setting = Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    >>> sharp_share(setting, 2012) == P_N / 4, round(sharp_share(setting, 59_497) / P_N, 4)
    (True, 0.8425)
    """
    size = whole("size", size, 1, LONGEST)
    require_theorem(setting, perturbation)
    shares = grid(setting, perturbation, STEPS)
    enough = [share for share in shares if sharp_size(setting, share, perturbation) <= size]
    if not enough:
        least = sharp_size(setting, shares[0], perturbation)
        raise AssumptionError(SHARP_THEOREM.name, f"at least {least:,} members", f"size = {size:,}")
    return enough[-1]


def frontier(
    setting: Setting, perturbation: Perturbation = GAUSSIAN, shares: Sequence[float] | None = None
) -> tuple[Tradeoff, ...]:
    """The trade of members for regret: `sharp_size` and `sharp_bound` over shares.

    Twentieths of p below p - delta/T unless given. Theorem 1 is at p/4, the fifth.

    >>> rows = frontier(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1))
    >>> len(rows), rows[4].size, rows[4].share == P_N / 4
    (19, 2012, True)
    """
    require_theorem(setting, perturbation)
    chosen = (
        grid(setting, perturbation, 5)
        if shares is None
        else sequence("shares", shares, "a sequence of numbers")
    )
    chosen = [checked_share(setting, share, perturbation)[0] for share in chosen]
    return tuple(
        Tradeoff(
            share,
            sharp_size(setting, share, perturbation),
            sharp_bound(setting, share, perturbation),
        )
        for share in chosen
    )


def sharp_optimistic_size(setting: Setting) -> int:
    """`optimistic_size` with counted histories.

    (log C(T-1+K, K) + log(1/delta)) / log(1/(1 - p_N)).

    `optimistic_bound` takes the size: with fewer members it is a little smaller.

    >>> sharp_optimistic_size(Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1))
    839
    """
    require_finite(OPTIMISTIC_RULE.name, setting)
    return max(1, math.ceil(sharp_log_histories(setting) / -math.log1p(-P_N)))


def checked_share(
    setting: Setting, share: float | None, perturbation: Perturbation
) -> tuple[float, float]:
    """(share, p), once the share is seen to be below p - delta/T."""
    _, p = unit_anticoncentration(perturbation)
    if share is None:
        return p / 4.0, p
    share = number("share", share, most=1.0, above=0.0)
    if not (p - share) - setting.delta / setting.horizon > 0.0:
        raise AssumptionError(
            SHARP_THEOREM.name,
            f"a share < p - delta/T = {p - setting.delta / setting.horizon:.6g}",
            f"share = {share:g}",
        )
    return share, p


def grid(setting: Setting, perturbation: Perturbation, parts: int) -> list[float]:
    """p/4 in so many parts, and on in the same steps as long as they are below p - delta/T."""
    _, p = unit_anticoncentration(perturbation)
    shares = [step / parts * (p / 4.0) for step in range(1, 4 * parts)]
    return [share for share in shares if (p - share) - setting.delta / setting.horizon > 0.0]


def sharp_log_histories(setting: Setting) -> float:
    """log C(T-1+K, K) + log(1/delta): the union over vectors of pull counts, and the confidence."""
    assert setting.arms is not None
    return log_choose(setting.horizon - 1, setting.arms) - math.log(setting.delta)


def log_choose(n: int, k: int) -> float:
    """log C(n + k, k), to the last digits for numbers of any size.

    Few factors are added one by one. Otherwise by Stirling's series, in a form where nothing
    cancels: k log(1 + n/k) + n log(1 + k/n) - log(2 pi n k/(n + k))/2 + r(n + k) - r(n) - r(k),
    r(x) = 1/(12 x) - 1/(360 x^3) + 1/(1260 x^5).

    >>> round(log_choose(9_999, 20), 6) == round(math.log(math.comb(10_019, 20)), 6)
    True
    """
    few, many = sorted((n, k))
    if few <= FEW:
        return math.fsum(math.log1p(many / i) for i in range(1, few + 1))
    x, y = float(few), float(many)
    main = x * math.log1p(y / x) + y * math.log1p(x / y)
    rest = stirling(x + y) - stirling(x) - stirling(y)
    return main - 0.5 * math.log(2.0 * math.pi * x / (1.0 + x / y)) + rest


def stirling(x: float) -> float:
    """log x! - (x log x - x + log(2 pi x)/2), for x > 64 to 1e-16."""
    y = 1.0 / x
    return y * (1.0 / 12.0 - y * y * (1.0 / 360.0 - y * y / 1260.0))


def divergence(s: float, gap: float) -> float:
    """KL(s || s + gap) = q f(s/q) + (1-q) f((1-s)/(1-q)), f(r) = r log r - r + 1 >= 0.

    In this form nothing cancels.

    >>> round(divergence(0.25, 0.25), 12) == round(0.25 * math.log(0.5) + 0.75 * math.log(1.5), 12)
    True
    """
    q = s + gap
    return q * bregman(-gap / q) + (1.0 - q) * bregman(gap / (1.0 - q))


def bregman(u: float) -> float:
    """(1 + u) log(1 + u) - u, by its series u^2/2 - u^3/6 + u^4/12 - ... near 0."""
    if abs(u) > 0.05:
        return (1.0 + u) * math.log1p(u) - u
    return math.fsum((-u) ** k / (k * (k - 1)) for k in range(2, 16))
