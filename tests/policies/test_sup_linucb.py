"""SupLinUCB against its slow twin, where rewards come late, and simulated."""

import numpy as np
import pytest

import ensample as es
from naive import rivals

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 3))
X *= (np.linspace(1.0, 0.8, 8) / np.linalg.norm(X, axis=1))[
    :, None
]  # of different lengths: no two are equally wide
TRUTH = np.array([0.6, -0.3, 0.2])
NOISE = RNG.normal(0, 0.3, 2000)
RECIPE = es.SupLinUCB(horizon=400, radius=0.9, regularization=1.5)


def reward(t: int, arm: int) -> float:
    return float(X[arm] @ TRUTH + NOISE[t])


def played(rounds: int) -> tuple[es.Policy, list[int], list[int | None]]:
    """Return a policy, its arms, and the stages that learned from them."""
    policy, arms, stages = RECIPE.start(es.FiniteArms(X)), [], []
    for t in range(rounds):
        _, stage, learns = policy.model.choice()
        stages.append(stage if learns else None)
        arms.append(policy.decide().arm)
        policy.update(round=t, reward=reward(t, arms[-1]))
    return policy, arms, stages


def test_it_plays_as_its_twin_does() -> None:
    policy, arms, stages = played(1500)
    assert arms == rivals.sup_linucb(X, 400, 1.5, 0.9, reward, 1500)
    assert {0, 1, 2, 3, None} <= set(stages)
    assert len(set(arms)) >= 5, "a twin that is never put to the test"
    other = rivals.sup_linucb(X, 400, 1.5, 1.0, reward, 1500)
    assert arms != other, "negative control"
    assert RECIPE.stages == 6 == len(policy.model.means)


def test_stages_learn_from_their_own_rounds_only() -> None:
    policy, arms, stages = played(600)
    for s in range(RECIPE.stages):
        seen = X[[arm for arm, stage in zip(arms, stages, strict=True) if stage == s]]
        np.testing.assert_allclose(
            policy.model.grams[s], 1.5 * np.eye(3) + seen.T @ seen, rtol=1e-12
        )
        np.testing.assert_allclose(
            policy.model.means[s], np.linalg.solve(policy.model.grams[s], policy.model.targets[s])
        )


def test_what_a_round_promises_is_said_by_the_stage_that_decides_it() -> None:
    """Also where no stage learns: the stage that knows all arms well is seldom the last one, which has seen nothing."""
    policy = RECIPE.start(es.FiniteArms(X))
    seen = set()
    for t in range(1500):
        arm, s, learns = policy.model.choice()
        width = np.sqrt(X[arm] @ np.linalg.solve(policy.model.grams[s], X[arm]))
        expected = X[arm] @ policy.model.means[s] + RECIPE.radius * width
        assert X[arm] @ policy.model.theta(0) == pytest.approx(expected, rel=1e-9)
        if not learns:
            widths = [np.sqrt(x @ np.linalg.solve(policy.model.grams[s], x)) for x in X[[arm]]]
            assert RECIPE.radius * max(widths) <= 1 / np.sqrt(RECIPE.horizon) * (1 + 1e-9)
            seen.add(s)
        policy.update(round=policy.decide().round, reward=reward(t, arm))
    assert any(s < RECIPE.stages - 1 for s in seen), "negative control: the last stage would not do"


def test_late_rewards_go_to_the_first_stage_that_needs_them() -> None:
    policy = RECIPE.start(es.FiniteArms(X))
    waiting = [policy.decide() for _ in range(3)]
    policy.update(waiting[2], 0.1)
    assert policy.decide().arm != waiting[0].arm, "something was learned"
    policy.update_many([waiting[0], 5], [0.2, 0.3])
    fed = (policy.model.grams - 1.5 * np.eye(3)).trace(axis1=1, axis2=2)
    expected = sum(float(x @ x) for x in (waiting[2].features, waiting[0].features, X[5]))
    np.testing.assert_allclose(fed, [expected, 0, 0, 0, 0, 0], atol=1e-12)


def test_simulated_runs_are_the_live_policy_s() -> None:
    for problem in (
        es.LinearProblem(es.FiniteArms(X), TRUTH, 0.3),
        es.problem("linreboot", dim=3, arms=10),
    ):
        kernel, live = (
            es.simulate(RECIPE, problem, 300, 5, seed=2, evaluation=way)
            for way in ("eager", "live")
        )
        np.testing.assert_allclose(kernel.regret, live.regret, rtol=1e-9)
    with pytest.raises(es.InvalidArgument, match="warmup"):
        es.simulate(RECIPE, es.problem("trap"), 20, 1)


def test_from_theorem() -> None:
    setting = es.Setting(dim=3, arms=8, horizon=10_000, noise=0.5, norm=1.0)
    recipe = es.SupLinUCB.from_theorem(setting)
    assert recipe.radius == pytest.approx(
        1.0 + np.sqrt(0.5 * np.log(2 * 10_000 * 8 / 0.05)), rel=1e-14
    ), "the paper's alpha + 1"
    assert recipe.start(es.FiniteArms(X)).decide().arm == 0
    with pytest.raises(es.AssumptionError, match="finitely many arms"):
        es.SupLinUCB.from_theorem(es.Setting(dim=3, arms=None, horizon=100, noise=0.5, norm=1.0))
    with pytest.raises(es.AssumptionError, match="at most 8 arms"):
        recipe.start(es.FiniteArms(np.vstack([X, X])))
    with pytest.raises(es.AssumptionError, match="none is known"):
        recipe.guarantee(setting)
