"""A log handed to a function: every observation that was learned, once and in order."""

from pathlib import Path

import numpy as np
import pytest

import ensample as es
from conformance.interrupts import interrupted
from conformance.policies import FEATURES, fingerprint
from ensample.policies.bookkeeping import LogSink
from ensample.policies.log import LogEntry

ARMS = es.FiniteArms(FEATURES)
LINEAR = es.EnsembleSampling(size=5, scale=0.5)  # learns in one call of the core
EXACT = es.EnsembleSampling(size=5, scale=0.5, model=es.Logistic("exact"))  # can be split anywhere


def started(sink: LogSink | None, recipe: es.Recipe = LINEAR) -> es.Policy:
    policy = recipe.start(ARMS, seed=3, log=sink)
    policy.update(0, 1.0)
    return policy


@pytest.mark.parametrize("recipe", [LINEAR, EXACT], ids=["whole", "split"])
def test_interrupt_gives_no_observation_twice(recipe: es.Recipe) -> None:
    """Ctrl-C before any one instruction: given are observations that were learned, in order."""
    learned, moment = set(), 1
    while True:
        given: list[LogEntry] = []
        policy = started(given.append, recipe)
        call = lambda policy=policy: policy.update_many([1, 2, 1], [0.5, 0.25, 1.0])  # noqa: E731
        if interrupted(call, moment) is None:
            break
        learned.add(policy.version)
        policy.update(0, 0.0)
        rounds = [entry.round for entry in given]
        assert rounds == sorted(set(rounds)) and max(rounds) < policy.version, moment
        assert policy.version - len(rounds) <= 1, "at most the one that was being given is missing"
        moment += 7
    assert learned == {1, 4}


def test_error_of_a_sink_comes_out_of_an_update_that_was_learned() -> None:
    given: list[int] = []

    def sink(entry: LogEntry) -> None:
        given.append(entry.round)
        if entry.round == 2:
            raise OSError("the disk is full")

    policy = started(sink)
    with pytest.raises(OSError, match="disk"):
        policy.update_many([1, 2, 1], [0.5, 0.25, 1.0])  # rounds 1 to 3
    assert policy.version == 4 and given == [0, 1, 2]
    policy.update(policy.decide(), 1.0)
    assert given == [0, 1, 2, 3, 4] and policy.version == 5


def test_sink_may_look_at_its_policy_and_update_it() -> None:
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


@pytest.mark.parametrize("kept", [True, False])
def test_loaded_policy_goes_on_with_a_sink_or_without_a_log(kept: bool, tmp_path: Path) -> None:
    whole = LINEAR.start(ARMS, seed=3) if kept else started(None)
    whole.update(0, 0.5)
    whole.save(tmp_path / "policy", log=kept)
    given: list[LogEntry] = []
    handing = es.load(tmp_path / "policy", log=given.append)
    without = es.load(tmp_path / "policy", log=None)
    for policy in (whole, handing, without):
        policy.update(policy.decide(), 1.0)
    assert [entry.round for entry in given] == [whole.round - 1]
    for policy in (handing, without):
        for name, values in whole.model.arrays().items():
            np.testing.assert_array_equal(policy.model.arrays()[name], values)
        with pytest.raises(es.InvalidArgument, match=r"^log = "):
            policy.log()
    with pytest.raises(es.WrongType, match=r"^log = "):
        es.load(tmp_path / "policy", log="file")


def test_replayed_policy_goes_on_with_a_sink() -> None:
    policy, given = LINEAR.start(ARMS, seed=3), []
    policy.update_many([0, 1], [0.5, 0.25])
    again = LINEAR.replay(ARMS, policy.log(), seed=3, onward=given.append)
    assert not given
    for one in (policy, again):
        one.update(one.decide(), 1.0)
    assert [entry.round for entry in given] == [2]
    np.testing.assert_array_equal(again.estimates, policy.estimates)


def test_log_that_is_needed_is_not_dropped(tmp_path: Path) -> None:
    policy = EXACT.start(ARMS)
    policy.update([0.1, 0.2, 0.3], 1.0)  # no standing arm: the exact fit looks for it in the log
    rademacher = es.PerturbedHistory(scale=0.5, reward=es.Rademacher(0.5)).start(ARMS)
    for one in (policy, rademacher):
        one.save(tmp_path / "policy")
        with pytest.raises(es.InvalidArgument, match=r"^log = None: expected True"):
            es.load(tmp_path / "policy", log=None)
        with pytest.raises(es.InvalidArgument, match=r"^log = None: expected True"):
            one.recipe.replay(ARMS, one.log(), onward=None)
        assert fingerprint(es.load(tmp_path / "policy")) == fingerprint(one)
