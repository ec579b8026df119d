"""Networks as the model of a recipe: what it takes, what it refuses, what it promises."""

import numpy as np
import pytest

import ensample as es
from conformance.policies import FEATURES, fingerprint, play
from ensample import _core
from ensample.codec import describe, rebuild

SMALL = es.Neural((4,), prior=1.0, batch=8, memory=12)
RECIPE = es.EnsembleSampling(4, model=SMALL)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("hidden", (), "1 to 8 layers"),
        ("hidden", (0,), "hidden = 0"),
        ("hidden", 50, "widths of layers"),
        ("activation", "relo", "did you mean 'relu'"),
        ("activation", None, "one of relu, leaky, tanh"),
        ("loss", "hinge", "one of squared, logistic"),
        ("optimizer", "lbfgs", "one of adam, sgd"),
        ("rate", 0.0, "rate = 0.0"),
        ("prior", -1.0, "prior = -1.0"),
        ("batch", 2.5, "batch = 2.5"),
        ("steps", 0, "steps = 0"),
        ("memory", True, "memory = True"),
    ],
)
def test_bad_fields_are_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message.replace("(", r"\(")):
        es.Neural(**{field: value})  # type: ignore[arg-type]


def test_what_networks_cannot_do_is_refused() -> None:
    for given in ({"intercept": True}, {"half_life": 5.0}, {"initial": es.Gaussian(1.0)}):
        with pytest.raises(es.InvalidArgument, match=f"^{next(iter(given))} = .*with Neural"):
            es.EnsembleSampling(4, model=SMALL, **given)
    for arms in (es.UnitBall(3), es.Box([0, 0], [1, 1]), es.OracleArms(2, lambda theta: theta)):
        with pytest.raises(es.InvalidArgument, match=r"^arms = .*FiniteArms or ChangingArms"):
            RECIPE.start(arms)
    with pytest.raises(es.InvalidArgument, match="half_life"):
        es.Greedy(half_life=5.0, model=SMALL).start(es.FiniteArms(FEATURES))


def test_a_model_with_its_fields_is_part_of_what_is_written_down() -> None:
    assert es.Neural([4, 3]) == es.Neural((4, 3)) and hash(es.Neural([4])) == hash(es.Neural((4,)))
    assert rebuild(describe(RECIPE)) == RECIPE
    study = es.Study(
        name="s",
        horizon=5,
        evaluation="live",
        problem={"family": "wheel", "delta": 0.9},
        policy={"recipe": RECIPE},
    )
    assert es.Study(**study.describe()).cells[0].recipe == RECIPE
    from ensample.cli.policies import build

    setting = es.Setting(dim=3, arms=7, horizon=100, noise=1, norm=1)
    assert (
        build(
            "EnsembleSampling(4, model=Neural(hidden=(4,), prior=1.0, batch=8, memory=12))", setting
        )
        == RECIPE
    )


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_change_no_decision(factor: float) -> None:
    """Rewards and features multiplied by powers of two: the networks see the same numbers, bit for bit."""
    factor = 2.0 ** np.round(np.log2(factor))
    plain = RECIPE.start(es.FiniteArms(FEATURES), seed=1)
    other = RECIPE.start(es.FiniteArms(FEATURES * [1.0, factor, 1.0 / factor]), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(40):
        decision, same = plain.decide(), other.decide()
        assert decision.arm == same.arm and decision.member == same.member
        y = float(rng.standard_normal())
        plain.update(decision, y)
        other.update(same, y * factor)


@pytest.mark.parametrize(
    "model", [SMALL, es.Neural((4,), loss="logistic", prior=1.0, batch=8, memory=12)], ids=repr
)
def test_members_come_to_agree_where_there_is_data(model: es.Neural) -> None:
    policy = es.EnsembleSampling(6, model=model).start(es.FiniteArms(np.eye(2)), seed=0)
    assert len(set(policy.votes().tolist())) == 2, "before the first reward they do not"
    rng = np.random.default_rng(0)
    for _ in range(150):
        decision = policy.decide()
        policy.update(decision, float(rng.random() < (0.9, 0.1)[decision.arm]))
    assert policy.propensities()[0] > 0.8
    scores = policy.model.all_scores(np.eye(2))
    assert scores.shape == (2, 6)
    assert scores[0].mean() > 0.65 > scores[1].mean(), "pulled down the more, the less was seen"


def test_rewards_of_the_logistic_loss_are_shares() -> None:
    policy = es.EnsembleSampling(3, model=es.Neural((4,), loss="logistic")).start(
        es.FiniteArms(np.eye(2))
    )
    before = fingerprint(policy)
    for wrong in (-0.1, 1.5, float("nan"), "1"):
        with pytest.raises(
            es.InvalidArgument,
            match=r"^reward = .*: expected a number from 0 to 1 for the logistic loss$",
        ):
            policy.update(0, wrong)
    assert fingerprint(policy) == before
    policy.update(0, True)
    policy.update(1, 0.25)
    assert (policy.model.all_scores(np.eye(2)) >= 0.0).all()
    assert (policy.model.all_scores(np.eye(2)) <= 1.0).all()


def test_training_that_diverges_is_refused_and_changes_nothing() -> None:
    """Gradient descent, whose steps have no bound."""
    wild = es.Neural((8,), optimizer="sgd", rate=1.0, batch=8, steps=200, prior=0.0)
    policy = es.EnsembleSampling(3, 1e9, model=wild).start(es.FiniteArms(100.0 * FEATURES), seed=0)
    rng = np.random.default_rng(0)
    with pytest.raises(es.InvalidArgument, match=r"^rate = 1.0: expected a smaller one"):
        for _ in range(50):
            before = fingerprint(policy)
            policy.update(int(rng.integers(7)), float(rng.standard_normal()))
            before = fingerprint(policy)
    assert fingerprint(policy) == before and np.isfinite(policy.model.scores(0, FEATURES)).all()


def test_one_network_without_perturbations_serves_the_greedy() -> None:
    arms = es.FiniteArms(FEATURES)
    greedy = es.Greedy(model=SMALL).start(arms)
    chancy = es.EpsilonGreedy(0.3, model=SMALL).start(arms)
    for policy in (greedy, chancy):
        play(policy, 20)
        assert policy.model.size == 1 and policy.model.prior is None
    assert sorted(set(greedy.propensities().tolist())) == [0.0, 1.0]
    assert chancy.propensities().min() == pytest.approx(0.3 / 7)


def trained() -> es.Policy:
    policy = es.EnsembleSampling(8, model=es.Neural((20, 20))).start(
        es.FiniteArms(np.random.default_rng(0).standard_normal((30, 40))), seed=3
    )
    for y in np.random.default_rng(1).standard_normal(80).tolist():
        policy.update(policy.decide(), y)
    return policy


def test_replay_has_the_same_bits_at_every_instruction_set_level() -> None:
    policy, usual = trained(), _core.level()
    try:
        for level in _core.levels():
            _core.use_level(level)
            again = policy.recipe.replay(policy.arms, policy.log(), seed=3)
            for name, values in policy.model.arrays().items():
                np.testing.assert_array_equal(again.model.arrays()[name], values)
    finally:
        _core.use_level(usual)
