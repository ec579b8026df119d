"""Our estimates are those of Open Bandit Pipeline and of VW on the same log, which golden/off_policy.json keeps."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ensample as es

KEPT = json.loads((Path(__file__).parents[1] / "golden" / "off_policy.json").read_text())
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def found():
    shares = np.array(KEPT["propensities"])
    rows, chosen = np.arange(len(shares)), np.array(KEPT["chosen"])
    log = pl.DataFrame(
        {
            "action": [NAMES[number] for number in chosen],
            "reward": KEPT["rewards"],
            "propensity": shares[rows, chosen],
            "offer": [NAMES] * len(rows),
            "propensities": KEPT["propensities"],
            "context": [[float(row)] for row in rows],
        }
    )
    target, predicted = (np.array(KEPT[name]) for name in ("target", "predicted"))
    return es.evaluate(
        log,
        lambda contexts, names: target[[int(place[0]) for place in contexts]],
        reward_model=lambda contexts, names: predicted[[int(place[0]) for place in contexts]],
        low=0,
        high=1,
    )


@pytest.mark.parametrize("peer", KEPT["found"])
def test_estimates_are_those_of_the_peer(found, peer):
    for name, value in KEPT["found"][peer].items():
        assert found[name].value == pytest.approx(value, rel=1e-12)
