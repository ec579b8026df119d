"""Bad input raises a named error and leaves every bit of the state as it was."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import ensample as es
from conformance.policies import (
    ENUMERATED,
    EVERY,
    FEATURES,
    MIXING,
    RECIPES,
    fingerprint,
    offered,
    play,
    start,
)

REPLAY = es.EnsembleSampling(3).replay
SMALL = es.Setting(2, 3, 9, 1, 1)
ON_ANY_ARMS = [recipe for recipe in RECIPES if recipe not in ENUMERATED]
NAN, INF, FOUR = float("nan"), float("inf"), es.FiniteArms(np.eye(4))
ODD_NUMBERS = [NAN, INF, -INF, 1e151, -1e200, None, "1.0", b"1", 1j, [1.0], {}, 10**400]
NOT_NUMBERS = st.one_of(st.sampled_from(ODD_NUMBERS), st.builds(object), st.text(max_size=3))
ODD_FEATURES = [[], [[]], [1.0, 2.0, 3.0], [[1.0, 2.0]], "abc", 3, [[None] * 3], {}, object()]
NOT_FEATURES = st.one_of(
    st.sampled_from([*ODD_FEATURES, [[1.0, 2.0, 3.0], [1.0]]]),
    arrays(float, array_shapes(min_dims=1, max_dims=3, max_side=4)).filter(
        lambda a: a.ndim != 2 or a.shape[1] != 3 or not np.all(np.abs(a) <= 1e100)
    ),
)
ODD_DECISIONS = [None, "0", b"0", 1.0, 2.5, NAN, True, [1.0, 2.0], [NAN] * 3, [[0.0] * 3], {}]
NOT_DECISIONS = st.one_of(
    st.integers(7, 10**20), st.integers(-(10**20), -1), st.sampled_from(ODD_DECISIONS)
)


@pytest.fixture(scope="module")
def policies() -> dict[tuple[str, str], es.Policy]:
    """One policy of each kind with a decision open and one rewarded."""
    made = {}
    for kind in EVERY:
        made[kind] = start(*kind)
        play(made[kind], 5)
        made[kind].decide(offered(made[kind], 5))
    return made


def refused(policy: es.Policy, call, error: type[Exception] = es.InvalidArgument) -> None:
    before = fingerprint(policy)
    with pytest.raises(error) as caught:
        call()
    assert fingerprint(policy) == before
    if isinstance(caught.value, es.InvalidArgument):
        assert str(caught.value).startswith(f"{caught.value.argument} = ")
        assert "expected" in str(caught.value)


every_kind = given(kind=st.sampled_from(EVERY), data=st.data())
few = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@few
@every_kind
def test_bad_rewards(policies, kind, data) -> None:
    policy, reward = policies[kind], data.draw(NOT_NUMBERS)
    decision = policy.open_decisions[0]
    refused(policy, lambda: policy.update(decision, reward))
    refused(policy, lambda: policy.update([0.1, 0.2, 0.3], reward))
    refused(policy, lambda: policy.update_many([decision], [reward]))
    refused(policy, lambda: policy.update_many([decision, [0.0, 0.0, 0.0]], [0.5, reward]))


@few
@every_kind
def test_bad_decisions(policies, kind, data) -> None:
    policy, decision = policies[kind], data.draw(NOT_DECISIONS)
    refused(policy, lambda: policy.update(decision, 1.0))
    refused(policy, lambda: policy.update_many([[0.1, 0.2, 0.3], decision], [1.0, 1.0]))
    refused(policy, lambda: policy.forget(decision))


@few
@every_kind
def test_bad_features(policies, kind, data) -> None:
    policy, features = policies[kind], data.draw(NOT_FEATURES)
    refused(policy, lambda: policy.decide(features))
    if kind[0].startswith("ensemble"):
        refused(policy, lambda: policy.propensities(features))


@pytest.mark.parametrize("kind", EVERY)
def test_a_reward_comes_once(kind) -> None:
    policy = start(*kind)
    decision = policy.decide(offered(policy, 0))
    other = start(*kind, seed=9).decide(offered(policy, 1))
    refused(policy, lambda: policy.update_many([decision, decision], [1.0, 2.0]), es.DecisionError)
    policy.update(decision, 1.0)
    refused(policy, lambda: policy.update(decision, 1.0), es.DecisionError)
    # would be learned if the other were not refused
    new = 0 if policy.recipe.standing_only else [0.0, 0.1, 0.2]
    refused(policy, lambda: policy.update_many([new, decision], [1.0, 1.0]), es.DecisionError)
    refused(policy, lambda: policy.update(other, 1.0), es.DecisionError)


@pytest.mark.parametrize("model", [es.Linear(), es.Logistic(), es.Logistic("exact")])
@pytest.mark.parametrize(
    ("decisions", "rewards", "said"),
    [
        ([0, 1, 2], [1.0, 0.0, NAN], "rewards[2] = nan"),
        (np.array([0, 1]), np.array([1.0, np.inf]), "rewards[1] = inf"),
        ([0, 4, 9], [1, 1, 1], "decisions[1] = 4"),
        ([[0.0] * 4, [0.0] * 3], [1, 1], "decisions[1] = [0.0, 0.0, 0.0]"),
        ([0, "one"], [1, 1], "decisions[1] = 'one' (str)"),
    ],
)
def test_of_many_rewards_the_wrong_one_is_named(model, decisions, rewards, said: str) -> None:
    policy = es.EnsembleSampling(3, model=model).start(FOUR)
    policy.update_many([0, 1], [0.0, 1.0])
    refused(policy, lambda: policy.update_many(decisions, rewards))
    with pytest.raises(es.InvalidArgument) as caught:
        policy.update_many(decisions, rewards)
    assert str(caught.value).startswith(f"{said}: expected ")
    assert ("a number from 0 to 1" in str(caught.value)) == (
        model != es.Linear() and "rewards" in said
    )


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (([0, 1.5], np.eye(4)[:2], [1, 1]), "log.round[1] = 1.5 (float)"),
        (([0, 1, 0], np.eye(4)[:3], [1, 1, 1]), "log.round[2] = 0"),
        (
            ([0, 1], np.eye(4)[:2], [1, 2]),
            "log.reward[1] = 2.0: expected a number from 0 to 1 for Logistic()",
        ),
        (([0, 1], [[0, 0, 0, 1], [0, 0, 1]], [1, 1]), "log.features[1] = [0, 0, 1]"),
        (([0, 1], [[0, 0, 0, 1], [0, 0, NAN, 0]], [1, 1]), "log.features[1] = [0, 0, nan, 0]"),
        (
            ([0, 1], np.diag([1, NAN, 1, 1])[:2], [1, 1]),
            "log.features[1] = array([ 0., nan,  0.,  0.])",
        ),
        (([0, 1], np.ones((2, 3)), [1, 1]), "log.features[0] = array([1., 1., 1.])"),
        (([0], np.array(1.0), [1]), "log.features = array(1.)"),
        (([0, 1], np.eye(4)[:2], [1, 1], [0, 4], [NAN, NAN]), "log.arm[1] = 4"),
        (
            ([0, 1], np.eye(4)[:2], [1, 1], [0, 2], [NAN, NAN]),
            "log.features[1] = array([0., 1., 0., 0.])",
        ),
        (([0, 1], np.eye(4)[:2], [1, 1], [0, 1], [NAN, 1.5]), "log.propensity[1] = 1.5"),
    ],
)
def test_of_a_log_the_wrong_row_is_named(log, said: str) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        es.EnsembleSampling(3, model=es.Logistic()).replay(FOUR, log)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("kind", EVERY)
def test_wrong_lengths(kind) -> None:
    policy = start(*kind)
    one = policy.decide(offered(policy, 0))
    wrong = [([one], [1.0, 2.0]), ([one], []), (one, [1.0]), (None, [1.0]), ([one], [[1.0]])]
    for decisions, rewards in [*wrong, ([], [1.0])]:
        refused(policy, lambda given=(decisions, rewards): policy.update_many(*given))


@pytest.mark.parametrize("recipe", MIXING)
def test_changing_arms_need_features(recipe: str) -> None:
    policy = start(recipe, "changing")
    refused(policy, policy.decide)
    for value in (1, 0, "yes", None, np.ones(2)):
        refused(policy, lambda value=value: policy.decide(FEATURES, propensity=value))


@pytest.mark.parametrize("recipe", ON_ANY_ARMS)
def test_an_oracle_that_fails_changes_nothing(recipe: str) -> None:
    answers = iter([[0.1, 0.2, 0.3]] * 40)

    def flaky(theta: np.ndarray):
        return next(answers, [float("nan")] * 3)

    policy = RECIPES[recipe].start(es.OracleArms(3, flaky))
    with pytest.raises(es.InvalidArgument, match=r"^best\(theta\) = "):
        while True:
            before = fingerprint(policy)
            policy.decide()
    assert fingerprint(policy) == before


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e150, "shape", "type", "error"])
def test_a_law_that_fails_changes_nothing(bad: object) -> None:
    class Broken(es.Uniform):
        def draw(self, rng, shape):
            if bad == "error":
                raise ZeroDivisionError
            draws = super().draw(rng, shape)
            if bad == "type":
                return draws.astype(np.float32)
            if bad == "shape":
                return draws[..., :-1]
            draws[-1] = bad
            return draws

    expected = ZeroDivisionError if bad == "error" else es.InvalidArgument
    policy = es.EnsembleSampling(size=100, reward=Broken()).start(es.FiniteArms(FEATURES))
    refused(policy, lambda: policy.update_many([0] * 500, [1.0] * 500), expected)
    history = es.PerturbedHistory(reward=Broken()).start(es.ChangingArms(3))
    history.update([1.0, 2.0, 3.0], 1.0)
    refused(history, lambda: history.decide(FEATURES), expected)
    with pytest.raises(expected):
        es.EnsembleSampling(size=2, initial=Broken()).start(es.FiniteArms(FEATURES))


ES, BALL = es.EnsembleSampling, es.UnitBall(2)
BAD_ARGUMENTS = [  # argument, call, values
    ("size", lambda v: ES(size=v), (0, -1, 2.0, "3", None, True)),
    ("scale", lambda v: ES(3, scale=v), (-0.1, NAN, "1", None, 1e60)),
    ("regularization", lambda v: ES(3, regularization=v), (0, -1, NAN)),
    ("initial", lambda v: ES(3, initial=v), (1.0, "gaussian", es.Gaussian)),
    ("reward", lambda v: ES(3, reward=v), (1.0, es.Sphere(), es.Gaussian)),
    ("member", lambda v: ES(3, member=v), (None, 0, "uniform", es.UniformMember)),
    ("setting", lambda v: ES(3, setting=v), (1, {})),
    ("scale", lambda v: es.PerturbedHistory(scale=v), (-1, INF)),
    ("reward", lambda v: es.PerturbedHistory(reward=v), (es.Sphere(), 3)),
    ("arms", ES(3).start, (FEATURES, None, 3, es.FiniteArms)),
    ("seed", lambda v: ES(3).start(BALL, v), (-1, 1.5, True, "x")),
    ("setting", ES.from_theorem, (None, 3)),
    ("perturbation", lambda v: es.PerturbedHistory.from_theorem(SMALL, v), (None, es.Sphere())),
    ("log", lambda v: REPLAY(BALL, v), (None, [], (1, 2))),
    ("log.round", lambda v: REPLAY(BALL, (v, [[1, 2]], [1])), (1, None)),
    ("log.round[0]", lambda v: REPLAY(BALL, ([v], [[1, 2]], [1])), (2**63, -1)),
    ("log.round[1]", lambda v: REPLAY(BALL, ([v, v], np.ones((2, 2)), [1, 1])), (0,)),
    ("log.reward", lambda v: REPLAY(BALL, ([0], [[1, 2]], v)), (1, None, "a")),
    ("log.reward[0]", lambda v: REPLAY(BALL, ([0], [[1, 2]], [v])), (NAN,)),
    ("log.features[0]", lambda v: REPLAY(BALL, ([0], v, [1])), (np.ones((1, 3)),)),
    ("log", lambda v: REPLAY(BALL, ([0, 1], np.eye(2)[:v], [1][:v])), (0, 1)),
    ("round", lambda v: REPLAY(BALL, ([4], [[1, 2]], [1]), round=v), (3,)),
    ("path", lambda v: ES(3).start(BALL).save(v), (None, 3, b"x", "/", "no/such/dir")),
    ("path", es.load, (None, 3, b"x")),
    ("counts", lambda v: es.Gaussian().draw_sum(np.random.default_rng(0), v), (-1, 1.5, "a")),
    ("setting", es.theory.radius, (None, 3, es.Setting)),
    ("perturbation", lambda v: es.theory.ensemble_size(SMALL, v), (None, es.Sphere(), "x")),
    ("size", lambda v: es.theory.optimistic_radius(SMALL, v), (1.5,)),
    ("reward", lambda v: ES(3).start(BALL).update([1.0, 2.0], v), (np.complex64(1 + 2j),)),
    ("features", es.FiniteArms, (np.ma.masked_array(np.eye(2), mask=np.eye(2)),)),
]


@pytest.mark.parametrize(("argument", "call", "values"), BAD_ARGUMENTS)
def test_bad_argument_is_named(argument: str, call, values) -> None:
    for value in values:
        with pytest.raises(es.InvalidArgument) as caught:
            call(value)
        assert caught.value.argument == argument, value
        assert str(caught.value).startswith(f"{argument} = ")


class Ruled(es.MemberRule):
    """A member rule that answers what it is told."""

    def __init__(self, member: object = 0, weights: object = None) -> None:
        self.member, self.answer = member, weights

    def choose(self, round, size, address, promises):
        return self.member

    def weights(self, round, size, promises):
        return self.answer


@pytest.mark.parametrize("member", [10**9, -1, 3, 1.5, "0", None, True])
def test_member_of_ones_own_rule_is_checked(member: object) -> None:
    for rule in (Ruled(member), lambda round, size, rng: member):
        policy = es.EnsembleSampling(3, member=rule).start(es.FiniteArms(FEATURES))
        refused(policy, policy.decide)


@pytest.mark.parametrize(
    "weights", [None, [1.0], [0.0] * 3, [-1.0, 1.0, 1.0], "abc", np.full(3, np.nan)]
)
def test_the_weights_of_ones_own_rule_are_checked(weights: object) -> None:
    policy = es.EnsembleSampling(3, member=Ruled(0, weights)).start(es.FiniteArms(FEATURES))
    refused(policy, policy.propensities)


@pytest.mark.parametrize("recipe", [name for name in ON_ANY_ARMS if "optimist" not in name])
@pytest.mark.parametrize(
    "x", [np.ones(500), np.ones(2), [np.nan] * 3, None, "abc", np.ones((3, 3))]
)
def test_arms_of_ones_own_are_checked(recipe: str, x: object) -> None:
    class Own(es.Arms):
        dim = 3

        def best(self, theta):
            return None, x

    policy = RECIPES[recipe].start(Own())
    refused(policy, policy.decide)


@pytest.mark.parametrize("kind", EVERY)
def test_a_decision_cannot_be_changed(kind) -> None:
    policy = start(*kind)
    decision = policy.decide(offered(policy, 0))
    with pytest.raises(ValueError, match="read-only"):
        decision.features[0] = np.nan
    for name in ("features", "arm", "round", "member", "propensity"):
        with pytest.raises(AttributeError):
            setattr(decision, name, 1)


@pytest.mark.parametrize("recipe", RECIPES)
def test_another_policys_decision_is_refused(recipe: str) -> None:
    """Even where it looks the same: with one arm every decision does."""
    arms = es.FiniteArms([[0.1, 0.2, 0.3]])
    mine, theirs = RECIPES[recipe].start(arms, 0), RECIPES[recipe].start(arms, 1)
    mine.decide()
    foreign = theirs.decide()
    refused(mine, lambda: mine.update(foreign, 1.0), es.DecisionError)


HUGE = 10**11
TOO_MANY = rf"^size = {HUGE}: expected what fits in memory: [\d,.]+ GiB or more .* 32\.0 GiB$"
MODELS = es.Linear(), es.Logistic(), es.Logistic("exact"), es.Neural()
RELATIVES = es.SharpEnsembleSampling, es.SymmetrizedEnsembleSampling, es.RefreshedEnsembleSampling
LARGE = [
    *(es.EnsembleSampling(HUGE, model=model, fresh=False) for model in MODELS),
    es.EnsembleSampling(HUGE, intercept=True, fresh=False),
    *(kind(HUGE) for kind in (*RELATIVES, es.EnsemblePlusPlus, es.InformationDirected)),
]
TORCH = es.EnsembleSampling(HUGE, model=es.TorchModel(lambda dim: None))
INFORMED = es.InformationDirected(HUGE, fresh=True)  # of whose members each decision needs all
FRESH = [
    es.EnsembleSampling(HUGE),
    es.EnsembleSampling(HUGE, 0.5, fresh=True),
    es.EnsembleSampling(HUGE, intercept=True),
    es.EnsembleSampling(HUGE, model=es.Logistic()),
]


@pytest.mark.parametrize(
    "recipe",
    [*LARGE, TORCH, INFORMED],
    ids=lambda recipe: f"{type(recipe).__name__} {type(recipe.model).__name__}",
)
def test_members_that_no_memory_holds_are_refused_before_they_are_made(
    recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ensample.memory.memory_bytes", lambda: 1 << 35)
    with pytest.raises(es.InvalidArgument, match=TOO_MANY):
        recipe.start(FOUR)


@pytest.mark.parametrize("recipe", FRESH, ids=repr)
def test_fresh_members_that_no_memory_holds_are_refused_when_all_are_asked_for(
    recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ensample.memory.memory_bytes", lambda: 1 << 35)
    assert recipe.least_numbers(FOUR) == 0
    policy = recipe.start(FOUR, 0)
    policy.update(policy.decide(), 1.0)
    ways = (
        policy.propensities,
        policy.votes,
        lambda: policy.estimates,
        lambda: policy.decide(propensity=True),
    )
    for ask in ways:
        with pytest.raises(es.InvalidArgument, match=TOO_MANY):
            ask()
    with pytest.raises(
        es.InvalidArgument, match=rf"^members = {HUGE - 1}: expected what fits in memory"
    ):
        policy.sampled_propensities(HUGE - 1)
    assert policy.round == 1, "what was refused took no round"
    assert policy.sampled_propensities(100).shares.sum() == pytest.approx(1.0)
    policy.update(policy.decide(), 1.0)


@pytest.mark.parametrize(
    ("recipe", "argument"),
    [
        (es.MultiplierBootstrap(1 << 20), "size"),
        (es.EnsembleSampling(30, model=es.Neural((2,), memory=1 << 30)), "memory"),
    ],
)
def test_what_no_memory_holds_is_refused(recipe, argument: str, monkeypatch) -> None:
    monkeypatch.setattr("ensample.memory.memory_bytes", lambda: 1 << 30)
    with pytest.raises(
        es.InvalidArgument, match=rf"^{argument} = .*: expected what fits in memory"
    ):
        recipe.start(es.FiniteArms(np.eye(33)))


@pytest.mark.parametrize("there", [1 << 35, None])
def test_what_may_fit_is_made(there: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system does not say how much there is; and simulations that touch only who acts take any size."""
    monkeypatch.setattr("ensample.memory.memory_bytes", lambda: there)
    monkeypatch.setattr("ensample.memory.SMALL", 0)
    assert es.EnsembleSampling(1000, fresh=False).start(FOUR).model.size == 1000
    assert es.EnsembleSampling(1000).start(FOUR).estimates.shape == (1000, 4)
    for recipe in (
        es.EnsembleSampling(HUGE, 0.3),
        es.EnsembleSampling(HUGE),
        es.EnsembleSampling(HUGE, fresh=False),
    ):
        assert es.simulate(recipe, es.problem("sphere", dim=2, arms=3), 20).evaluation == "lazy"


@pytest.mark.parametrize(
    "recipe", LARGE, ids=lambda recipe: f"{type(recipe).__name__} {type(recipe.model).__name__}"
)
def test_no_more_is_said_to_be_needed_than_is_taken(recipe) -> None:
    few = replace(recipe, size=20)
    model = few.start(FOUR).model
    taken = [
        *model.arrays().values(),
        getattr(model, "anchor", np.zeros(0)),
    ]  # where networks began is drawn again, not stored
    assert 0 < few.least_numbers(FOUR) <= sum(values.size for values in taken)


@pytest.mark.parametrize(
    "recipe",
    [es.MultiplierBootstrap(), es.LinUCB(), es.EnsembleSampling(9, fresh=False, ageing=0)],
    ids=repr,
)
@pytest.mark.parametrize("round", [-1, 2**63, 10**30])
def test_a_round_that_never_comes_has_no_propensities(recipe: es.Recipe, round: int) -> None:
    with pytest.raises(es.InvalidArgument, match="round"):
        recipe.start(es.FiniteArms(np.eye(3))).propensities(round=round)
