"""All members' favourites in one round, against theta^j computed for each."""

import numpy as np
import pytest

import ensample as es
from ensample.arms import Rows
from ensample.models import FreshEnsemble, LinearEnsemble


@pytest.mark.parametrize(
    "recipe",
    [
        es.EnsembleSampling(30),
        es.EnsembleSampling(30, fresh=False),
        es.EnsembleSampling(30, scale=0.5),
        es.EnsembleSampling(30, scale=0.5, fresh=True),
        es.EnsembleSampling(30, half_life=9),
        es.EnsembleSampling(30, half_life=9, fresh=False),
    ],
    ids=repr,
)
def test_every_member_votes_for_what_it_likes_best(recipe: es.EnsembleSampling) -> None:
    policy = recipe.start(es.ChangingArms(9), seed=3)
    rng = np.random.default_rng(0)
    for number in range(60):
        rows = rng.normal(size=(7, 9)) * (rng.random((7, 9)) < 0.6)
        rows[:, 6:] = 0.0 if number < 30 else rows[:, 6:]  # features that were never played, for a while
        model = policy.model.at(policy.round)
        assert isinstance(model, LinearEnsemble | FreshEnsemble)
        if number % 5 == 4:
            offer = Rows(rows if number < 30 else rows * [1, 1, 1, 1, 1, 1, 50, 0.1, 1])
            chosen, _ = model.votes(offer)
            scores = model.in_known_units(offer).rows @ model.thetas()
            ballot = model.ballot(offer._lent)
            assert np.allclose(scores[ballot, np.arange(30)], scores.max(axis=0), rtol=1e-9), "ties but for rounding"
            assert np.mean(ballot == chosen) > 0.95
            wrong = (ballot + 1) % 7
            assert not np.allclose(scores[wrong, np.arange(30)], scores.max(axis=0), rtol=1e-9)
        decision = policy.decide(rows)
        policy.update(decision, rng.normal())
