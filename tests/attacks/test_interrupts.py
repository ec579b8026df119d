"""Ctrl-C at random microseconds, once and twice in a row: what was learned is what the log says, bit for bit."""

import signal
import time
from collections.abc import Callable

import numpy as np
import pytest

import ensample as es
from attempts import attempts
from conformance.policies import ARMS, EVERY, RECIPES, fingerprint, offered, possible, start

ROUNDS = 12


class Alarm:
    """SIGALRM does what SIGINT does, and can be set to the microsecond; at most `times` in a row."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.left = rng, 0
        self.before = signal.signal(signal.SIGALRM, self.interrupt)

    def interrupt(self, number: int, frame: object) -> None:
        if self.left > 0:
            self.left -= 1
            if self.left:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + 3e-5 * self.rng.random())
            raise KeyboardInterrupt

    def during(self, call: Callable[[], object], after: float, times: int) -> bool:
        """Whether a call was interrupted."""
        hit = False
        try:
            try:
                self.left = times
                signal.setitimer(signal.ITIMER_REAL, max(1e-6, after))
                call()
                self.left = 0
            except (KeyboardInterrupt, SystemError) as error:
                if isinstance(error, SystemError) and "with an exception set" not in str(error):
                    raise  # that is how numba says that an interrupt came while it handed over a result
                hit = True
                for _ in range(200):  # the second may come here
                    pass
                self.left = 0
        except KeyboardInterrupt:  # the last there can be
            hit = True
        return hit

    def off(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.before)


def busy(policy: es.Policy, rng: np.random.Generator) -> None:
    """Decide, reward late and early, one by one and together."""
    for t in range(ROUNDS):
        policy.decide(offered(policy, t))
        if rng.random() < 0.7:
            waiting = policy.open_decisions
            policy.update(waiting[int(rng.random() * len(waiting))], possible(policy, rng.standard_normal()))
        if rng.random() < 0.2:
            waiting = policy.open_decisions
            policy.update_many(waiting, [possible(policy, y) for y in rng.standard_normal(len(waiting))])


def whole(policy: es.Policy, recipe: str, arms: str) -> bool:
    """Whether state is the fold of the log, no round is used twice and no rewarded decision is open."""
    log, waiting = policy.log(), policy.open_decisions
    rounds = [*log.round.tolist(), *(decision.round for decision in waiting)]
    again = RECIPES[recipe].replay(ARMS[arms](), log, seed=7, round=policy.round)
    again._ledger.open.update({decision.round: decision for decision in waiting})
    return (
        len(set(rounds)) == len(rounds) and max(rounds, default=-1) < policy.round and fingerprint(again) == fingerprint(policy)
    )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interrupt in a callback of C is lost
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
def test_an_interrupted_policy_is_the_fold_of_its_log(times: int) -> None:
    count = attempts(150, 8_000) if times == 2 else attempts(300, 20_000)
    lengths = {kind: compiled_length(*kind) for kind in EVERY}
    rng = np.random.default_rng(times)
    alarm, hit, split = Alarm(rng), 0, []
    try:
        for attempt in range(count):
            kind = EVERY[attempt % len(EVERY)]
            policy, choices = start(*kind, 7), np.random.default_rng(attempt)
            hit += alarm.during(lambda policy=policy, rng=choices: busy(policy, rng), rng.random() * lengths[kind], times)
            if not whole(policy, *kind):
                split.append((attempt, *kind))
    finally:
        alarm.off()
    print(f"{count:,} attempts, {times} interrupts in a row: {hit:,} interrupted, {len(split)} split")
    assert hit > count / 3 and not split


def compiled_length(recipe: str, arms: str) -> float:
    """How long `busy` takes once its kernels are compiled."""
    busy(start(recipe, arms, 7), np.random.default_rng(0))
    began = time.perf_counter()
    busy(start(recipe, arms, 7), np.random.default_rng(0))
    return time.perf_counter() - began


def numba_says(cause: BaseException) -> None:
    """What comes out where an array is handed to Python and something is raised meanwhile."""
    try:
        try:
            raise cause
        except BaseException as raised:
            raise SystemError("_numba_unpickle returned a result with an exception set") from raised
    except SystemError as error:
        raise SystemError("votes returned a result with an exception set") from error


@pytest.mark.parametrize(("cause", "comes"), [(KeyboardInterrupt, KeyboardInterrupt), (ValueError, SystemError)])
def test_ctrl_c_is_ctrl_c_where_numba_says_otherwise(cause: type, comes: type, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = es.EnsembleSampling(5).start(es.FiniteArms(np.eye(2)), seed=0)
    decision = policy.decide()
    for name, ask in (
        ("best", policy.decide),
        ("votes", policy.propensities),
        ("learn", lambda: policy.update(decision, 1.0)),
    ):
        with monkeypatch.context() as patch, pytest.raises(comes):
            patch.setattr(type(policy.model), name, lambda *given: numba_says(cause()))
            ask()
    assert policy.round == 1 and policy.version == 0 and len(policy.open_decisions) == 1
    policy.update(decision, 1.0)
