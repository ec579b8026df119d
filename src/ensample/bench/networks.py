"""A round of thirty networks beside the bare matrix products of its one training step."""

import time

import numpy as np

from ensample.arms import FiniteArms
from ensample.bench.timing import Turn
from ensample.models.neural import Neural
from ensample.policies import EnsembleSampling

__all__ = ["MEMBERS", "network_products", "network_rounds"]

MEMBERS, DIM, WIDTH, BATCH, ARMS = 30, 100, 50, 64, 100
FILLED = 600  # rounds before the clock starts: a round then has one step of a whole batch


def network_rounds(rounds: int) -> Turn:
    """decide + update of networks with two hidden layers, on standing arms."""
    rng = np.random.default_rng(0)
    model = Neural((WIDTH, WIDTH), batch=BATCH)
    policy = EnsembleSampling(MEMBERS, model=model).start(FiniteArms(rng.standard_normal((ARMS, DIM))), seed=0)

    def play(count: int) -> None:
        for reward in rng.standard_normal(count).tolist():
            policy.update(policy.decide(), reward)

    def turn() -> float:
        start = time.perf_counter()
        play(rounds)
        return (time.perf_counter() - start) / rounds * 1e6

    play(FILLED)
    return turn


def network_products(rounds: int) -> Turn:
    """The seven products of such a step, into arrays that are there."""
    rng = np.random.default_rng(0)
    rows, first = rng.standard_normal((BATCH, DIM)), rng.standard_normal((DIM, MEMBERS * WIDTH))
    second, last = rng.standard_normal((MEMBERS, WIDTH, WIDTH)), rng.standard_normal((MEMBERS, WIDTH, 1))
    low, high, errors, further = (rng.standard_normal((BATCH, MEMBERS * WIDTH)) for _ in range(4))
    outputs, by_last = rng.standard_normal((BATCH, MEMBERS)), np.empty_like(last)
    by_first, by_second = np.empty_like(first), np.empty_like(second)
    mine = [part.reshape(BATCH, MEMBERS, -1).transpose(1, 0, 2) for part in (low, high, errors, further, outputs)]
    low_mine, high_mine, errors_mine, further_mine, outputs_mine = mine

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(rounds):
            np.matmul(rows, first, out=low)
            np.matmul(low_mine, second, out=high_mine)
            np.matmul(high_mine, last, out=outputs_mine)
            np.matmul(high_mine.mT, outputs_mine, out=by_last)
            np.matmul(low_mine.mT, errors_mine, out=by_second)
            np.matmul(errors_mine, second.mT, out=further_mine)
            np.matmul(rows.T, further, out=by_first)
        return (time.perf_counter() - start) / rounds * 1e6

    return turn
