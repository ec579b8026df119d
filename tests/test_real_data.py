"""Choosers on real data: all of them play, and learn; a library that is missing is said to be."""

import json
from pathlib import Path

import numpy as np
import pytest

import ensample as es
from ensample.bench import choosers, real_data
from ensample.bench.data_sets import DATA_SETS, data_set
from ensample.cli import bench, bench_data
from ensample.extras import package
from ensample.problems.digits import digits


@pytest.mark.parametrize("name", DATA_SETS)
def test_data_sets_are_of_one_scale(name: str) -> None:
    data = data_set(name)
    assert np.allclose(data.rows.mean(axis=0), 0.0) and np.allclose(data.rows.std(axis=0), 1.0)
    assert sorted(set(data.labels.tolist())) == list(range(data.classes)) and len(data.rows) == len(
        data.labels
    )


@pytest.mark.parametrize("name", choosers.CHOOSERS)
def test_every_chooser_learns(name: str) -> None:
    """Wine has three classes, one of which has two in five of the rows."""
    try:
        chooser = choosers.CHOOSERS[name](3, 0)
    except ImportError:
        assert (
            not name.endswith("()") and "VW" not in name
        )  # VW is installed with the tests, ours always
        return
    played = real_data.played(chooser, data_set("wine"), 0, 240)
    assert played.share > 0.6 and len(played.decisions) == len(played.rewards) == 220


def test_all_see_the_rows_in_the_same_order_and_none_twice_before_all_were_seen() -> None:
    first = real_data.order(10, 3, 25)
    assert first == real_data.order(10, 3, 25) != real_data.order(10, 4, 25)
    assert (
        sorted(first[:10]) == sorted(first[10:20]) == list(range(10))
        and first[:10] != first[10:20]
        and len(first) == 25
    )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two choosers, of which one is not installed, on one data set."""

    def missing(classes: int, seed: int) -> None:
        raise ImportError

    named = {"VW --squarecb": choosers.CHOOSERS["VW --squarecb"], "elsewhere": missing}
    monkeypatch.setattr(real_data, "CHOOSERS", named)
    monkeypatch.setattr(bench_data, "DATA_SETS", ("wine",))


def test_the_command_writes_table_json_and_page(
    quick: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "data.md"
    page.write_text(f"before\n{bench_data.BEGIN}\nold\n{bench_data.END}\nafter\n")
    bench.bench(["data"], 2, tmp_path / "data.json", 30, page)
    first, second = json.loads((tmp_path / "data.json").read_text())
    assert (
        first["chooser"] == "VW --squarecb"
        and 0 < first["share"] < 1
        and first["decision"] > 0
        and first["reward"] > 0
    )
    assert second == {"data": "wine", "chooser": "elsewhere"} | dict.fromkeys(
        ("share", "standard_error", "decision", "reward")
    )
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| 30 rounds, 2 runs | wine | us | us |" in text and "| elsewhere | - | - | - |" in text
    assert "VW --squarecb" in capsys.readouterr().out


def test_data_is_measured_by_itself_and_into_a_page_with_marks(quick: None, tmp_path: Path) -> None:
    with pytest.raises(es.InvalidArgument, match="data by itself"):
        bench.bench(["data", "live"], 1, None, 30, None)
    (tmp_path / "data.md").write_text("no marks")
    with pytest.raises(es.InvalidArgument, match="a page with the lines"):
        bench.bench(["data"], 1, None, 30, tmp_path / "data.md")


def test_the_digits_are_those_of_everybody() -> None:
    theirs = package("sklearn.datasets", "test_real_data.py").load_digits()
    images, labels = digits()
    np.testing.assert_array_equal(16.0 * images, theirs.data)
    np.testing.assert_array_equal(labels, theirs.target)
