"""Frozen snapshots: files of an earlier release load and go on as the saved policies did."""

from pathlib import Path

import numpy as np
import pytest

import ensample as es
from golden.runs import ARMS, RECIPES, read
from golden.snapshots import CASES, after


@pytest.mark.parametrize("verify", [False, True], ids=["loaded", "replayed"])
@pytest.mark.parametrize("case", CASES)
def test_snapshot_of_an_earlier_release_goes_on(case: str, verify: bool, tmp_path: Path) -> None:
    recipe, arms = CASES[case]
    frozen = dict(read("snapshots.npz")[case])
    path = tmp_path / "policy.safetensors"
    path.write_bytes(frozen.pop("file").tobytes())
    policy = es.load(
        path,
        recipe=RECIPES[recipe] if recipe == "own rule" else None,
        arms=ARMS[arms]() if arms == "oracle" else None,
        verify=verify,
    )
    found = after(policy)
    assert found.keys() == frozen.keys()
    for name, values in found.items():
        np.testing.assert_array_equal(values, frozen[name], name)


def test_every_frozen_snapshot_is_loaded() -> None:
    assert read("snapshots.npz").keys() == CASES.keys()
