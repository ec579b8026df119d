"""A round of thirty networks beside the bare matrix products of its one training step."""

import time

import numpy as np

from ensample.arms import Arms, ChangingArms, FiniteArms
from ensample.bench.timing import Turn
from ensample.models.neural import Neural
from ensample.policies import EnsembleSampling

MEMBERS, DIM, WIDTH, BATCH, ARMS = 30, 100, 50, 64, 100
FILLED = 600  # rounds before the clock starts: a round then has one step of a whole batch


def network_rounds(rounds: int, changing: bool = False) -> Turn:
    """decide + update of networks with two hidden layers, on standing arms or on as many new ones each round."""
    rng = np.random.default_rng(0)
    arms: Arms = ChangingArms(DIM) if changing else FiniteArms(rng.standard_normal((ARMS, DIM)))
    policy = EnsembleSampling(MEMBERS, model=Neural((WIDTH, WIDTH), batch=BATCH)).start(
        arms, seed=0
    )

    def play(count: int) -> float:
        """Seconds."""
        offers = [rng.standard_normal((ARMS, DIM)) if changing else None for _ in range(count)]
        rewards = rng.standard_normal(count).tolist()
        start = time.perf_counter()
        for offer, reward in zip(offers, rewards, strict=True):
            policy.update(policy.decide(offer), reward)
        return time.perf_counter() - start

    def turn() -> float:
        return play(rounds) / rounds * 1e6

    play(FILLED)
    return turn


def network_products(rounds: int) -> Turn:
    """The seven products of such a step with a whole batch, into arrays that are there, laid out as is fastest: by member."""
    rng = np.random.default_rng(0)
    rows, first = rng.standard_normal((BATCH, DIM)), rng.standard_normal((MEMBERS, DIM, WIDTH))
    second, turned = (rng.standard_normal((MEMBERS, WIDTH, WIDTH)) for _ in range(2))
    last, delta = rng.standard_normal((MEMBERS, WIDTH, 1)), rng.standard_normal((MEMBERS, BATCH, 1))
    low, high, errors, further = (rng.standard_normal((MEMBERS, BATCH, WIDTH)) for _ in range(4))
    outputs, by_last = np.empty_like(delta), np.empty_like(last)
    by_first, by_second = np.empty_like(first), np.empty_like(second)

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(rounds):
            np.matmul(rows, first, out=low)
            np.matmul(low, second, out=high)
            np.matmul(high, last, out=outputs)
            np.matmul(high.mT, delta, out=by_last)
            np.matmul(low.mT, errors, out=by_second)
            np.matmul(errors, turned, out=further)
            np.matmul(rows.T, further, out=by_first)
        return (time.perf_counter() - start) / rounds * 1e6

    return turn
