"""Constants against 20-digit references and an independent evaluation at 50 digits."""

import json
from dataclasses import replace
from pathlib import Path

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensample as es
from ensample import theory
from ensample.theory import Setting

REFERENCE = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())
BASE = Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
EXTREME = Setting(
    dim=10**6, arms=10**9, horizon=10**18, noise=2.5, norm=3, regularization=1, delta=1e-300
)
TINY = Setting(dim=10**6, arms=3, horizon=1, noise=1, norm=1, regularization=1e6, delta=0.01)


def setting_of(row: dict) -> Setting:
    return Setting(
        row["d"],
        row["K"],
        row["T"],
        float(row["sigma"]),
        float(row["S"]),
        float(row["lambda"]),
        float(row["delta"]),
    )


@pytest.mark.parametrize("row", REFERENCE["settings"], ids=lambda row: row["name"])
def test_reference_values(row: dict) -> None:
    setting = setting_of(row)
    for name, value in {
        "beta_0": theory.radius(setting, 0),
        "beta_T": theory.radius(setting),
        "gamma_tilde_T": theory.perturbation_radius(setting),
        "gamma_T": theory.estimator_radius(setting),
        "bound_theorem1": theory.theorem_bound(setting),
        "bound_corollary_linphe": theory.phe_bound(setting),
        "bound_linucb_general": theory.ucb_bound(setting),
    }.items():
        assert value == pytest.approx(float(row[name]), rel=1e-12, abs=0)
    assert theory.ensemble_size(setting) == row["m_ceil"]


def test_gaussian_anticoncentration() -> None:
    assert pytest.approx(float(REFERENCE["p_N"]), rel=1e-15, abs=0) == theory.P_N
    assert (
        pytest.approx(float(REFERENCE["eight_over_p_N_squared"]), rel=1e-12, abs=0)
        == 8 / theory.P_N**2
    )


def naive(
    setting: Setting, c: str = "1", p: str | None = None, gaussian: bool = True
) -> dict[str, mp.mpf]:
    """Every constant at 50 digits, straight from the tables of the paper."""
    with mp.workdps(50):
        d, T, lam = map(mp.mpf, (setting.dim, setting.horizon, setting.regularization))
        sigma, S, delta = map(mp.mpf, (setting.noise, setting.norm, setting.delta))
        p_N = mp.erfc(1 / mp.sqrt(2)) / 2
        p = p_N if p is None else mp.mpf(p)
        log_det = d * mp.log(1 + T / (d * lam))
        beta = sigma * mp.sqrt(log_det + 2 * mp.log(1 / delta)) + mp.sqrt(lam) * S
        tail = mp.log(2 * T / delta)
        initial = mp.sqrt(d) + mp.sqrt(2 * tail) if gaussian else mp.sqrt(2 * d + 4 * tail)
        scale = beta / mp.mpf(c)
        spread = scale * (mp.sqrt(log_det + 2 * tail) + initial)

        def bound(gamma, q):
            first = gamma * (1 + 2 / q) * mp.sqrt(2 * T * log_det)
            return first + gamma / q * mp.sqrt(2 * T / lam * mp.log(1 / delta))

        values = {
            "beta": beta,
            "scale": scale,
            "gamma_tilde": spread,
            "theorem": bound(spread + beta, p / 4),
            "phe": bound(spread + beta, p / 2),
            "ucb": bound(2 * beta, mp.mpf(1)),
        }
        if setting.arms is not None:
            histories = setting.arms * mp.log(T) + mp.log(1 / delta)
            m = mp.ceil(histories / mp.log(1 / (1 - p_N)))
            wide = mp.log(2 * m / delta)
            opt = beta * (1 + mp.sqrt(log_det + 2 * wide) + mp.sqrt(d) + mp.sqrt(2 * wide))
            values |= {
                "size": mp.ceil(8 / p**2 * histories),
                "optimistic_size": m,
                "optimistic": opt * mp.sqrt(2 * T * log_det),
            }
        return values


@pytest.mark.parametrize("setting", [BASE, EXTREME, TINY], ids=["base", "extreme", "tiny"])
@pytest.mark.parametrize(
    "law", [es.Gaussian(), es.Rademacher(), es.Uniform(7.0), es.CenteredBinomial(3)], ids=repr
)
def test_against_fifty_digits(setting: Setting, law: es.Perturbation) -> None:
    if law == es.Gaussian():
        expected = naive(setting)
    else:
        expected = naive(setting, c=mp.mpf(1) / 3, p="0.01", gaussian=False)
        if setting is TINY:
            setting = replace(setting, delta=0.005)
            expected = naive(setting, c=mp.mpf(1) / 3, p="0.01", gaussian=False)
    measured = {
        "beta": theory.radius(setting),
        "scale": theory.perturbation_scale(setting, law),
        "gamma_tilde": theory.perturbation_radius(setting, law),
        "theorem": theory.theorem_bound(setting, law),
        "phe": theory.phe_bound(setting, law),
        "ucb": theory.ucb_bound(setting),
        "size": theory.ensemble_size(setting, law),
        "optimistic_size": theory.optimistic_size(setting),
        "optimistic": theory.optimistic_bound(setting),
    }
    for name, value in measured.items():
        assert value == pytest.approx(float(expected[name]), rel=1e-12, abs=0), name


def test_ratios_the_paper_states() -> None:
    """55 times fewer members for the optimistic rule; m grows by (p_N / 0.01)^2 for other laws."""
    assert theory.ensemble_size(BASE) / theory.optimistic_size(BASE) == pytest.approx(55, abs=0.5)
    ratio = theory.ensemble_size(BASE, es.Rademacher()) / theory.ensemble_size(BASE)
    assert ratio == pytest.approx((theory.P_N / 0.01) ** 2, rel=1e-4)
    assert theory.perturbation_scale(BASE, es.Rademacher(0.1)) == pytest.approx(
        3 * theory.radius(BASE), rel=1e-15
    )


@pytest.mark.parametrize(
    ("arms", "horizon"), [(5, 16_372), (10, 34_126), (20, 72_049), (100, 411_842)]
)
def test_horizon_from_which_the_size_is_sublinear(arms: int, horizon: int) -> None:
    """The published figures are rounded roots; ours is the first whole horizon past the root."""
    setting = replace(BASE, arms=arms)
    found = theory.sublinear_horizon(setting)
    assert found - horizon in (0, 1)
    assert theory.ensemble_size(replace(setting, horizon=found)) <= found
    assert theory.ensemble_size(replace(setting, horizon=found - 1)) > found - 1


def test_horizon_from_which_a_bound_says_something() -> None:
    setting = replace(BASE, dim=2, arms=10)
    found = theory.informative_horizon(setting)
    assert found == pytest.approx(1.5e9, rel=0.05)
    assert theory.theorem_bound(replace(setting, horizon=found)) < 2 * found
    assert theory.theorem_bound(replace(setting, horizon=found - 1)) >= 2 * (found - 1)
    assert theory.informative_horizon(replace(setting, norm=0)) is None
    assert theory.informative_horizon(setting, theory.ucb_bound) < found


@pytest.mark.parametrize(
    ("function", "change", "assumption"),
    [
        (theory.theorem_bound, {"regularization": 0.5}, "regularization >= 1"),
        (theory.phe_bound, {"regularization": 0.5}, "regularization >= 1"),
        (theory.ucb_bound, {"regularization": 0.999}, "regularization >= 1"),
        (theory.elliptical_potential_bound, {"regularization": 0.1}, "regularization >= 1"),
        (theory.optimistic_bound, {"regularization": 0.1}, "regularization >= 1"),
        (
            lambda s: theory.regret_bound(1.0, 0.5, s),
            {"regularization": 0.1},
            "regularization >= 1",
        ),
        (theory.theorem_bound, {"delta": 0.1, "horizon": 1}, "delta/horizon"),
        (theory.ensemble_size, {"delta": 0.1, "horizon": 1}, "delta/horizon"),
        (theory.phe_bound, {"delta": 0.1, "horizon": 1}, "delta/horizon"),
        (
            lambda s: theory.theorem_bound(s, es.Rademacher()),
            {"delta": 0.2, "horizon": 39},
            "delta/horizon",
        ),
        (theory.theorem_bound, {"arms": None}, "finitely many arms"),
        (theory.ensemble_size, {"arms": None}, "finitely many arms"),
        (theory.optimistic_size, {"arms": None}, "finitely many arms"),
        (theory.optimistic_bound, {"arms": None}, "finitely many arms"),
        (theory.theorem_bound, {"delta": 0.25}, "delta < 0.25"),
        (theory.phe_bound, {"delta": 1 / 3}, "delta < 0.3333"),
        (theory.optimistic_bound, {"delta": 0.34}, "delta < 0.3333"),
        (theory.ucb_bound, {"delta": 0.5}, "delta < 0.5"),
        (lambda s: theory.regret_bound(1.0, 0.5, s), {"delta": 1.0}, "delta < 1"),
        (es.EnsembleSampling.from_theorem, {"arms": None}, "finitely many arms"),
        (es.EnsembleSampling.from_theorem, {"regularization": 0.5}, "regularization >= 1"),
        (es.PerturbedHistory.from_theorem, {"delta": 0.4}, "delta < 0.3333"),
    ],
)
def test_outside_its_assumptions_a_theorem_refuses(function, change: dict, assumption: str) -> None:
    function(BASE)  # inside them it answers
    with pytest.raises(es.AssumptionError, match=assumption) as caught:
        function(replace(BASE, **change))
    assert assumption in caught.value.assumption


def test_what_needs_no_assumption() -> None:
    """Radii hold for every lam > 0, and LinPHE for infinite sets."""
    assert theory.radius(replace(BASE, regularization=1e-6)) > 0
    assert theory.phe_bound(replace(BASE, arms=None)) == theory.phe_bound(BASE)


def test_the_potential_lemma_is_false_below_one() -> None:
    """Why lam >= 1 is guarded: d = T = 1, lam = 0.1 gives 10 > 4.80."""
    potential = 1.0**2 / 0.1
    printed = 2 * 1 * float(mp.log(1 + 1 / 0.1))
    assert potential == pytest.approx(10)
    assert printed == pytest.approx(4.80, abs=0.005)
    assert potential > printed


def test_prior_work() -> None:
    rows = {row.work: row for row in theory.prior_work(BASE)}
    assert rows["Lee & Oh"].prescribed_size == 59_497
    assert (
        rows["Janz, Akhavan & Szepesvari"].prescribed_size == 2000 * 5 * 12.206072645530174 // 1 + 1
    )
    assert rows["Qin et al."].kind == "Bayesian" and rows["Qin et al."].size_order == 200_000
    assert rows["Janz et al."].regret_order == pytest.approx(5**2.5 * 100)
    unsettled = rows["Sun, Wang & Xu"]
    assert unsettled.year == 2025
    assert unsettled.regret is unsettled.size is None
    assert "unsettled" in unsettled.note
    infinite = {row.work: row for row in theory.prior_work(replace(BASE, arms=None))}
    assert infinite["Lee & Oh"].size_order is None
    assert infinite["Janz et al."].size_order is not None


@given(
    dim=st.integers(1, 10**6),
    arms=st.integers(1, 10**9),
    horizon=st.integers(10, 10**18),
    noise=st.floats(0, 1e6),
    norm=st.floats(0, 1e6),
    regularization=st.floats(1, 1e6),
    delta=st.floats(1e-300, 0.2),
)
def test_bounds_are_finite_and_ordered(
    dim, arms, horizon, noise, norm, regularization, delta
) -> None:
    setting = Setting(dim, arms, horizon, noise, norm, regularization, delta)
    bounds = [
        theory.ucb_bound(setting),
        theory.optimistic_bound(setting),
        theory.phe_bound(setting),
    ]
    bounds.append(theory.theorem_bound(setting))
    assert all(0 <= bound < float("inf") for bound in bounds)
    assert bounds[2] <= bounds[3]
    assert theory.optimistic_size(setting) <= theory.ensemble_size(setting)
    assert theory.radius(setting, 0) <= theory.radius(setting) <= theory.estimator_radius(setting)


def test_a_law_with_too_little_variance_is_not_admitted() -> None:
    class Narrow(es.Uniform):
        """Uniform on [-scale, scale] with the crude constant `scale`: variance 1/3 < 1/2."""

        @property
        def variance(self) -> float:
            return self.scale**2 / 3

    with pytest.raises(es.AssumptionError, match="variance >= 1/2"):
        theory.ensemble_size(BASE, Narrow())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("dim", value) for value in (0, -1, 1.5, "5", True, None)),
        *(("arms", value) for value in (0, -3, 2.0, "many")),
        *(("horizon", value) for value in (0, -1, 1e4, None)),
        *(("noise", value) for value in (-0.1, float("nan"), float("inf"), "1", None)),
        *(("norm", value) for value in (-1, float("nan"), 1j)),
        *(("regularization", value) for value in (0, -1, float("inf"))),
        *(("delta", value) for value in (0, -0.1, 1.5, float("nan"))),
    ],
)
def test_a_setting_refuses_nonsense(field: str, value: object) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        replace(BASE, **{field: value})
    assert caught.value.argument == field
    assert str(caught.value).startswith(f"{field} = ") and "expected" in str(caught.value)
