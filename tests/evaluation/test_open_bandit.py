"""The Open Bandit Dataset's files as logs."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ensample as es

RATES = np.array([0.2, 0.5, 0.1, 0.3])


def written(folder: Path, rows: int, uniform: bool) -> Path:
    """A file such as random/all/all.csv, with clicks of known rates."""
    rng = np.random.default_rng(0)
    shares = np.full(4, 0.25) if uniform else np.array([0.4, 0.3, 0.2, 0.1])
    item = rng.choice(4, rows, p=shares)
    frame = pl.DataFrame(
        {
            "": np.arange(rows),
            "timestamp": [
                f"2019-11-24 00:00:{number % 60:02d}.123456+00:00" for number in range(rows)
            ],
            "item_id": item,
            "position": rng.integers(1, 4, rows),
            "click": (rng.random(rows) < RATES[item]).astype(int),
            "propensity_score": shares[item],
            "user_feature_0": rng.choice(["81ce", "cef3"], rows),
            "user_feature_1": rng.choice(["2d03", "03a5"], rows),
            **{f"user-item_affinity_{number}": rng.random(rows) for number in range(4)},
        }
    )
    frame.write_csv(folder / "all.csv")
    pl.DataFrame({"item_id": range(4), "item_feature_0": rng.random(4)}).write_csv(
        folder / "item_context.csv"
    )
    return folder / "all.csv"


@pytest.mark.parametrize("uniform", [True, False])
def test_the_value_of_an_item_is_found(uniform: bool, tmp_path: Path) -> None:
    log = es.read_open_bandit(written(tmp_path, 4000, uniform))
    assert (
        log.height == 4000
        and log["time"].dtype.is_temporal()
        and ("propensities" in log.columns) is uniform
    )
    found = es.evaluate(log, "action:1", low=0, high=1, least_propensity=None if uniform else 0.1)
    assert found.actions == ["0", "1", "2", "3"]
    assert all(found[name].low < 0.5 < found[name].high for name in ("ips", "snips", "dr"))


def test_a_recipe_is_asked_what_it_would_have_earned_in_the_random_policys_place(
    tmp_path: Path,
) -> None:
    log = es.read_open_bandit(written(tmp_path, 1500, True))
    found = es.evaluate(log, es.EnsembleSampling(size=10), low=0, high=1, question="replay")
    assert found["dr"].value > found.logged + 0.05


def test_affinities_are_taken_along_if_wanted(tmp_path: Path) -> None:
    file = written(tmp_path, 10, True)
    plain, rich = es.read_open_bandit(file), es.read_open_bandit(file, affinities=True)
    assert set(plain["context"][0]) == {"user_feature_0", "user_feature_1", "position"}
    assert len(rich["context"][0]) == 7 and 0 < rich["context"][0]["user-item_affinity_3"] < 1


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument, match="a file of the Open Bandit Dataset, such as"):
        es.read_open_bandit(tmp_path / "all.csv")
    (tmp_path / "all.csv").write_text("a,b\n1,2\n")
    with pytest.raises(
        es.InvalidArgument, match="missing: click, item_id, position, propensity_score, timestamp"
    ):
        es.read_open_bandit(tmp_path / "all.csv")
    (tmp_path / "all.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(es.InvalidArgument, match="a file of the Open Bandit Dataset"):
        es.read_open_bandit(tmp_path / "all.csv")
