"""Laws that hold for every recipe on every kind of arms."""

import copy

import numpy as np
import pytest

import ensample as es
from conformance.interrupts import interrupted
from conformance.policies import (
    AGEING,
    ALL,
    ALL_RECIPES,
    ARMS,
    CERTAIN,
    FEATURES,
    FORGETTING,
    LOGISTIC,
    MIXING,
    MODULES,
    NETWORKS,
    asked,
    centre,
    fingerprint,
    learned,
    offered,
    play,
    reward,
    start,
)

every_policy = pytest.mark.parametrize(("recipe", "arms"), ALL)


@every_policy
def test_seeding_decides_everything(recipe: str, arms: str) -> None:
    one, same, other = start(recipe, arms, 1), start(recipe, arms, 1), start(recipe, arms, 2)
    decisions = play(one, 30)
    assert decisions == play(same, 30)
    assert fingerprint(one) == fingerprint(same)
    differs = any(mine != theirs for mine, theirs in zip(decisions, play(other, 30), strict=True))
    assert differs != (recipe in CERTAIN)


@every_policy
def test_looking_changes_nothing(recipe: str, arms: str) -> None:
    watched, left_alone = start(recipe, arms), start(recipe, arms)
    for t in range(20):
        before = fingerprint(watched)
        _ = asked(watched), watched.votes(), watched.calibration, repr(watched.arms)
        if recipe not in NETWORKS:
            watched.diagnostics(
                None if arms == "changing" else [0.5, -0.2, 0.3, 0.1][: watched.mean.size]
            )
        assert fingerprint(watched) == before
        assert play(watched, 1, t) == play(left_alone, 1, t)
    assert fingerprint(watched) == fingerprint(left_alone)


@every_policy
def test_replay_is_bit_identical(recipe: str, arms: str) -> None:
    policy = start(recipe, arms, 3)
    play(policy, 40)
    again = ALL_RECIPES[recipe].replay(policy.arms, policy.log(), seed=3)
    assert fingerprint(again) == fingerprint(policy)
    assert play(again, 20, 40) == play(policy, 20, 40)
    assert fingerprint(again) == fingerprint(policy)


@every_policy
def test_save_and_load_are_bit_identical(recipe: str, arms: str, tmp_path) -> None:
    policy = start(recipe, arms, 4)
    play(policy, 25)
    early = policy.decide(offered(policy, 25))
    policy.decide(offered(policy, 26))
    policy.save(tmp_path / "policy.safetensors")
    given = {
        "arms": policy.arms if arms == "oracle" else None,
        "recipe": policy.recipe if recipe in MODULES else None,
    }
    loaded = es.load(tmp_path / "policy.safetensors", **given)
    assert type(loaded) is type(policy) and loaded.recipe == policy.recipe and loaded.seed == 4
    assert fingerprint(loaded) == fingerprint(policy)
    for one in (policy, loaded):
        one.update(early, 0.25)
        one.update(one.open_decisions[0], 0.5)
    assert play(loaded, 300, 27) == play(policy, 300, 27)  # past a polishing of the inverse
    assert fingerprint(loaded) == fingerprint(policy)


@every_policy
def test_late_rewards_in_any_order_give_the_same_model(recipe: str, arms: str) -> None:
    policy = start(recipe, arms, 5)
    decisions = [policy.decide(offered(policy, t)) for t in range(15)]
    rewards = [reward(policy, t, decision) for t, decision in enumerate(decisions)]
    order = np.random.default_rng(0).permutation(15)
    shuffled = start(recipe, arms, 5)
    assert [shuffled.decide(offered(shuffled, t)) for t in range(15)] == decisions
    for decision, value in zip(decisions, rewards, strict=True):
        policy.update(decision, value)
    for t in order:
        shuffled.update(decisions[t], rewards[t])
    ordered = recipe in (
        *FORGETTING,
        *LOGISTIC,
        *NETWORKS,
    )  # the last to come counts most; steps start where the last ended
    if not ordered:
        np.testing.assert_allclose(shuffled.mean, policy.mean, atol=1e-12)
        np.testing.assert_allclose(shuffled.gram, policy.gram, atol=1e-12)
    if recipe == "ensemble, exact logistic":
        np.testing.assert_allclose(shuffled.mean, policy.mean, atol=1e-9)
    ordered = ordered or recipe in (
        "ensemble, refreshed",
        *AGEING,
    )  # refreshes and ages go by the order of learning
    if recipe.startswith("ensemble") and not ordered:
        np.testing.assert_allclose(shuffled.estimates, policy.estimates, atol=1e-12)
    # The fold goes in the order of the updates: replaying the log gives the same bits.
    assert shuffled.log().round.tolist() == order.tolist()
    again = ALL_RECIPES[recipe].replay(policy.arms, shuffled.log(), seed=5)
    assert fingerprint(again) == fingerprint(shuffled)


@every_policy
def test_many_updates_are_one_after_the_other(recipe: str, arms: str) -> None:
    together, singly = start(recipe, arms), start(recipe, arms)
    decisions = [together.decide(offered(together, t)) for t in range(9)]
    for t in range(9):
        singly.decide(offered(singly, t))
    order, rewards = [4, 0, 8, 2, 1], [0.1, 0.2, 0.3, 0.4, 0.5]
    together.update_many([decisions[t] for t in order], rewards)
    for t, value in zip(order, rewards, strict=True):
        singly.update(decisions[t], value)
    assert fingerprint(together) == fingerprint(singly)
    assert [decision.round for decision in together.open_decisions] == [3, 5, 6, 7]
    together.update_many([], [])
    assert fingerprint(together) == fingerprint(singly)


@every_policy
def test_a_decision_is_one_of_the_arms_on_offer(recipe: str, arms: str) -> None:
    policy = start(recipe, arms)
    for t in range(20):
        choice = offered(policy, t)
        thetas = policy.estimates if recipe.startswith("ensemble") else None  # of the coming round
        decision = policy.decide(choice)
        rows = FEATURES if choice is None else choice
        if arms in ("finite", "changing"):
            np.testing.assert_array_equal(decision.features, rows[decision.arm])
        else:
            assert decision.arm is None
        members = policy.model.size or policy.round
        assert 0 <= decision.member < members and decision.round == t
        if arms == "finite" and not recipe.startswith("epsilon-greedy"):
            assert decision.arm != 5, "of equal arms the lowest index wins"
        if thetas is not None:
            theta = thetas[decision.member][:3]
            known = (
                rows
                if choice is None
                else policy.model.in_known_units(policy.arms.offer(rows)).rows
            )  # new features: in the offer's
            best = policy.arms.best(theta)[1] if choice is None else rows[np.argmax(known @ theta)]
            assert decision.features @ theta == pytest.approx(best @ theta)
        if recipe in NETWORKS:
            scores = policy.model.scores(decision.member, rows)
            assert scores[decision.arm] == pytest.approx(scores.max(), rel=1e-12)
        policy.update(decision, reward(policy, t, decision))


@pytest.mark.parametrize(("recipe", "arms"), [kind for kind in ALL if kind[0] in MIXING])
def test_the_log_is_what_happened(recipe: str, arms: str) -> None:
    policy = start(recipe, arms)
    decisions = play(policy, 10)
    policy.update([0.1, 0.2, 0.3], 0.75)
    rounds, features, rewards, numbers, propensities = policy.log()
    decided = [
        -1 if decision.arm is None or not decision.standing else decision.arm
        for decision in decisions
    ]
    assert numbers.tolist() == [*decided, -1] and np.isnan(propensities).all()
    assert rounds.tolist() == list(range(11)) and policy.round == 11
    np.testing.assert_array_equal(features[:-1], [decision.features for decision in decisions])
    assert features[-1].tolist() == [0.1, 0.2, 0.3] and rewards[-1] == 0.75
    if recipe in (*LOGISTIC, *NETWORKS):
        return  # tests/policies/test_logistic.py, tests/models/test_networks.py
    X, y = learned(policy, features, rewards)
    shares = np.exp(-policy.recipe.rate * np.arange(11)[::-1])
    V = np.diag(policy.model.parts.prior) + (shares * X.T) @ X
    assert (
        policy.recipe.calibrates or policy.model.parts.prior[:3].tolist() == [policy.recipe.lam] * 3
    )
    np.testing.assert_allclose(policy.gram, V, rtol=1e-12)
    np.testing.assert_allclose(
        policy.model.parts.mean, np.linalg.solve(V, X.T @ (shares * y)), rtol=1e-9
    )
    intercept = policy.mean[3:] - policy.model.parts.mean[3:]
    np.testing.assert_allclose(intercept, rewards[: intercept.size], rtol=1e-9)


@every_policy
def test_what_is_returned_is_the_callers(recipe: str, arms: str) -> None:
    policy = start(recipe, arms)
    play(policy, 5)
    before = fingerprint(policy)
    for values in asked(policy):
        values[...] = 9
    assert fingerprint(policy) == before


@pytest.mark.parametrize("recipe", ALL_RECIPES)
def test_an_arm_number_rewards_the_oldest_open_decision(recipe: str) -> None:
    by_decision, by_number = start(recipe, "finite"), start(recipe, "finite")
    for t in range(30):
        decision = by_decision.decide()
        assert by_number.decide() == decision
        by_decision.update(decision, reward(by_decision, t, decision))
        by_number.update(decision.arm, reward(by_decision, t, decision))
    assert fingerprint(by_decision) == fingerprint(by_number)


@pytest.mark.parametrize("recipe", ALL_RECIPES)
def test_an_arm_number_without_a_decision_is_a_round_of_its_own(recipe: str) -> None:
    policy = start(recipe, "finite")
    policy.update(3, 1.0)
    policy.update(np.int64(3), 0.0)
    policy.update_many([0, 0, 1], [1, 0, 0.5])
    assert policy.round == 5 and policy.log().round.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("recipe", MIXING)
def test_standing_arms_and_others_may_mix(recipe: str) -> None:
    policy = start(recipe, "finite", 6)
    for t in range(30):
        decision = (
            policy.decide()
            if t % 2
            else policy.decide(np.random.default_rng(t).standard_normal((3, 3)))
        )
        policy.update(decision, reward(policy, t, decision))
    again = ALL_RECIPES[recipe].replay(ARMS["finite"](), policy.log(), seed=6)
    assert fingerprint(again) == fingerprint(policy)


@pytest.mark.parametrize("recipe", ALL_RECIPES)
def test_forgotten_decisions_take_no_reward(recipe: str) -> None:
    policy = start(recipe, "finite")
    decision = policy.decide()
    policy.forget(decision)
    assert policy.open_decisions == []
    for call in (lambda: policy.update(decision, 1.0), lambda: policy.forget(decision)):
        with pytest.raises(es.DecisionError):
            call()


@pytest.mark.parametrize("recipe", ALL_RECIPES)
def test_of_two_open_decisions_for_an_arm_the_older_is_rewarded(recipe: str) -> None:
    policy = ALL_RECIPES[recipe].start(es.FiniteArms([[0.3, 0.2, 0.1]]))
    first, second = policy.decide(), policy.decide()
    policy.update(0, 1.0)
    assert policy.open_decisions == [second]
    assert policy.log().round.tolist() == [first.round]


@pytest.mark.parametrize("recipe", MIXING)
def test_an_arm_number_is_one_of_the_standing_arms(recipe: str) -> None:
    policy = start(recipe, "finite")
    offered = policy.decide(np.eye(3))
    policy.update(offered.arm, 1.0)
    assert policy.open_decisions == [offered]
    np.testing.assert_array_equal(policy.log().features[0], FEATURES[offered.arm])


@every_policy
def test_replay_goes_on_where_it_is_told(recipe: str, arms: str) -> None:
    """Rounds that were begun and never rewarded are in no log."""
    policy = start(recipe, arms, 7)
    play(policy, 5)
    policy.forget(policy.decide(offered(policy, 5)))
    policy.decide(offered(policy, 6))
    log = policy.log()
    assert ALL_RECIPES[recipe].replay(policy.arms, log, seed=7).round == 5
    again = ALL_RECIPES[recipe].replay(policy.arms, log, seed=7, round=7)
    assert again.decide(offered(policy, 7)) == policy.decide(offered(policy, 7))


@every_policy
def test_copies_are_independent(recipe: str, arms: str) -> None:
    policy = start(recipe, arms)
    play(policy, 3)
    twin = copy.deepcopy(policy)
    before = fingerprint(policy)
    assert fingerprint(twin) == before
    play(twin, 3, 3)
    assert fingerprint(policy) == before
    assert not np.array_equal(centre(twin), centre(policy))
    play(policy, 3, 3)
    assert fingerprint(twin) == fingerprint(policy)
    np.testing.assert_array_equal(centre(twin), centre(policy))


@every_policy
def test_an_interrupt_at_any_moment_leaves_a_whole_update(recipe: str, arms: str) -> None:
    """Ctrl-C before any one instruction of an update, and again while the first is handled.

    All of it or nothing of it.
    """
    before, expected = start(recipe, arms), start(recipe, arms)
    for one in (before, expected):
        play(one, 4)
        decision = one.decide(offered(one, 4))
    expected.update(decision, 0.5)
    interrupt_everywhere(
        before, expected, stride=1 if (recipe, arms) == ("ensemble", "finite") else 61
    )


@pytest.mark.parametrize("recipe", ["ensemble", "ensemble, refreshed", "LinUCB, watched norm"])
def test_an_interrupt_leaves_nothing_due(recipe: str) -> None:
    """Ctrl-C in an update by long features, after which V^-1 is due to be recomputed."""
    before = ALL_RECIPES[recipe].start(es.FiniteArms(1e4 * FEATURES), seed=3)
    before.decide()
    expected = copy.deepcopy(before)
    expected.update(expected.open_decisions[0], 0.5)
    assert np.isfinite(expected.model.information)
    interrupt_everywhere(before, expected, stride=5)


def interrupt_everywhere(before: es.Policy, expected: es.Policy, stride: int) -> None:
    """Ctrl-C in the update that leads from one to the other."""
    whole = fingerprint(before), fingerprint(expected)
    for again in (None, 3):
        moment = 1
        while True:
            policy = copy.deepcopy(before)
            if (
                interrupted(
                    lambda policy=policy: policy.update(policy.open_decisions[0], 0.5),
                    moment,
                    again,
                )
                is None
            ):
                break
            assert fingerprint(policy) in whole, (moment, again)
            moment += stride
        assert moment > 50
