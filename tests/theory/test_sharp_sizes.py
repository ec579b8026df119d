"""The sharper sizes, at 30 digits, and the binomial tails and count vectors behind them."""

import math
from dataclasses import replace
from itertools import product

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ensample as es
from ensample import theory
from ensample.theory import P_N, Setting
from ensample.theory.sharp import divergence, log_choose

BASE = Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
LAWS = [es.Gaussian(), es.Rademacher()]


@pytest.mark.parametrize(
    ("arms", "horizon", "delta", "paper", "sharp"),
    [
        (20, 10**4, 0.05, 59_497, 2_012),
        (5, 10**4, 0.05, 15_589, 615),
        (100, 10**4, 0.05, 293_676, 7_784),
        (10, 10**5, 0.01, 38_054, 1_453),
    ],
)
def test_thirty_times_smaller(
    arms: int, horizon: int, delta: float, paper: int, sharp: int
) -> None:
    setting = replace(BASE, arms=arms, horizon=horizon, delta=delta)
    assert theory.ensemble_size(setting) == paper and theory.sharp_size(setting) == sharp
    assert theory.sharp_size(setting, P_N / 4) == sharp
    assert theory.sharp_bound(setting) == theory.theorem_bound(setting)


def test_the_optimistic_rule() -> None:
    assert theory.optimistic_size(BASE) == 1_084 and theory.sharp_optimistic_size(BASE) == 839
    assert theory.optimistic_bound(BASE, 839) < theory.optimistic_bound(BASE)


def exact(setting: Setting, share: mp.mpf | None, gaussian: bool) -> dict[str, mp.mpf]:
    """Return sizes before rounding up, and the bound, straight from the formulas."""
    T, K, delta = map(mp.mpf, (setting.horizon, setting.arms, setting.delta))
    d, lam, sigma, S = map(
        mp.mpf, (setting.dim, setting.regularization, setting.noise, setting.norm)
    )
    p_N = mp.erfc(1 / mp.sqrt(2)) / 2
    p = p_N if gaussian else mp.mpf("0.01")
    q, s = p - delta / T, p / 4 if share is None else share
    log_c = mp.loggamma(T + K) - mp.loggamma(K + 1) - mp.loggamma(T)  # of C(T-1+K, K)
    kl = s * mp.log(s / q) + (1 - s) * mp.log((1 - s) / (1 - q))
    histories = log_c - mp.log(delta)
    log_det, tail = d * mp.log(1 + T / (d * lam)), mp.log(2 * T / delta)
    beta = sigma * mp.sqrt(log_det - 2 * mp.log(delta)) + mp.sqrt(lam) * S
    initial = mp.sqrt(d) + mp.sqrt(2 * tail) if gaussian else mp.sqrt(2 * d + 4 * tail)
    gamma = beta + (1 if gaussian else 3) * beta * (mp.sqrt(log_det + 2 * tail) + initial)
    walk, chance = mp.sqrt(2 * T * log_det), mp.sqrt(-2 * T / lam * mp.log(delta))
    return {
        "size": histories / kl,
        "optimistic": histories / -mp.log(1 - p_N),
        "bound": gamma * (1 + 2 / s) * walk + gamma / s * chance,
    }


def rounded_up(value: mp.mpf, found: int) -> bool:
    """Whether `found` is the ceiling of a value that doubles know to twelve digits."""
    slack = 1e-12 * value
    return mp.ceil(value - slack) <= found <= mp.ceil(value + slack)


def wide(most: int) -> st.SearchStrategy[int]:
    """Whole numbers of every order of magnitude."""
    return st.floats(0.0, math.log(most)).map(lambda x: min(most, max(1, int(math.exp(x)))))


@settings(max_examples=200, deadline=None)
@given(
    dim=wide(10**9),
    arms=wide(10**30),
    horizon=wide(10**30),
    regularization=st.floats(1.0, 1e6),
    delta=st.floats(-690.0, -1.5).map(math.exp),
    noise=st.floats(0.0, 1e3),
    part=st.none() | st.floats(0.01, 0.99),
    law=st.sampled_from(LAWS),
)
def test_at_thirty_digits(dim, arms, horizon, regularization, delta, noise, part, law) -> None:
    setting = Setting(dim, arms, max(horizon, 200), noise, 1.0, regularization, delta)
    p = law.rescaled(1.0).anticoncentration[1]
    share = None if part is None else part * (p - setting.delta / setting.horizon)
    with mp.workdps(30 + 35):  # log-gammas of 1e30 lose 30 digits to each other
        expected = exact(setting, None if share is None else mp.mpf(share), law == es.Gaussian())
        assert rounded_up(expected["size"], theory.sharp_size(setting, share, law))
        assert rounded_up(expected["optimistic"], theory.sharp_optimistic_size(setting))
        assert mp.almosteq(theory.sharp_bound(setting, share, law), expected["bound"], 1e-12)
    assert theory.sharp_size(setting, None, law) <= theory.ensemble_size(setting, law)
    assert theory.sharp_optimistic_size(setting) <= max(1, theory.optimistic_size(setting))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 66, 1_000, 10**7, 10**15])
def test_logarithms_of_binomial_coefficients_meet_where_they_change_formula(n: int) -> None:
    for k in (1, 63, 64, 65, 66, 500):
        exact_value = math.log(math.comb(n + k, k))  # whole numbers, exact
        assert (
            log_choose(n, k)
            == pytest.approx(exact_value, rel=2e-14)
            == pytest.approx(log_choose(k, n), rel=2e-14)
        )


def test_the_union_is_over_as_many_vectors_as_there_are() -> None:
    for arms, horizon in ((1, 5), (2, 6), (3, 7)):
        vectors = [v for v in product(range(horizon), repeat=arms) if sum(v) <= horizon - 1]
        assert len(vectors) == round(math.exp(log_choose(horizon - 1, arms))) <= horizon**arms


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-6, 1e-9, 1e-12])
def test_a_divergence_keeps_its_digits(gap: float) -> None:
    with mp.workdps(50):
        s, g = mp.mpf(0.1), mp.mpf(gap)
        expected = s * mp.log(s / (s + g)) + (1 - s) * mp.log((1 - s) / (1 - s - g))
        assert mp.almosteq(divergence(0.1, gap), expected, 1e-13)


@pytest.mark.parametrize("share", [None, P_N / 10, P_N / 2])
def test_so_many_members_are_enough_and_not_far_from_needed(share: float | None) -> None:
    """The tail itself: below delta over the histories with m members, not with two thirds."""
    setting = Setting(dim=2, arms=3, horizon=50, noise=1, norm=1)
    size, s = theory.sharp_size(setting, share), share or P_N / 4
    allowed = setting.delta / math.comb(setting.horizon - 1 + 3, 3)
    q = P_N - setting.delta / setting.horizon

    def tail(m: int) -> float:
        return math.fsum(
            math.comb(m, k) * q**k * (1 - q) ** (m - k) for k in range(math.floor(m * s) + 1)
        )

    assert tail(size) <= allowed < tail(2 * size // 3)


def test_the_frontier() -> None:
    rows = theory.frontier(BASE)
    assert [row.size for row in rows] == sorted(row.size for row in rows)
    assert [row.bound for row in rows] == sorted((row.bound for row in rows), reverse=True)
    assert rows[4] == (P_N / 4, 2_012, theory.theorem_bound(BASE))
    assert theory.frontier(BASE, shares=[0.1, 0.05])[0] == (
        0.1,
        theory.sharp_size(BASE, 0.1),
        theory.sharp_bound(BASE, 0.1),
    )
    assert theory.frontier(BASE, es.Rademacher())[4].size == theory.sharp_size(
        BASE, None, es.Rademacher()
    )
    near = replace(BASE, horizon=10, delta=0.2)
    assert all(row.share < P_N - 0.02 for row in theory.frontier(near))
    assert len(theory.frontier(near)) == 17


def test_shares_that_nothing_is_proved_for() -> None:
    with pytest.raises(es.AssumptionError, match=r"a share < p - delta/T = 0\.15865"):
        theory.sharp_size(BASE, P_N)
    for share in (0.0, -0.1, 1.5, float("nan"), "half"):
        for function in (theory.sharp_size, theory.sharp_bound):
            with pytest.raises(es.InvalidArgument, match=r"^share = "):
                function(BASE, share)
    with pytest.raises(es.AssumptionError, match="at least 853 members; here size = 800"):
        theory.sharp_share(BASE, 800)
    with pytest.raises(es.AssumptionError, match="finitely many arms"):
        theory.sharp_size(replace(BASE, arms=None))


def test_the_largest_share_that_members_are_proved_to_keep() -> None:
    for size in (900, 2_012, 5_000):
        share = theory.sharp_share(BASE, size)
        assert theory.sharp_size(BASE, share) <= size < theory.sharp_size(BASE, share + P_N / 400)


def test_the_optimistic_bound_asks_for_enough_members() -> None:
    setting = Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    least = theory.sharp_optimistic_size(setting)
    assert theory.optimistic_bound(setting, least) < theory.optimistic_bound(setting)
    with pytest.raises(es.AssumptionError, match="at least 839 members"):
        theory.optimistic_bound(setting, least - 1)
