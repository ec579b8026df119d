"""The page says what the results say, and nothing else."""

import hashlib
import html
import os
import re
import shutil
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest

import ensample as es
from ensample.errors import InvalidArgument
from ensample.lab import BUNDLED, bundled
from ensample.numerals import aligned
from ensample.palette import variables
from ensample.report.study import write_report
from ensample.report.study.measures import hindsight
from ensample.report.study.panels import LINES, REFERENCES, STEPS, Looks, arrange
from ensample.report.study.report import sections
from ensample.report.study.reproduction import as_toml, code_line, grid_tables
from ensample.report.study.series import along, at_last_horizon, singles
from ensample.report.study.tables import best_table, compared_fields, final_table

NAMES = ("sizes", "grid", "members", "tuned", "one", "hostile")
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags and visible text of a page; tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open += [] if tag in VOID else [tag]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, Any]]:
        return [attributes for name, attributes in self.tags if name == tag]


def written(results: es.Results, out: Path, **options: Any) -> str:
    (path,) = write_report(results, out / "page.html", **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def texts(pages: dict[str, Path]) -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in pages.items()}


@pytest.mark.parametrize("name", NAMES)
def test_page_is_whole_and_needs_nothing_else(name, texts, studied) -> None:
    """Colours of figures are variables with a value for light and one for dark."""
    text, study = texts[name], studied[name].study
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids)), "ids clash"
    links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
    assert all(link == "data:," or link.removeprefix("#") in ids for link in links)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    assert not page.all("img") and "http" not in text.replace("http-equiv", "")
    (policy,) = (meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
    assert policy.startswith("default-src 'none'; ") and "script" not in policy
    assert not page.all("script") and "<script" not in text
    labelled = [svg["role"] == "img" and svg["aria-label"] for svg in page.all("svg")]
    assert all(labelled)
    drawings = "".join(re.findall(r"<svg .*?</svg>", text, re.DOTALL))
    assert not re.findall(r"(?:fill|stroke): #", drawings) and "currentColor" in drawings
    assert set(re.findall(r"var\((--\w+)\)", drawings)) <= set(variables())
    assert study.name in page.text and study.question in page.text
    for cell in study.cells:
        assert cell.policy in page.text and cell.problem in page.text
    shown = studied[name]._repr_html_()
    assert "<script" not in shown and html.escape(study.name) in shown


def test_the_same_results_give_the_same_bytes(
    studied: dict[str, es.Results], texts: dict[str, str], tmp_path: Path
) -> None:
    results = es.Results(studied["sizes"].folder)
    first = write_report(results, tmp_path / "page.html", figures=True)
    once = {path.name: path.read_bytes() for path in first}
    second = write_report(es.Results(results.folder), tmp_path / "page.html", figures=True)
    assert once == {path.name: path.read_bytes() for path in second}
    assert once["page.html"].decode() == texts["sizes"]


def rows_of(table: Any) -> list[dict[str, Any]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for group in table.groups for row in group.rows]


def test_tables_hold_the_numbers_of_the_frames(studied) -> None:
    results = studied["grid"]
    table, best = final_table(results, "LinUCB"), best_table(results)
    rows = rows_of(table)
    assert len(table.groups) == 9 and len(rows) == 18
    assert [row["mean"].text for row in rows] == [aligned(x) for x in results.cells["mean"]]
    found = [row["minus baseline"].text for row in rows if row["policy"].text == "Thompson"]
    differences = results.differences("LinUCB").filter(polars.col("policy") == "Thompson")
    assert found == [f"{'+' if x > 0 else ''}{aligned(x)}" for x in differences["mean"]]
    assert best is not None and best.size == 9
    for row, group in zip(rows_of(best), table.groups, strict=True):
        (lowest,) = (entry[1] for entry in group.rows if entry[1].kind == "best")
        assert row["mean"].text == lowest.text


def test_sure_differences_are_marked(studied) -> None:
    results = studied["sizes"]
    rows = rows_of(final_table(results, "Thompson"))
    kinds = [row["minus baseline"].kind for row in rows if row["policy"].text != "Thompson"]
    differences = results.differences("Thompson").to_dicts()
    expected = ["lower" if x["high"] < 0 else "higher" if x["low"] > 0 else "" for x in differences]
    assert kinds == expected and "higher" in kinds  # Theorem 1 pays for its guarantee


def test_no_difference_is_marked_from_a_cell_that_others_may_beat(studied) -> None:
    """The first of ten sizes is the baseline of policies without a size."""
    results = studied["sizes"]
    rows = rows_of(final_table(results, "ES"))
    others = [row for row in rows if row["policy"].text != "ES"]
    assert [row["baseline"].text for row in others] == ["ES, size = 1"] * 2
    assert not any(row["minus baseline"].kind for row in others)
    lower = {"against": "ES, sphere, size=1", "mean": -2.0, "low": -3.0, "high": -1.0}
    kinds = [compared_fields(lower | {"alike": alike}, {})[1].kind for alike in (True, False)]
    assert kinds == ["lower", ""]


OWN = """
from dataclasses import dataclass
import ensample as es

@dataclass(frozen=True)
class Pair(es.Greedy):
    boldness: float = 0.25
    tilt: int = 3
"""


def test_own_code_is_named_and_its_fields_are_shown(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pair_of_mine.py").write_text(OWN)
    policies = [{"recipe": "pair_of_mine:Pair", "tilt": 4}, {"recipe": "Greedy"}]
    problem = {"family": "sphere", "dim": 2, "arms": 3}
    facts = {"problem": problem, "policy": policies, "evaluation": "live"}
    study = es.Study(name="own", horizon=5, runs=1, **facts)
    (own, ours) = (row[2].text for row in grid_tables(study)[1][1].groups[0].rows)
    assert own.startswith("tilt: 4; ") and "boldness: 0.25 by default" in own and not ours
    digest = study.own_code["pair_of_mine"]
    text = Page(written(es.run_study(study, tmp_path / "own"), tmp_path)).text
    assert f"pair_of_mine ({digest})" in text
    assert hashlib.sha256(OWN.encode()).hexdigest().startswith(digest)


def test_a_study_under_way_says_what_is_missing(
    studied: dict[str, es.Results], tmp_path: Path
) -> None:
    folder = tmp_path / "half"
    shutil.copytree(studied["grid"].folder, folder)
    files = sorted((folder / "cells").glob("*.parquet"))
    for path in files[4:]:
        path.unlink()
    results = es.Results(folder)
    text = Page(written(results, tmp_path)).text
    assert "4 of 18 cells are finished" in text and results.study.cells[4].name in text
    assert "4 of 18 cells finished" in results._repr_html_()
    for path in files[:4]:
        path.unlink()
    empty = es.Results(folder)
    text = Page(written(empty, tmp_path)).text
    assert "0 of 18 cells are finished" in text and "Final regret" not in text
    assert "0 of 18 cells finished" in empty._repr_html_()
    assert "under way" not in Page(written(studied["grid"], tmp_path)).text


@pytest.mark.parametrize("name", ["sizes", "grid", "members"])
def test_no_panel_has_more_lines_than_a_reader_can_tell_apart(
    name: str, studied: dict[str, es.Results]
) -> None:
    results = studied[name]
    looks = Looks(results.study, results.study.cells[0].policy)
    drawings = [at_last_horizon(singles(results)), *(along(results, axis) for axis in results.axes)]
    for series in drawings:
        for panel in arrange(series, looks).panels if series else []:
            assert 1 <= len(panel.lines) <= max(LINES, STEPS + REFERENCES)
            shown = [line.look for line in panel.lines]
            assert len(shown) == len(set(shown)), "two lines look the same"


def test_a_thousand_cells_make_few_panels(studied: dict[str, es.Results]) -> None:
    """Every line of a large grid is drawn at its best or left to the table, and a note says so."""
    outcome = studied["sizes"].outcomes[0]
    study = es.Study(
        name="large",
        horizon=120,
        problem={"family": "sphere", "dim": list(range(2, 12)), "arms": [5, 10]},
        policy=[
            {
                "label": f"ES {place}",
                "recipe": "EnsembleSampling",
                "size": [1, 2, 4, 8],
                "scale": [0.1, 0.3],
            }
            for place in range(6)
        ],
    )
    outcomes = [outcome._replace(cell=cell) for cell in study.cells]
    arrangement = arrange(
        singles(SimpleNamespace(study=study, outcomes=outcomes)), Looks(study, "ES 0")
    )
    assert len(study.cells) == 960 and len(arrangement.panels) == 12
    assert all(len(panel.lines) <= LINES for panel in arrangement.panels)
    assert any("best size, scale" in note for note in arrangement.notes)
    assert any("12 of 20 problems" in note for note in arrangement.notes)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_and_the_lines_give_the_study_again(
    name: str, studied: dict[str, es.Results]
) -> None:
    results = studied[name]
    again = es.Study(**tomllib.loads(as_toml(results.study)))
    assert again == results.study and again.cells == results.study.cells
    for outcome in results.outcomes[:: max(1, len(results.outcomes) // 3)]:
        runs = eval(code_line(results.study, outcome.cell), {"es": es})
        np.testing.assert_array_equal(runs.regret, outcome.regret)


@pytest.mark.parametrize("name", BUNDLED)
def test_the_file_of_a_bundled_study_gives_its_cells(name: str) -> None:
    study = bundled(name)
    assert es.Study(**tomllib.loads(as_toml(study))).cells == study.cells


@pytest.fixture
def copy(studied, tmp_path: Path) -> Path:
    """A folder of results of its own, without a report."""
    folder = tmp_path / "copy"
    shutil.copytree(studied["one"].folder, folder)
    (folder / "report.html").unlink(missing_ok=True)
    return folder


def test_figures_and_frames_are_written_beside_the_page(studied, tmp_path: Path) -> None:
    folder, seen = tmp_path / "copy", []
    shutil.copytree(studied["sizes"].folder, folder)
    results = es.Results(folder)
    record = lambda done, total: seen.append((done, total))  # noqa: E731
    paths = write_report(results, figures=True, csv=True, progress=record)
    assert paths[0] == folder / "report.html" and all(path.stat().st_size > 0 for path in paths)
    plates = [plate.name for part in sections(results, "", []) for plate in part.plates]
    figures = {path.name for path in (folder / "figures").iterdir()}
    assert figures == {f"{name}.{kind}" for name in plates for kind in ("png", "svg")}
    assert seen[0][0] == 0 and seen[-1] == (len(plates), len(plates))
    frames = {path.stem: polars.read_csv(path) for path in (folder / "csv").iterdir()}
    assert set(frames) == {"cells", "final", "curves", "differences", "slopes"}
    assert frames["cells"]["mean"].to_list() == results.cells["mean"].to_list()


@pytest.mark.parametrize(
    ("out", "options", "error"),
    [
        ("page.html", {"baseline": "Tompson"}, r"baseline = .*did you mean 'Thompson'"),
        (
            "nowhere/page.html",
            {},
            "out = .*: expected a file that can be written, in a folder that",
        ),
        (".", {}, "out = "),
        ("page.html", {"figures": "yes"}, "figures"),
        ("page.html", {"progress": 1}, "progress"),
        ("page.html", {"results": "folder"}, "results = .*expected the Results of a study"),
    ],
)
def test_bad_arguments_are_named(out, options, error, studied, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=error):
        write_report(**{"results": studied["grid"], "out": tmp_path / out} | options)
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_leaves_the_old_one(studied, tmp_path, monkeypatch) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InvalidArgument, match=r"out = .*No space left"):
        write_report(studied["one"], page)
    assert page.read_text() == "old" and list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize("option", ["figures", "csv"])
def test_folders_are_checked_before_the_page_is_made(option: str, copy: Path) -> None:
    shutil.rmtree(copy / option, ignore_errors=True)
    (copy / option).write_text("mine")
    with pytest.raises(InvalidArgument, match=rf"{option} = .*a directory one can write in"):
        write_report(es.Results(copy), **{option: True})
    assert not (copy / "report.html").exists() and (copy / option).read_text() == "mine"


def test_a_link_is_followed_only_where_the_user_names_it(copy: Path, tmp_path: Path) -> None:
    """A folder of results may be somebody else's."""
    precious = tmp_path / "precious"
    for link, follows in ((copy / "report.html", False), (tmp_path / "mine.html", True)):
        precious.write_text("precious")
        link.symlink_to(precious)
        write_report(es.Results(copy), link if follows else None)
        assert link.is_symlink() == follows and (precious.read_text() == "precious") != follows


def test_published_figures_stand_beside_ours(tmp_path: Path) -> None:
    figure = {"policy": "Thompson", "problem": "sphere", "value": 7.5, "standard_error": 0.5}
    study = es.Study(
        name="anchors",
        horizon=40,
        runs=4,
        problem={"family": "sphere", "dim": 3, "arms": 5},
        policy={"label": "Thompson", "recipe": "ThompsonSampling"},
        published=[figure | {"source": "somebody & co."}],
    )
    results = es.run_study(study, tmp_path / "results", threads=1)
    text = Page(written(results, tmp_path)).text
    (row,) = results.published().to_dicts()
    assert "Published figures beside ours" in text and "somebody & co." in text
    assert f"7.50 ± 0.500 {aligned(row['ours'])} ± {aligned(row['our_error'])}" in text


def test_ratios_are_to_the_best_that_has_numbers_to_choose(studied) -> None:
    """Problems on which the best has no regret are left out; choices are named as in the file."""
    results = studied["tuned"]
    found = hindsight(results)
    choices = [("untuned", ""), ("tuned", "scale 0.5 noise"), ("tuned", "scale 2 noise")]
    assert [(one.policy, one.chosen) for one in found] == choices
    means: dict[float, dict[str, list[float]]] = {}
    for outcome in results.outcomes:
        if outcome.cell.problem != "flat":
            by = means.setdefault(outcome.cell.axes["noise"], {"untuned": [], "tuned": []})
            by[outcome.cell.policy].append(float(outcome.regret[:, -1].mean()))
    expected = [by["untuned"][0] / min(by["tuned"]) for by in means.values()]
    np.testing.assert_allclose(found[0].ratios, expected, rtol=1e-12)
    assert np.min([one.ratios for one in found[1:]], axis=0) == pytest.approx(np.ones(4))
    assert not any(hindsight(studied[name]) for name in ("sizes", "grid", "members", "one"))
