"""`ensample demo`: an experiment on the digits that come with the package."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ensample as es
from ensample.cli import demo as command
from ensample.cli.demo import DemoOptions
from ensample.cli.demonstration import FLOOR, PlayedExperiment, half_truth, judge, parts_of, play
from ensample.report.evaluation import page


@pytest.fixture(scope="module")
def played() -> PlayedExperiment:
    return play(es.EnsembleSampling(20), 100, 0, lambda: None)


def test_image_is_shown_once_and_the_log_knows_no_labels(played: PlayedExperiment) -> None:
    log = played.experiment.log()
    assert log["reward"].to_list() == played.right.tolist() and len(log) == 100
    named = np.array(log["action"].cast(int).to_list())
    assert (named == played.labels).tolist() == played.right.astype(bool).tolist()
    assert len({tuple(row) for row in played.images.tolist()}) == 100
    assert played.half.version == 50 and played.experiment.version == 100


def test_parts_cover_all_decisions() -> None:
    parts = parts_of(np.arange(100.0))
    assert [first - 1 for first, _, _ in parts] == [0, *(last for _, last, _ in parts[:-1])]
    total = sum((last - first + 1) * share for first, last, share in parts)
    assert parts[-1][1] == 100 and total == pytest.approx(sum(range(100)))


def test_truths_are_what_the_policies_would_earn(played: PlayedExperiment) -> None:
    """Compare with shares of the labels, and with the propensity of one image's right answer."""
    log = played.experiment.log()
    uniform, half, own = judge(played, log, lambda: None)
    pairs = zip(log["propensities"], played.labels, strict=True)
    propensities = np.array([row[int(label)] for row, label in pairs])
    assert uniform.truth == 0.1
    assert own.truth == pytest.approx((propensities - FLOOR / 10).mean() / (1 - FLOOR), abs=1e-12)
    assert own.found.largest_weight <= 1 / (1 - FLOOR) + 1e-9 and half.found.rows == 50
    for one in (own, half):
        assert one.found["dr"].low <= one.truth <= one.found["dr"].high
    image, label = played.images[60:61], played.labels[60:61]
    known = played.half.decide(image[0].tolist(), dry_run=True).propensities
    assert known is not None and half_truth(played.half, image, label) == known[str(label[0])]


def test_page_shows_all_policies_and_no_wrong_warning(played: PlayedExperiment) -> None:
    """The experiment as it was half-way has learned from none of the rows since."""
    judged = judge(played, played.experiment.log(), lambda: None)
    assert not [text for one in judged for text in one.found.warnings if "learned from" in text]
    top = page([one.found for one in judged], "log.parquet").partition("<main>")[0]
    assert top.count("<svg") == 1 and "What each policy would have earned" in top
    assert all(one.found.target in top.partition("<svg")[2] for one in judged)
    alone = page([judged[0].found], "log.parquet").partition("<main>")[0]
    assert alone.count("<svg") == 0, "one policy needs no comparison"


def test_intervals_are_narrow_enough_to_tell_something() -> None:
    played = play(es.EnsembleSampling(20), 900, 0, lambda: None)
    for one in judge(played, played.experiment.log(), lambda: None):
        estimate = one.found["dr"]
        assert estimate.high - estimate.low < 0.35 and estimate.low <= one.truth <= estimate.high


def test_files_and_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.demo(DemoOptions(rounds=100, policy="LinUCB()", out=tmp_path))
    shown = capsys.readouterr().out
    names = {"experiment.png", "experiment.svg", "evaluation.html", "log.parquet"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert "84 to 100" in shown and "by the log alone" in shown
    assert str(tmp_path / "log.parquet") in shown
    assert len(pl.read_parquet(tmp_path / "log.parquet")) == 100


def test_programs_get_numbers_and_no_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command.demo(DemoOptions(rounds=100, seed=1, as_json=True))
    found = json.loads(capsys.readouterr().out)
    assert found["decisions"] == 100 and found["files"] == [] and not list(tmp_path.iterdir())
    assert len(found["judged"]) == 3
    assert all(one["low"] <= one["value"] <= one["high"] for one in found["judged"])


@pytest.mark.parametrize(
    ("rounds", "policy", "argument"),
    [
        (99, "LinUCB()", "rounds"),
        (1798, "LinUCB()", "rounds"),
        (100, "PerturbedHistory()", "policy"),
        (100, "Nobody()", ""),
    ],
)
def test_demo_that_cannot_be_leaves_nothing(
    rounds: int, policy: str, argument: str, tmp_path: Path
) -> None:
    with pytest.raises(es.InvalidArgument, match=f"^{argument}"):
        command.demo(DemoOptions(rounds=rounds, policy=policy, out=tmp_path / "here"))
    assert not (tmp_path / "here").exists()
