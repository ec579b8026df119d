"""From measurements to verdicts: SciPy's tails against slow ones, and rates of errors."""

import numpy as np
import pytest
from scipy import stats

from ensample import statistics as ours
from ensample.claims import CLAIMS, Verdict
from ensample.claims.evidence import (
    CLAIM_ALARM,
    MOST_CLAIMS,
    SUITE_FALSE_ALARM,
    always_at_least,
    always_at_most,
    cell,
    generator,
    identity,
    probability_at_least,
    probability_at_most,
    probability_equals,
    same_law,
    slope_at_most,
    weakest,
)
from evidence import FALSE_ALARM
from naive import tails

ALARM = 0.1  # large enough for errors to be seen in the tests of the error rates


def at_most_often(times: int, trials: int, probability: float) -> bool:
    """Whether `times` successes are compatible with a probability of at most `probability`."""
    return bool(stats.binom.sf(times - 1, trials, probability) > FALSE_ALARM)


@pytest.mark.parametrize("a", [0.5, 1, 3.5, 40, 2000.5])
@pytest.mark.parametrize("b", [0.5, 1, 7, 300, 1e5])
def test_incomplete_beta(a: float, b: float) -> None:
    for x in (1e-9, 0.01, a / (a + b), 0.5, 0.999):
        assert ours.beta_cdf(a, b, x) == pytest.approx(
            tails.beta_cdf(a, b, x), rel=1e-9, abs=1e-300
        )


@pytest.mark.parametrize(
    ("k", "n"), [(0, 5), (5, 5), (3, 10), (0, 10**6), (10**6, 10**6), (12345, 10**6), (1, 10**7)]
)
@pytest.mark.parametrize("alarm", [0.05, CLAIM_ALARM, 1e-9])
def test_clopper_pearson(k: int, n: int, alarm: float) -> None:
    interval = ours.binomial_interval(k, n, alarm)
    assert interval == pytest.approx(tails.binomial_interval(k, n, alarm), rel=1e-6, abs=1e-12)
    theirs = stats.binomtest(k, n).proportion_ci(1 - alarm, "exact")
    assert interval == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 9, 50])
def test_student(freedom: int) -> None:
    for alarm in (0.3, 0.01, 1e-6):
        assert ours.student_quantile(alarm, freedom) == pytest.approx(
            tails.student_quantile(alarm, freedom), rel=1e-8
        )


@pytest.mark.parametrize("dim", [1, 2, 3, 10, 99, 100, 1001])
def test_chi_square(dim: int) -> None:
    for x in (1e-3, dim / 2, dim, 3.0 * dim, dim + 500.0):
        assert ours.chi_square_tail(dim, x) == pytest.approx(
            tails.chi_square_tail(dim, x), rel=1e-9
        )


def test_kolmogorov_smirnov() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(500), rng.standard_normal(300)
    assert ours.ks_distance(a, b) == pytest.approx(stats.ks_2samp(a, b).statistic)
    assert ours.ks_distance_to(ours.normal_cdf(a)) == pytest.approx(
        stats.kstest(a, stats.norm.cdf).statistic
    )
    assert ours.ks_distance(np.zeros(4), np.zeros(9)) == 0.0


@pytest.mark.parametrize("truth", [0.02, 0.3, 0.5, 0.97])
def test_true_statements_are_seldom_refuted_and_false_ones_seldom_upheld(truth: float) -> None:
    """On the border of the statement, where errors are most likely."""
    tests, n = 2000, 400
    values, repeats = np.unique(
        np.random.default_rng(1).binomial(n, truth, tests), return_counts=True
    )
    verdicts = {
        "refuted though P >= truth": (
            Verdict.REFUTED,
            lambda k: probability_at_least(k, n, truth, "", ALARM),
        ),
        "refuted though P <= truth": (
            Verdict.REFUTED,
            lambda k: probability_at_most(k, n, truth, "", ALARM),
        ),
        "refuted though P = truth": (
            Verdict.REFUTED,
            lambda k: probability_equals(k, n, truth, 1.0, "", ALARM),
        ),
        "upheld though P < bound": (
            Verdict.HOLDS,
            lambda k: probability_at_least(k, n, truth + 1e-9, "", ALARM),
        ),
        "upheld though P > bound": (
            Verdict.HOLDS,
            lambda k: probability_at_most(k, n, truth - 1e-9, "", ALARM),
        ),
    }
    wrong = {
        error: sum(
            int(times)
            for k, times in zip(values, repeats, strict=True)
            if judge(int(k)).verdict is verdict
        )
        for error, (verdict, judge) in verdicts.items()
    }
    assert all(at_most_often(times, tests, ALARM) for times in wrong.values()), wrong


def test_an_interval_at_a_tenth_of_its_width_would_be_caught() -> None:
    """Negative control of the test above: a point estimate in place of the interval."""
    counts = np.random.default_rng(1).binomial(400, 0.3, 2000)
    assert not at_most_often(int((counts / 400 < 0.3).sum()), 2000, ALARM)


def test_verdicts_far_from_the_border() -> None:
    assert probability_at_least(1000, 1000, 0.9).verdict is Verdict.HOLDS
    assert probability_at_least(500, 1000, 0.9).verdict is Verdict.REFUTED
    assert probability_at_most(0, 1000, 0.1).verdict is Verdict.HOLDS
    assert probability_at_most(900, 1000, 0.1).verdict is Verdict.REFUTED
    assert probability_equals(15_900, 100_000, 0.159, 0.1).verdict is Verdict.HOLDS
    assert probability_equals(15_900, 100_000, 0.12, 0.1).verdict is Verdict.REFUTED
    assert probability_equals(159, 1000, 0.159, 0.1).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("estimate", "bound"), [(0.96, 0.95), (0.94, 0.95), (0.001, 0.002), (0.42, 0.4), (1.0, 0.999)]
)
def test_the_sample_size_that_would_decide_decides(estimate: float, bound: float) -> None:
    few = probability_at_least(round(estimate * 1000), 1000, bound)
    assert few.verdict is Verdict.INCONCLUSIVE, "the example should be undecided"
    assert few.decides is not None and few.decides > 1000
    many = probability_at_least(round(estimate * few.decides), few.decides, bound)
    assert many.verdict is (Verdict.HOLDS if estimate > bound else Verdict.REFUTED)


def test_an_estimate_on_the_bound_asks_for_more() -> None:
    undecided = probability_at_least(950, 1000, 0.95)
    assert undecided.verdict is Verdict.INCONCLUSIVE and undecided.decides > 10_000


def test_laws_that_are_the_same_and_laws_that_differ() -> None:
    rng, tests = np.random.default_rng(2), 400
    refuted = 0
    for _ in range(tests):
        a, b = rng.standard_normal(200), rng.standard_normal(200)
        refuted += (
            same_law(ours.ks_distance(a, b), [200, 200], 0.5, "", ALARM).verdict is Verdict.REFUTED
        )
    assert at_most_often(refuted, tests, ALARM)
    far = ours.ks_distance(rng.standard_normal(5000), rng.standard_normal(5000) + 0.5)
    assert same_law(far, [5000, 5000], 0.5).verdict is Verdict.REFUTED
    undecided = same_law(0.01, [100, 100], 0.05)
    assert undecided.verdict is Verdict.INCONCLUSIVE and undecided.decides > 200


def test_slopes() -> None:
    """Student's interval refutes a slope on the bound as seldom as it says."""
    rng, tests = np.random.default_rng(3), 1000
    x = np.array([1.0, 4.0, 16.0, 64.0])
    verdicts = [
        slope_at_most(x, rng.lognormal(0, 0.3, (8, 4)) * x**0.5, 0.5, "", ALARM).verdict
        for _ in range(tests)
    ]
    assert at_most_often(verdicts.count(Verdict.REFUTED), tests, ALARM)
    assert at_most_often(verdicts.count(Verdict.HOLDS), tests, ALARM)
    undecided = slope_at_most(x, rng.lognormal(0, 0.5, (5, 4)) * x**0.49, 0.5)
    assert undecided.verdict is Verdict.INCONCLUSIVE and undecided.decides > 5


def test_one_counterexample_refutes() -> None:
    assert always_at_most(1.0 + 1e-13, 1.0, 1).verdict is Verdict.HOLDS, "rounding"
    assert always_at_most(1.0 + 1e-9, 1.0, 1).verdict is Verdict.REFUTED
    assert always_at_least(-1e-13, 0.0, 1).verdict is Verdict.HOLDS
    assert always_at_least(-1e-9, 0.0, 1).verdict is Verdict.REFUTED
    assert identity(1e-9, 1e-10, 1).verdict is Verdict.REFUTED
    assert identity(float("nan"), 1e-10, 1).verdict is Verdict.REFUTED
    assert always_at_most(float("nan"), 1.0, 1).verdict is Verdict.REFUTED
    assert always_at_least(float("nan"), 1.0, 1).verdict is Verdict.REFUTED


def test_the_worst_of_several_speaks() -> None:
    good, close, bad = always_at_most(1, 4, 5), always_at_most(3, 4, 5), always_at_most(5, 4, 5)
    undecided = probability_at_least(95, 100, 0.95)
    assert weakest([good, close]).margin == close.margin and weakest([good, close]).sample == 10
    assert weakest([good, undecided, close]).verdict is Verdict.INCONCLUSIVE
    assert weakest([undecided, bad, good]).verdict is Verdict.REFUTED


def test_the_budget_of_false_alarms() -> None:
    assert len(CLAIMS) <= MOST_CLAIMS
    assert pytest.approx(SUITE_FALSE_ALARM) == CLAIM_ALARM * MOST_CLAIMS


def test_random_numbers_have_an_address() -> None:
    assert generator(3, "a").random() == generator(3, "a").random()
    assert (
        len(
            {
                generator(*address).random()
                for address in ((3, "a"), (4, "a"), (3, "b"), (3, "a", 1))
            }
        )
        == 4
    )
    assert len({cell(claim.id) for claim in CLAIMS}) == len(CLAIMS)
