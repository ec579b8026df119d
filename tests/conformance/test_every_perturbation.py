"""Laws that hold for every perturbation, a user's own among them."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import ensample as es
from evidence import holds, pmf_p_value


@dataclass(frozen=True)
class Triangular(es.Perturbation):
    """A law of a user's own, as the documentation shows it."""

    scale: float = 1.0

    @property
    def subgaussian(self) -> float:
        return self.scale

    def draw(self, rng, shape):
        edge = 6**0.5
        return self.scale * rng.triangular(-edge, 0.0, edge, shape)


LAWS = [
    es.Gaussian(0.7),
    es.Rademacher(0.7),
    es.Uniform(0.7),
    es.CenteredBinomial(trials=1, scale=0.7),
    es.CenteredBinomial(trials=4, scale=0.7),
    Triangular(0.7),
]
INITIAL = [*LAWS, es.Sphere(0.7)]
DRAWS = 20_000
every_law = pytest.mark.parametrize("law", LAWS, ids=repr)
every_initial_law = pytest.mark.parametrize("law", INITIAL, ids=repr)


def signs_behind(law: es.Perturbation) -> int | None:
    """A draw of the discrete laws is the sum of this many signs, rescaled."""
    return {es.Rademacher: 1, es.CenteredBinomial: getattr(law, "trials", 0)}.get(type(law))


def sum_p_value(law: es.Perturbation, n: int, drawn: np.ndarray, rng: np.random.Generator) -> float:
    """That `drawn` are sums of n draws.

    Against the exact law where there is one, else against n draws added.
    """
    signs = signs_behind(law)
    if signs is not None:
        heads = np.round(drawn * np.sqrt(signs) / law.scale / 2 + n * signs / 2, 6)
        support = np.arange(n * signs + 1)
        return pmf_p_value(heads, support, stats.binom.pmf(support, n * signs, 0.5))
    if isinstance(law, es.Gaussian):
        return float(stats.kstest(drawn, stats.norm(0, law.scale * n**0.5).cdf).pvalue)
    added = np.array([law.draw(rng, n).sum() for _ in range(len(drawn))])
    return float(stats.ks_2samp(drawn, added).pvalue)


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
@every_law
def test_a_sum_in_one_step_has_the_law_of_draws_added(law: es.Perturbation, n: int) -> None:
    rng = np.random.default_rng(n)
    draws = DRAWS if n < 1000 else 4000
    assert holds(sum_p_value(law, n, law.draw_sum(rng, np.full(draws, n)), rng))
    added = np.array([law.draw(rng, n).sum() for _ in range(draws)])
    assert holds(sum_p_value(law, n, added, rng))


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
@every_law
def test_a_wrong_sum_is_caught(law: es.Perturbation, n: int) -> None:
    """Negative control: the sum of twice as many draws."""
    rng = np.random.default_rng(n)
    wrong = law.draw_sum(rng, np.full(DRAWS if n < 1000 else 4000, 2 * n))
    assert not holds(sum_p_value(law, n, wrong, rng))


@every_law
def test_sums_are_vectorised(law: es.Perturbation) -> None:
    counts = np.array([[0, 1, 5], [0, 1000, 2]])
    sums = law.draw_sum(np.random.default_rng(0), counts)
    assert sums.shape == counts.shape and sums.dtype == np.float64
    assert (sums[counts == 0] == 0.0).all()
    many = law.draw_sum(np.random.default_rng(1), np.tile([0, 3, 300], 4000)).reshape(4000, 3)
    for column, n in zip(many.T, (0, 3, 300), strict=True):
        assert column.var() == pytest.approx(n * law.variance, rel=0.2)
    assert law.draw_sum(np.random.default_rng(0), np.zeros(0, np.int64)).shape == (0,)


@every_law
def test_draws_have_their_shape_mean_and_variance(law: es.Perturbation) -> None:
    draws = law.draw(np.random.default_rng(2), (40, 1000))
    assert draws.shape == (40, 1000) and draws.dtype == np.float64
    error = (law.variance / draws.size) ** 0.5
    assert abs(draws.mean()) < 6 * error
    assert draws.var() == pytest.approx(law.variance, rel=0.06)


@every_initial_law
def test_moment_generating_function_is_subgaussian(law: es.InitialLaw) -> None:
    """E exp(u'W) <= exp(s^2 |u|^2 / 2), up to six standard errors of the estimate."""
    vectors = law.draw_vectors(np.random.default_rng(3), 50_000, 3)
    for direction in (np.array([1.0, 0, 0]), np.array([0.6, -0.8, 0]), np.ones(3) / 3**0.5):
        for length in (0.5, 1.0, 2.0):
            values = np.exp(vectors @ direction * length / law.scale)
            error = values.std() / len(values) ** 0.5
            assert (
                values.mean()
                <= np.exp(0.5 * (length * law.subgaussian / law.scale) ** 2) + 6 * error
            )


@every_initial_law
def test_anticoncentration(law: es.InitialLaw) -> None:
    """P(u'W >= c |u|) >= p, seen through an exact binomial interval."""
    c, p = law.anticoncentration
    vectors = law.draw_vectors(np.random.default_rng(4), 50_000, 5)
    for direction in (np.eye(5)[0], np.ones(5) / 5**0.5, np.array([1.0, 0.5, 0.2, 0.1, 0.05])):
        hits = int((vectors @ direction >= c * np.linalg.norm(direction)).sum())
        assert holds(stats.binomtest(hits, len(vectors), p, alternative="less").pvalue)


def test_anticoncentration_can_fail() -> None:
    """Negative control: draws at 90% of the scale do not have Gaussian anti-concentration."""
    c, p = es.Gaussian(1.0).anticoncentration
    hits = int((es.Gaussian(0.9).draw(np.random.default_rng(5), 50_000) >= c).sum())
    assert not holds(stats.binomtest(hits, 50_000, p, alternative="less").pvalue)


@every_initial_law
def test_norm_bound(law: es.InitialLaw) -> None:
    """|W| exceeds its bound at delta with probability at most delta."""
    for dim in (1, 4, 30):
        norms = np.linalg.norm(law.draw_vectors(np.random.default_rng(dim), 20_000, dim), axis=1)
        for delta in (0.5, 0.1, 0.01):
            exceed = int((norms > law.norm_bound(dim, np.log(delta)) * (1 + 1e-12)).sum())
            assert holds(stats.binomtest(exceed, len(norms), delta, alternative="greater").pvalue)


@every_initial_law
def test_rescaled_is_the_same_law(law: es.InitialLaw) -> None:
    twice = law.rescaled(2 * law.scale)
    assert type(twice) is type(law) and twice.variance == pytest.approx(4 * law.variance)
    one = law.draw_vectors(np.random.default_rng(6), 4, 3)
    np.testing.assert_allclose(twice.draw_vectors(np.random.default_rng(6), 4, 3), 2 * one)


@every_initial_law
def test_a_scale_is_a_number(law: es.InitialLaw) -> None:
    for value in (-1.0, float("nan"), float("inf"), "1", None, [1.0]):
        with pytest.raises(es.InvalidArgument, match=r"^scale = "):
            law.rescaled(value)
    assert (law.rescaled(0.0).draw_vectors(np.random.default_rng(0), 2, 2) == 0.0).all()


def test_sphere_is_on_the_sphere_and_turns_freely() -> None:
    vectors = es.Sphere(0.5).draw_vectors(np.random.default_rng(7), 20_000, 4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0)
    np.testing.assert_allclose(np.cov(vectors.T), 0.25 * np.eye(4), atol=0.01)


def test_trials_are_whole() -> None:
    for value in (0, -1, 1.5, "4"):
        with pytest.raises(es.InvalidArgument, match=r"^trials = "):
            es.CenteredBinomial(value)
