"""A log handed to a function: every observation that was learned, in order, at least once."""

from collections.abc import Callable

import numpy as np
import pytest

import ensample as es
from conformance.interrupts import interrupted
from conformance.policies import FEATURES, fingerprint
from ensample.policies.ledger import LogEntry, LogSink

ARMS = es.FiniteArms(FEATURES)
LINEAR = es.EnsembleSampling(size=5, scale=0.5)  # learns in one call of a kernel
LOGISTIC = es.EnsembleSampling(
    size=5, scale=0.5, model=es.Logistic("exact")
)  # can be split anywhere
UPDATES: dict[str, Callable[[es.Policy], object]] = {
    "one": lambda policy: policy.update(1, 0.5),
    "many": lambda policy: policy.update_many([1, 2, 1], [0.5, 0.25, 1.0]),
}


class Refusing:
    """Takes entries, but for those of some rounds, as long as they are in `refused`."""

    def __init__(self, *refused: int) -> None:
        self.refused, self.taken = set(refused), []

    def __call__(self, entry: LogEntry) -> None:
        if entry.round in self.refused:
            raise OSError("the disk is full")
        self.taken.append(entry.round)


def started(sink: LogSink | None, recipe: es.Recipe = LINEAR) -> es.Policy:
    policy = recipe.start(ARMS, seed=3, log=sink)
    policy.update(0, 1.0)
    return policy


def in_order(given: list[LogEntry], count: int) -> bool:
    """Whether these are `count` observations in order, some of them perhaps twice in a row."""
    rounds = [entry.round for entry in given]
    return list(dict.fromkeys(rounds)) == list(range(count)) and rounds == sorted(rounds)


@pytest.mark.parametrize("again", [None, 4], ids=["once", "twice"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("recipe", [LINEAR, LOGISTIC], ids=["whole", "split"])
def test_an_interrupt_loses_nothing(recipe: es.Recipe, update: str, again: int | None) -> None:
    """Ctrl-C before any one instruction: what was learned is what was handed over, at the next look and for good."""
    repeated, learned, moment = 0, set(), 1
    while True:
        given: list[LogEntry] = []
        policy = started(given.append, recipe)
        if interrupted(lambda policy=policy: UPDATES[update](policy), moment, again) is None:
            break
        assert in_order(given, policy.version), (moment, policy.version, given)
        learned.add(policy.version)
        repeated += len(given) > policy.version
        policy.update(0, 0.0)
        assert in_order(given, policy.version) and not policy._ledger.undelivered
        moment += 1 if (recipe, again) == (LINEAR, None) else 5
    assert learned == {1, policy.version} and moment > 50
    assert repeated or recipe is LOGISTIC, (
        "an observation is given again where it is not known to have been taken"
    )


def test_what_a_sink_refuses_it_is_given_again_before_anything_is_learned() -> None:
    sink = Refusing(2)
    policy = started(sink)
    with pytest.raises(OSError, match="disk"):
        policy.update_many([1, 2, 1], [0.5, 0.25, 1.0])  # rounds 1 to 3
    assert policy.version == 4 and sink.taken == [0, 1]
    before = fingerprint(policy)
    for call in (*UPDATES.values(), lambda policy: policy.save("nowhere")):
        with pytest.raises(OSError, match="disk"):
            call(policy)
        assert fingerprint(policy) == before and sink.taken == [0, 1]
    decision = policy.decide()
    assert decision.round == 4 and policy.version == 4, "looking and deciding go on"
    sink.refused.clear()
    policy.update(decision, 1.0)
    assert sink.taken == [0, 1, 2, 3, 4] and policy.version == 5


def test_a_save_hands_over_what_an_error_left(tmp_path) -> None:
    sink = Refusing(1)
    policy = started(sink)
    with pytest.raises(OSError, match="disk"):
        policy.update(1, 0.5)
    sink.refused.clear()
    policy.save(tmp_path / "policy", log=False)
    assert sink.taken == [0, 1]


def test_a_sink_may_look_at_its_policy_and_update_it() -> None:
    given: list[tuple[int, int]] = []

    def sink(entry: LogEntry) -> None:
        given.append((entry.round, policy.version))
        if entry.round == 1:
            policy.update_many([2, 0], [0.0, 1.0])
        if entry.round == 4:
            policy.decide()

    policy = LINEAR.start(ARMS, seed=3, log=sink)
    for _ in range(3):
        policy.update(0, 1.0)
    assert given == [(0, 1), (1, 2), (2, 4), (3, 4), (4, 5)] and policy.round == 6
    assert not policy._ledger.undelivered and policy._ledger._pending is None


@pytest.mark.parametrize("kept", [True, False])
def test_a_loaded_policy_goes_on_with_a_sink_or_without_a_log(kept: bool, tmp_path) -> None:
    whole = started(None) if not kept else LINEAR.start(ARMS, seed=3)
    whole.update(0, 0.5)
    whole.save(tmp_path / "policy", log=kept)
    given: list[LogEntry] = []
    handing, without = (
        es.load(tmp_path / "policy", log=given.append),
        es.load(tmp_path / "policy", log=None),
    )
    for policy in (whole, handing, without):
        policy.update(policy.decide(), 1.0)
    assert [entry.round for entry in given] == [whole.round - 1]
    for policy in (handing, without):
        assert all(
            np.array_equal(policy.model.arrays()[name], values)
            for name, values in whole.model.arrays().items()
        )
        assert not any(len(column) for column in policy._ledger.columns().values())
        with pytest.raises(es.InvalidArgument, match=r"^log = "):
            policy.log()
    if kept:
        assert es.load(tmp_path / "policy", verify=True, log=None).version == 1
        with pytest.raises(es.WrongType, match=r"^log = "):
            es.load(tmp_path / "policy", log="file")


def test_a_replayed_policy_goes_on_with_a_sink() -> None:
    policy, given = LINEAR.start(ARMS, seed=3), []
    policy.update_many([0, 1], [0.5, 0.25])
    again = LINEAR.replay(ARMS, policy.log(), seed=3, onward=given.append)
    assert not given
    for one in (policy, again):
        one.update(one.decide(), 1.0)
    assert [entry.round for entry in given] == [2]
    np.testing.assert_array_equal(again.estimates, policy.estimates)


def test_a_log_that_is_needed_is_not_dropped(tmp_path) -> None:
    policy = LOGISTIC.start(ARMS)
    policy.update([0.1, 0.2, 0.3], 1.0)  # no standing arm: the exact fit looks for it in the log
    rademacher = es.PerturbedHistory(scale=0.5, reward=es.Rademacher(0.5)).start(ARMS)
    for one in (policy, rademacher):
        one.save(tmp_path / "policy")
        with pytest.raises(es.InvalidArgument, match=r"^log = None: expected True"):
            es.load(tmp_path / "policy", log=None)
        with pytest.raises(es.InvalidArgument, match=r"^log = None: expected True"):
            one.recipe.replay(ARMS, one.log(), onward=None)
        assert fingerprint(es.load(tmp_path / "policy")) == fingerprint(one)
