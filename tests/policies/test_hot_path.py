"""The number of Python functions that a round calls: each costs time, and a step for who reads it."""

import sys
from types import FrameType

import numpy as np
import pytest

import ensample as es

ARMS = es.FiniteArms(np.random.default_rng(0).standard_normal((20, 5)))
MOST = 8  # functions of ours in `decide` and `update` together


def calls_of_a_round(policy: es.Policy) -> list[str]:
    called = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        policy.update(policy.decide(), 0.5)
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize(
    "recipe",
    [es.EnsembleSampling(), es.EnsembleSampling(100, 0.5), es.EnsembleSampling(fresh=False)],
    ids=["default", "given scale", "stored members"],
)
def test_round_is_a_few_calls(recipe: es.Recipe) -> None:
    policy = recipe.start(ARMS, seed=0)
    for _ in range(40):
        policy.update(policy.decide(), 0.5)
    called = calls_of_a_round(policy)
    assert len(called) <= MOST, called
