"""Frozen experiments: decisions, propensities, logs and hashes are those that were stored."""

import json

import pytest
from golden_experiments import CASES, STORED, play

FROZEN = json.loads(STORED.read_text())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::ensample.errors.FeatureCapWarning")
def test_experiment_comes_to_what_was_frozen(name: str) -> None:
    found = play(name)
    assert found == FROZEN[name]
