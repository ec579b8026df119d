"""Several threads use one policy: every reward lands on a round of its own, and the log says what was learned."""

import threading

import numpy as np
import pytest

import ensample as es
from attempts import attempts
from conformance.policies import RECIPES, fingerprint, start

THREADS = 8


def worked(policy: es.Policy, rounds: int) -> None:
    """Decide and reward from THREADS threads at once."""

    def work(thread: int) -> None:
        for t in range(rounds):
            policy.update(policy.decide(), (thread + t % 3) / THREADS / 2)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("recipe", RECIPES)
def test_threads_share_no_round(recipe: str) -> None:
    policy = start(recipe, "finite", 3)
    worked(policy, 25)
    check(policy, recipe, 25)


def test_many_rounds_of_many_threads() -> None:
    rounds = attempts(1_000, 20_000)
    policy = start("ensemble", "finite", 3)
    worked(policy, rounds)
    check(policy, "ensemble", rounds)
    print(
        f"{THREADS} threads x {rounds:,} rounds: {policy.version:,} rewards on {len(set(policy.log().round.tolist())):,} rounds"
    )


def check(policy: es.Policy, recipe: str, rounds: int) -> None:
    log = policy.log()
    assert policy.round == policy.version == THREADS * rounds
    assert sorted(log.round.tolist()) == list(range(THREADS * rounds)) and not policy.open_decisions
    again = RECIPES[recipe].replay(policy.arms, log, seed=3)
    assert fingerprint(again) == fingerprint(policy)


def test_without_a_log_memory_does_not_grow() -> None:
    seen: list[int] = []
    for log in (None, lambda entry: seen.append(entry.round)):
        policy = es.EnsembleSampling(size=5).start(es.FiniteArms(np.eye(3)), log=log)
        for _ in range(50):
            policy.update(policy.decide(), 1.0)
        assert policy.version == 50
        assert all(len(column) == 0 for column in policy.bookkeeping.columns().values())
        with pytest.raises(es.InvalidArgument, match=r"^log = None"):
            policy.log()
    assert seen == list(range(50))


def test_a_policy_without_a_log_is_saved_without_it(tmp_path) -> None:
    kept = es.EnsembleSampling(size=5)
    lean = es.EnsembleSampling(size=5).start(es.FiniteArms(np.eye(3)), seed=0, log=None)
    full = kept.start(es.FiniteArms(np.eye(3)), seed=0)
    for policy in (full, lean):
        for _ in range(30):
            policy.update(policy.decide(), 1.0)
    full.save(tmp_path / "state", log=False)
    lean.save(tmp_path / "lean", log=False)
    assert fingerprint(es.load(tmp_path / "state")) == fingerprint(es.load(tmp_path / "lean"))
    loaded = es.load(tmp_path / "state")
    np.testing.assert_array_equal(loaded.estimates, full.estimates)
    assert loaded.decide() == full.decide() and loaded.version == 30
    with pytest.raises(es.InvalidArgument, match="log"):
        lean.save(tmp_path / "no", log=True)
