"""All members' greedy arms in one call of the core, against theta^j computed for each member."""

import numpy as np
import pytest

import ensample as es
from ensample.arms import Rows
from ensample.models import FreshEnsemble, LinearEnsemble

MEMBERS, DIM, ARMS = 30, 9, 7


@pytest.mark.parametrize(
    "recipe",
    [
        es.EnsembleSampling(MEMBERS),
        es.EnsembleSampling(MEMBERS, fresh=False),
        es.EnsembleSampling(MEMBERS, scale=0.5),
        es.EnsembleSampling(MEMBERS, scale=0.5, fresh=True),
        es.EnsembleSampling(MEMBERS, half_life=9),
        es.EnsembleSampling(MEMBERS, half_life=9, fresh=False),
    ],
    ids=repr,
)
def test_every_member_votes_for_its_greedy_arm(recipe: es.EnsembleSampling) -> None:
    """Features 6 to 8 are not seen in the first 30 rounds, and are in other units afterwards."""
    policy = recipe.start(es.ChangingArms(DIM), seed=3)
    rng, everybody = np.random.default_rng(0), np.arange(MEMBERS)
    for t in range(60):
        rows = rng.normal(size=(ARMS, DIM)) * (rng.random((ARMS, DIM)) < 0.6)
        if t < 30:
            rows[:, 6:] = 0.0
        model = policy.model.at(policy.round)
        assert isinstance(model, LinearEnsemble | FreshEnsemble)
        if t % 5 == 4:
            offer = Rows(rows if t < 30 else rows * [1, 1, 1, 1, 1, 1, 50, 0.1, 1])
            scores = model.in_known_units(offer).rows @ model.thetas()
            found = model.greedy_votes(offer.by_coordinate)
            best = scores.max(axis=0)
            assert np.allclose(scores[found, everybody], best, rtol=1e-9), "equal but for rounding"
            assert np.mean(found == model.votes(offer)[0]) > 0.95
            wrong = (found + 1) % ARMS
            assert not np.allclose(scores[wrong, everybody], best, rtol=1e-9), "negative control"
        policy.update(policy.decide(rows), rng.normal())
