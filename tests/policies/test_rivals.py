"""Thompson sampling, LinUCB, greedy and epsilon-greedy against slow twins, and their kernels against the live policies."""

import math

import numpy as np
import pytest
from scipy import stats

import ensample as es
from conformance.policies import ARMS, FEATURES, play, reward
from ensample.policies.epsilon_greedy import EpsilonGreedy
from ensample.policies.greedy import Greedy
from ensample.policies.linucb import LinUCB, farthest_point
from ensample.policies.thompson_sampling import ThompsonSampling
from evidence import gaussian_p_value, holds
from naive import rivals

SETTING = es.Setting(dim=3, arms=None, horizon=500, noise=0.4, norm=1.0, regularization=2.0)
RECIPES = {
    "LinTS": ThompsonSampling(scale=0.5),
    "LinTS, adaptive": ThompsonSampling(scale=1.5, regularization=0.3, adaptive=True),
    "LinTS, theorem": ThompsonSampling.from_theorem(SETTING),
    "LinUCB": LinUCB(radius=0.7),
    "LinUCB, closed": LinUCB(form="closed", regularization=0.5, noise=0.3, norm=0.8),
    "LinUCB, determinant": LinUCB(
        form="determinant", regularization=0.5, noise=0.3, norm=0.8, delta=0.1
    ),
    "LinUCB, norm unknown": LinUCB(form="determinant", regularization=0.1, noise=0.3, norm=None),
    "LinUCB, steep": LinUCB(form="determinant", regularization=1e-6, noise=0.3, norm=0.8),
    "LinUCB, theorem": LinUCB.from_theorem(SETTING),
    "greedy": Greedy(regularization=0.5),
    "epsilon-greedy": EpsilonGreedy(epsilon=0.3),
    "epsilon-greedy, decaying": EpsilonGreedy(decay=10.0, regularization=0.5),
}
SUPPORTED = {
    "LinTS": set(ARMS),
    "LinUCB": {"finite", "ball", "changing"},
    "greedy": set(ARMS),
    "epsilon-greedy": {"finite", "changing"},
}
RIVALS = [
    (recipe, arms)
    for recipe in RECIPES
    for arms in ARMS
    if arms in SUPPORTED[recipe.partition(",")[0]]
    and not ("theorem" in recipe and arms in ("changing", "box"))
]
every_rival = pytest.mark.parametrize(("recipe", "arms"), RIVALS)


def start(recipe: str, arms: str, seed: int = 0) -> es.Policy:
    if "theorem" in recipe and arms == "finite":
        return RECIPES[recipe].start(es.FiniteArms(FEATURES / 2), seed)
    return RECIPES[recipe].start(ARMS[arms](), seed)


class TestThompsonLaw:
    DRAWS = 4000

    def drawn(
        self, recipe: ThompsonSampling, arms: es.Arms
    ) -> tuple[es.Policy, np.ndarray, np.ndarray]:
        """The models of many coming rounds from one state, whitened by V, and the rewards that led to it."""
        rng = np.random.default_rng(1)
        X = rng.standard_normal((60, 3)) / 4
        X[:, 2] = X[:, 0] - X[:, 1]  # a direction that is never seen
        y = 100.0 + rng.standard_normal(60)
        policy = recipe.start(arms, 2)
        policy.update_many(list(X), y)
        theta = np.array([policy.model.theta(round) for round in range(60, 60 + self.DRAWS)])
        return policy, (theta - policy.mean) @ np.linalg.cholesky(policy.gram), y

    @pytest.mark.parametrize("arms", ["finite", "ball", "changing"])
    def test_plain_and_adaptive(self, arms: str) -> None:
        _, plain, _ = self.drawn(ThompsonSampling(scale=0.4, regularization=3.0), ARMS[arms]())
        assert holds(gaussian_p_value(plain / 0.4))
        assert not holds(gaussian_p_value(plain / (0.4 * 1.05))), "negative control"
        _, adaptive, y = self.drawn(
            ThompsonSampling(scale=2.0, regularization=0.5, adaptive=True), ARMS[arms]()
        )
        assert holds(gaussian_p_value(adaptive / (2.0 * y.std())))
        assert not holds(gaussian_p_value(adaptive / (2.0 * y.std() * 1.05))), "negative control"

    def test_theorem(self) -> None:
        policy, white, _ = self.drawn(ThompsonSampling.from_theorem(SETTING), es.UnitBall(3))
        beta = rivals.confidence_radius(
            "closed", policy.gram, 60, 2.0, 0.4, 1.0, 0.05 / (4 * 500), 0.0
        )
        assert holds(gaussian_p_value(white / beta))
        assert not holds(gaussian_p_value(white / (1.05 * beta))), "negative control"
        assert policy.recipe.reward_law.scale == pytest.approx(policy.recipe.scale_after(500))

    def test_adaptive_is_greedy_before_two_rewards_differ(self) -> None:
        policy = ThompsonSampling(adaptive=True).start(es.FiniteArms(FEATURES))
        for _ in range(3):
            np.testing.assert_array_equal(policy.estimates[0], policy.mean)
            policy.update(policy.decide(), 0.25)
        policy.update(policy.decide(), 0.5)
        assert (policy.estimates[0] != policy.mean).all()


class TestLinUCB:
    @pytest.mark.parametrize("norm", [0.8, None])
    @pytest.mark.parametrize("form", ["constant", "closed", "determinant"])
    def test_is_its_definition(self, form: str, norm: float | None) -> None:
        rng = np.random.default_rng(4)
        X = rng.standard_normal((20, 4)) / 2
        noise = rng.normal(0, 0.3, 300)
        theta = np.array([0.5, -0.5, 0.2, 0.1])
        lam, delta = 0.5, 0.1

        def beta(V: np.ndarray, t: int, largest: float) -> float:
            return rivals.confidence_radius(
                form, V, t, lam, 0.3, largest if norm is None else norm, delta, 0.6
            )

        arms, promises = rivals.linucb(X, lam, beta, lambda t, k: X[k] @ theta + noise[t], 300)
        policy = LinUCB(0.6, lam, form, 0.3, norm, delta).start(es.FiniteArms(X), seed=0)
        for t in range(300):
            np.testing.assert_allclose(policy.estimates[0], promises[t], rtol=1e-8, atol=1e-10)
            decision = policy.decide(propensity=True)
            assert decision.arm == arms[t] and decision.propensity == 1.0
            policy.update(decision, X[decision.arm] @ theta + noise[t])
        assert len(set(arms)) > 3, "a case in which it explores"
        assert policy.propensities().sum() == 1.0
        assert np.argmax(policy.propensities()) == policy.decide().arm

    def test_changing_arms_are_judged_the_same(self) -> None:
        fixed = LinUCB(0.5).start(es.FiniteArms(FEATURES))
        changing = LinUCB(0.5).start(es.ChangingArms(3))
        for t in range(50):
            one, other = fixed.decide(), changing.decide(FEATURES)
            assert one == other and one.arm != 5, "of equal arms the lowest index wins"
            fixed.update(one, reward(fixed, t, one))
            changing.update(other, reward(changing, t, other))
        with pytest.raises(es.InvalidArgument, match="arms of this round"):
            changing.decide()

    @pytest.mark.parametrize(
        "case", ["generic", "hard", "nearly hard", "hard, long", "isotropic", "centre 0", "steep"]
    )
    def test_the_ball_is_solved_exactly(self, case: str) -> None:
        rng = np.random.default_rng(5)
        d = 5
        eigenvalues = {"isotropic": np.full(d, 2.0), "steep": np.geomspace(1.0, 1e6, d)}.get(
            case, np.arange(1.0, d + 1)
        )
        turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
        c = {"centre 0": np.zeros(d), "hard, long": np.array([0.0, 3, 3, 3, 3])}.get(
            case, rng.standard_normal(d)
        )
        if "hard" in case and "long" not in case:
            c = np.array([1e-14 if "nearly" in case else 0.0, 0.1, -0.1, 0.2, 0.1])
        V = turn @ np.diag(eigenvalues) @ turn.T
        V = (V + V.T) / 2
        y = farthest_point(turn @ c, V, 0.7, 1.0)
        away = y - turn @ c
        assert math.sqrt(away @ V @ away) == pytest.approx(0.7, rel=1e-7)
        assert np.linalg.norm(y) == pytest.approx(
            rivals.longest_on_the_ball(turn @ c, V, 0.7, starts=50), rel=1e-10
        )

    def test_on_the_ball_no_other_arm_promises_more(self) -> None:
        policy = LinUCB(form="closed", noise=0.3).start(es.UnitBall(3))
        others = np.random.default_rng(6).standard_normal((2000, 3))
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        for t in range(60):
            inverse, theta = np.linalg.inv(policy.gram), policy.mean
            decision = policy.decide()
            index = [
                x @ theta + policy.beta * math.sqrt(x @ inverse @ x)
                for x in (decision.features, *others)
            ]
            assert index[0] == pytest.approx(max(index), rel=1e-12)
            assert np.linalg.norm(decision.features) == pytest.approx(1.0)
            np.testing.assert_allclose(
                policy.beta, policy.diagnostics().perturbation_norms[0], rtol=1e-9
            )
            policy.update(decision, reward(policy, t, decision))

    def test_nothing_seen_nothing_wanted(self) -> None:
        assert LinUCB(0.0).start(es.UnitBall(2)).decide().features.tolist() == [1.0, 0.0]
        assert LinUCB(1.0).start(es.UnitBall(2)).decide().features.tolist() == [1.0, 0.0]
        zero = LinUCB(1.0).start(es.FiniteArms(np.zeros((2, 2))))
        assert zero.decide().arm == 0 and zero.estimates.tolist() == [[0.0, 0.0]]

    def test_theorem(self) -> None:
        policy = LinUCB.from_theorem(SETTING).start(es.UnitBall(3))
        play(policy, 20)
        assert policy.beta == pytest.approx(es.theory.radius(SETTING, 20))


class TestGreedy:
    def test_is_its_definition(self) -> None:
        rng = np.random.default_rng(7)
        X, noise = rng.standard_normal((20, 4)), rng.standard_normal(300)
        expected = rivals.greedy(X, 0.5, lambda t, k: noise[t], 300)
        policy = Greedy(0.5).start(es.FiniteArms(X))
        arms = []
        for t in range(300):
            decision = policy.decide(propensity=True)
            assert decision.propensity == 1.0
            policy.update(decision, noise[t])
            arms.append(decision.arm)
        assert arms == expected and len(set(arms)) > 3
        with pytest.raises(es.PropensityError):
            Greedy().start(es.UnitBall(2)).propensities()


class TestEpsilonGreedy:
    ROUNDS = 20_000

    def intervals(self, policy: es.Policy, claimed: np.ndarray) -> list[float]:
        """Exact binomial p-values that arms come as often as claimed, from one state."""
        arms = [policy.chooser.choose(round, policy.arms)[1] for round in range(7, 7 + self.ROUNDS)]
        counts = np.bincount(arms, minlength=len(claimed))
        return [
            stats.binomtest(n, self.ROUNDS, p).pvalue * len(claimed)
            for n, p in zip(counts.tolist(), claimed, strict=True)
        ]

    def test_frequencies_are_the_propensities(self) -> None:
        policy = EpsilonGreedy(epsilon=0.3).start(es.FiniteArms(FEATURES), seed=1)
        play(policy, 7)
        greedy = np.zeros(7)
        greedy[np.argmax(FEATURES @ policy.mean)] = 1.0
        propensities = policy.propensities()
        np.testing.assert_allclose(propensities, 0.3 / 7 + 0.7 * greedy, rtol=1e-15)
        assert all(map(holds, self.intervals(policy, propensities)))
        assert not all(map(holds, self.intervals(policy, 0.25 / 7 + 0.75 * greedy))), (
            "negative control"
        )

    def test_decay(self) -> None:
        policy = EpsilonGreedy(decay=4.0).start(es.FiniteArms(np.eye(4)))
        for t in range(20):
            weights = policy.propensities()
            assert weights.min() == pytest.approx(4.0 / (4.0 + t) / 4)
            assert weights.sum() == pytest.approx(1.0)
            decision = policy.decide(propensity=True)
            assert decision.propensity == weights[decision.arm]
            policy.update(decision, float(t % 3))

    def test_changing_arms(self) -> None:
        policy = EpsilonGreedy(epsilon=1.0).start(es.ChangingArms(3), seed=2)
        arms = {policy.decide(FEATURES).arm for _ in range(200)}
        assert arms == set(range(7))
        assert policy.propensities(FEATURES).tolist() == [1 / 7] * 7
        with pytest.raises(es.InvalidArgument, match="arms of this round"):
            EpsilonGreedy(epsilon=0.0).start(es.ChangingArms(3)).decide()


PROBLEM = es.LinearProblem(
    es.FiniteArms(np.random.default_rng(8).standard_normal((12, 3)) / 3),
    [0.5, -0.4, 0.3],
    0.3,
    warmup=[[0.1, 0.2, 0.3], [0.5, 0.0, 0.0], [0.1, 0.2, 0.3]],
    opening=[3, 4, 3],
)


@pytest.mark.parametrize(
    "recipe", [name for name in RECIPES if name.startswith(("LinUCB", "greedy"))]
)
def test_the_kernel_plays_as_the_live_policy(recipe: str) -> None:
    """The same noise, the same arms in every round, past a recomputation of V^-1."""
    fast, slow = (
        es.simulate(RECIPES[recipe], PROBLEM, 2500, 2, 1, way, 2500) for way in ("eager", "live")
    )
    assert (fast.evaluation, slow.evaluation) == ("eager", "live")
    np.testing.assert_array_equal(fast.pulls, slow.pulls)
    np.testing.assert_allclose(fast.regret, slow.regret, atol=1e-9)
    if recipe != "greedy":
        assert ((fast.pulls > 20).sum(axis=1) >= 2).all(), "a case in which it explores"


@pytest.mark.parametrize(
    "recipe", [name for name in RECIPES if name.startswith(("LinTS", "epsilon"))]
)
def test_the_kernel_has_the_law_of_the_live_policy(recipe: str) -> None:
    fast = es.simulate(RECIPES[recipe], PROBLEM, 60, 2000, 1, "eager").regret[:, -1]
    slow = es.simulate(RECIPES[recipe], PROBLEM, 60, 400, 2, "live").regret[:, -1]
    assert holds(stats.ks_2samp(fast, slow).pvalue)
    other = (
        EpsilonGreedy(epsilon=0.9) if recipe.startswith("epsilon") else ThompsonSampling(scale=0.05)
    )
    wrong = es.simulate(other, PROBLEM, 60, 2000, 1, "eager").regret[:, -1]
    assert not holds(stats.ks_2samp(wrong, slow).pvalue), "negative control"


@pytest.mark.parametrize("arms", ["box", "oracle"])
@pytest.mark.parametrize("recipe", ["LinUCB", "epsilon-greedy"])
def test_arms_that_cannot_be_enumerated_are_refused(recipe: str, arms: str) -> None:
    with pytest.raises(es.InvalidArgument, match=r"arms = .*needs arms it can enumerate"):
        start(recipe, arms)
    with pytest.raises(es.InvalidArgument):
        EpsilonGreedy().start(es.UnitBall(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ThompsonSampling(scale=-1.0), "scale = -1.0"),
        (lambda: ThompsonSampling(regularization=0.0), "regularization = 0.0"),
        (lambda: ThompsonSampling(adaptive=1), "adaptive = 1"),
        (lambda: ThompsonSampling(setting=0.5), "setting = 0.5"),
        (
            lambda: ThompsonSampling(regularization=2.0, adaptive=True, setting=SETTING),
            "adaptive = True",
        ),
        (lambda: ThompsonSampling(setting=SETTING), "regularization = 'auto'"),
        (lambda: LinUCB(radius=-0.5), "radius = -0.5"),
        (
            lambda: LinUCB(form="round"),
            "form = 'round': expected one of 'constant', 'closed', 'determinant'",
        ),
        (lambda: LinUCB(form=["closed"]), "form ="),
        (lambda: LinUCB(noise=math.nan), "noise = nan"),
        (lambda: LinUCB(norm=-1.0), "norm = -1.0"),
        (lambda: LinUCB(delta=0.0), "delta = 0.0"),
        (lambda: Greedy(regularization="1"), "regularization = '1'"),
        (lambda: EpsilonGreedy(epsilon=1.5), "epsilon = 1.5"),
        (lambda: EpsilonGreedy(decay=0.0), "decay = 0.0"),
        (lambda: es.simulate(Greedy(), PROBLEM, 10, evaluation="lazy"), "evaluation = 'lazy'"),
    ],
)
def test_bad_fields_are_named(make, message: str) -> None:
    with pytest.raises(es.InvalidArgument) as error:
        make()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("recipe", [ThompsonSampling, LinUCB])
def test_theorems_keep_their_assumptions(recipe) -> None:
    for wrong in ({"regularization": 0.5}, {"delta": 1.0}):
        with pytest.raises(es.AssumptionError):
            recipe.from_theorem(
                es.Setting(dim=3, arms=None, horizon=500, noise=0.4, norm=1.0, **wrong)
            )
    with pytest.raises(es.AssumptionError, match="norm <= 1"):
        recipe.from_theorem(SETTING).start(es.FiniteArms(2 * np.eye(3)))
    with pytest.raises(es.WrongType):
        recipe.from_theorem(3)
