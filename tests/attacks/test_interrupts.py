"""Ctrl-C at random microseconds, once and twice in a row.

What was learned is what the log says, bit for bit.
"""

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
    """SIGALRM does what SIGINT does, and can be set to the microsecond.

    At most `times` in a row.
    """

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
            except KeyboardInterrupt:
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
            policy.update(
                waiting[int(rng.random() * len(waiting))], possible(policy, rng.standard_normal())
            )
        if rng.random() < 0.2:
            waiting = policy.open_decisions
            policy.update_many(
                waiting, [possible(policy, y) for y in rng.standard_normal(len(waiting))]
            )


def whole(policy: es.Policy, recipe: str, arms: str) -> bool:
    """Return True if state is the fold of the log, and rounds and decisions are consistent."""
    log, waiting = policy.log(), policy.open_decisions
    rounds = [*log.round.tolist(), *(decision.round for decision in waiting)]
    again = RECIPES[recipe].replay(ARMS[arms](), log, seed=7, round=policy.round)
    again.bookkeeping.open.update({decision.round: decision for decision in waiting})
    return (
        len(set(rounds)) == len(rounds)
        and max(rounds, default=-1) < policy.round
        and fingerprint(again) == fingerprint(policy)
    )


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # an interrupt in a callback of C is lost
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
def test_an_interrupted_policy_is_the_fold_of_its_log(times: int) -> None:
    count = attempts(150, 8_000) if times == 2 else attempts(300, 20_000)
    lengths = {kind: length_of(*kind) for kind in EVERY}
    rng = np.random.default_rng(times)
    alarm, hit, split = Alarm(rng), 0, []
    try:
        for attempt in range(count):
            kind = EVERY[attempt % len(EVERY)]
            policy, choices = start(*kind, 7), np.random.default_rng(attempt)
            hit += alarm.during(
                lambda policy=policy, rng=choices: busy(policy, rng),
                rng.random() * lengths[kind],
                times,
            )
            if not whole(policy, *kind):
                split.append((attempt, *kind))
    finally:
        alarm.off()
    print(
        f"{count:,} attempts, {times} interrupts in a row: {hit:,} interrupted, {len(split)} split"
    )
    assert hit > count / 3 and not split


def length_of(recipe: str, arms: str) -> float:
    """Return the seconds that `busy` takes the second time, when everything is imported."""
    busy(start(recipe, arms, 7), np.random.default_rng(0))
    began = time.perf_counter()
    busy(start(recipe, arms, 7), np.random.default_rng(0))
    return time.perf_counter() - began
