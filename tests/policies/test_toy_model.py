"""A model of thirty lines is a whole policy: what keeps the books knows nothing of ridge regression."""

import json
from copy import copy
from dataclasses import dataclass

import numpy as np
import pytest

import ensample as es
from conformance.interrupts import interrupted
from conformance.policies import fingerprint
from ensample.arms import Arms
from ensample.member_rules import UNIFORM_MEMBER, MemberRule
from ensample.models import Model
from ensample.randomness import Address, Stream


class ArmMeans(Model):
    """Each member keeps the mean of each arm's perturbed rewards; Python all the way, so it can be split anywhere."""

    def __init__(self, rows: np.ndarray, size: int, address: Address) -> None:
        self.rows, self.size, self.address = rows, size, address
        self.sums, self.pulls, self.seen = (
            np.zeros((size, len(rows))),
            np.zeros(len(rows)),
            np.zeros(1),
        )

    @property
    def count(self) -> int:
        return int(self.seen[0])

    def scores(self, member: int, rows: np.ndarray) -> np.ndarray:
        known = [int(np.flatnonzero((self.rows == x).all(axis=1))[0]) for x in rows]
        return ((self.sums[member] + 1.0) / (self.pulls + 1.0))[known]

    def learn(self, round: int, arm: int, x: np.ndarray, y: float) -> None:
        z = self.address.generator(Stream.PERTURBATION, round).standard_normal(self.size)
        self.sums[:, arm] += y + z
        self.pulls[arm] += 1.0
        self.seen[0] += 1.0

    def arrays(self) -> dict[str, np.ndarray]:
        return {"sums": self.sums, "pulls": self.pulls, "seen": self.seen}


@dataclass(frozen=True)
class MeanSampling(es.Recipe):
    size: int = 20
    regularization = 1.0
    scale = 1.0
    rule = UNIFORM_MEMBER

    def build(self, arms: Arms, address: Address) -> ArmMeans:
        return ArmMeans(arms.rows, self.size, address)


RECIPE = MeanSampling()
MEANS = [0.2, 0.9, 0.1]


def started() -> es.Policy:
    return RECIPE.start(es.FiniteArms(np.eye(3)), seed=3)


def played(rounds: int) -> es.Policy:
    policy = started()
    for _ in range(rounds):
        decision = policy.decide()
        policy.update(decision, MEANS[decision.arm])
    return policy


def test_propensities_are_those_of_its_votes() -> None:
    policy = played(30)
    decision = policy.decide(propensity=True)
    votes = np.bincount(policy.votes(), minlength=3)
    np.testing.assert_allclose(policy.propensities(), votes / 20)
    assert decision.propensity == policy.propensity(decision) == votes[decision.arm] / 20


def test_snapshots(tmp_path) -> None:
    policy = played(25)
    waiting = policy.decide()
    policy.save(tmp_path / "toy")
    loaded = es.load(tmp_path / "toy", recipe=RECIPE)
    assert fingerprint(loaded) == fingerprint(policy)
    loaded.update(es.Decision.from_dict(json.loads(json.dumps(waiting.to_dict()))), 1.0)
    policy.update(round=waiting.round, reward=1.0)
    assert fingerprint(loaded) == fingerprint(policy)


def test_many_updates_roll_back_together() -> None:
    policy = played(5)
    before = fingerprint(policy)
    learn, calls = policy.model.learn, []

    def stumbling(round, arm, x, y):
        calls.append(round)
        learn(round, arm, x, y)
        if len(calls) == 3:
            raise RuntimeError("the disk is full")

    policy.model.learn = stumbling
    with pytest.raises(RuntimeError):
        policy.update_many([0, 1, 2, 0], [1, 2, 3, 4])
    del policy.model.learn
    assert fingerprint(policy) == before


@pytest.mark.parametrize("again", [None, 2, 30])
def test_an_interrupt_before_any_instruction_leaves_a_whole_update(again: int | None) -> None:
    expected = played(4)
    whole = {fingerprint(expected)}
    expected.update(1, 0.5)
    whole.add(fingerprint(expected))
    for moment in range(1, 10_000):
        policy = played(4)
        if interrupted(lambda policy=policy: policy.update(1, 0.5), moment, again) is None:
            break
        assert fingerprint(policy) in whole
    assert 100 < moment < 10_000


def test_what_the_model_has_not_is_no_attribute() -> None:
    for name in ("mean", "gram", "estimates"):
        assert not hasattr(started(), name)


class Uncounted(ArmMeans):
    def learn(self, round: int, arm: int, x: np.ndarray, y: float) -> None:
        self.sums[:, arm] += y


class OneMember(ArmMeans):
    def __init__(self, rows: np.ndarray, size: int, address: Address) -> None:
        super().__init__(rows, size, address)
        self.size = 1


@dataclass(frozen=True)
class Slip(MeanSampling):
    """A recipe with a mistake in it."""

    made: type = ArmMeans
    rule: MemberRule | None = UNIFORM_MEMBER

    def build(self, arms: Arms, address: Address) -> Model:
        return self.made(arms.rows, self.size, address)


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        (
            Slip(5, made=OneMember),
            r"size = 1: expected the number of members in OneMember.size, as Slip\(size=5",
        ),
        (
            Slip(5, rule=None),
            r"rule = None: expected a rule such as UniformMember\(\) to choose among the 5 members of ArmMeans",
        ),
        (Slip(5, made=lambda *given: 7), r"build = 7 \(int\): expected a Model from Slip.build"),
    ],
)
def test_slips_in_a_recipe_of_ones_own_are_told_at_the_start(recipe: es.Recipe, told: str) -> None:
    with pytest.raises(es.InvalidArgument, match=told):
        recipe.start(es.FiniteArms(np.eye(3)))


def test_a_model_that_does_not_count_is_told_and_has_learned_nothing() -> None:
    policy = Slip(5, made=Uncounted).start(es.FiniteArms(np.eye(3)))
    with pytest.raises(
        es.InvalidArgument,
        match=r"count = 0: expected 1, one more for each observation, in Uncounted",
    ):
        policy.update(1, 0.5)
    assert policy.version == 0 and not policy.model.sums.any()


class Moody(ArmMeans):
    """Likes in odd rounds what it dislikes in even ones."""

    sign = 1.0

    def at(self, round: int) -> "Moody":
        other = copy(self)
        other.sign = -1.0 if round % 2 else 1.0
        return other

    def scores(self, member: int, rows: np.ndarray) -> np.ndarray:
        return self.sign * super().scores(member, rows)


def test_a_model_that_acts_in_another_way_in_some_rounds_is_asked_in_each() -> None:
    """By decisions and by propensities alike: what is decided has a propensity above 0."""
    policy = Slip(1, made=Moody).start(es.FiniteArms(np.eye(3)))
    decided = [policy.decide(propensity=True) for _ in range(4)]
    assert [decision.propensity for decision in decided] == [1.0] * 4
    policy.update(0, 5.0)
    first, second = policy.decide(), policy.decide()
    assert (first.arm == 0) != (second.arm == 0)
