"""The page says what the results say, and nothing else."""

import hashlib
import html
import json
import math
import os
import re
import shutil
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import ensample as es
from ensample.errors import InvalidArgument, WrongType
from ensample.lab import BUNDLED, bundled
from ensample.numerals import aligned
from ensample.palette import variables
from ensample.report.html import resource
from ensample.report.study import write_report
from ensample.report.study.measures import hindsight, hindsight_plate
from ensample.report.study.panels import LINES, REFERENCES, STEPS, Looks, arrange
from ensample.report.study.reproduction import as_toml, code_line, grid_tables, own_code_words
from ensample.report.study.sections import final_words, sections
from ensample.report.study.series import along, at_last_horizon, singles
from ensample.report.study.tables import best_table, bound_table, compared_fields, final_table

NAMES = ("sizes", "grid", "members", "tuned", "one", "hostile")
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """The tags, ids, addresses and visible text of a page; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

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

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def written(results: es.Results, out: Path, **options: Any) -> str:
    (path,) = write_report(results, out / "page.html", **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def texts(pages: dict[str, Path]) -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in pages.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole_and_needs_nothing_else(
    name: str, texts: dict[str, str], studied: dict[str, es.Results]
) -> None:
    page = Page(texts[name])
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids)), "ids clash"
    links = [attributes.get("href") or "" for _, attributes in page.tags if "href" in attributes]
    assert all(link == "data:," or link.removeprefix("#") in ids for link in links)
    assert set(re.findall(r"url\(#([^)]*)\)", texts[name])) <= set(map(str, ids))
    assert not page.all("img") and "http" not in texts[name].replace("http-equiv", "")
    (policy,) = (
        meta["content"] or ""
        for meta in page.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert (
        page.all("script") == [{}]
        and policy.startswith("default-src 'none'; ")
        and policy.count("'sha256-") == 1
    )
    assert all(
        svg["role"] == "img" and svg["aria-label"] and svg["viewbox"] for svg in page.all("svg")
    )
    study = studied[name].study
    assert study.name in page.text and study.question in page.text


@pytest.mark.parametrize("name", NAMES)
def test_every_colour_follows_the_page(name: str, texts: dict[str, str]) -> None:
    """No colour of a figure is fixed: each is a variable that has a value for light and one for dark."""
    drawings = "".join(re.findall(r"<svg .*?</svg>", texts[name], re.DOTALL))
    assert not re.findall(r"(?:fill|stroke): #", drawings)
    assert set(re.findall(r"var\((--\w+)\)", drawings)) <= set(variables())
    assert drawings.count("currentColor") > 0


def test_the_same_results_give_the_same_bytes(
    studied: dict[str, es.Results], texts: dict[str, str], tmp_path: Path
) -> None:
    results = es.Results(studied["sizes"].folder)
    first = write_report(results, tmp_path / "page.html", figures=True)
    once = {path.name: path.read_bytes() for path in first}
    second = write_report(es.Results(results.folder), tmp_path / "page.html", figures=True)
    assert once == {path.name: path.read_bytes() for path in second}
    assert once["page.html"].decode() == texts["sizes"]


def test_sections_that_do_not_apply_are_left_out(studied: dict[str, es.Results]) -> None:
    names = {
        name: [part.name for part in sections(results, "")] for name, results in studied.items()
    }
    assert names["sizes"] == [
        "answer",
        "asked",
        "curves",
        "final",
        "axis-size",
        "bounds",
        "pulls",
        "cost",
        "again",
    ]
    assert names["grid"] == [
        "answer",
        "asked",
        "curves",
        "final",
        "axis-horizon",
        "axis-dim",
        "pulls",
        "cost",
        "again",
    ]
    assert names["members"] == [
        "answer",
        "asked",
        "curves",
        "final",
        "axis-scale",
        "axis-noise",
        "pulls",
        "cost",
        "again",
    ]
    assert names["one"] == [
        "asked",
        "curves",
        "final",
        "again",
    ]  # an infinite set of arms has no pulls, one cell no comparison


def test_names_are_shown_and_never_run(
    texts: dict[str, str], studied: dict[str, es.Results]
) -> None:
    page = Page(texts["hostile"])
    for cell in studied["hostile"].study.cells:
        assert cell.policy in page.text and cell.problem in page.text
    assert page.all("script") == [{}] and not page.all("img")
    assert re.findall(r"<script.*?>(.*?)</script>", texts["hostile"], re.DOTALL) == [
        resource("curves.js")
    ]
    assert "alert(3)" in html.unescape("".join(str(svg["aria-label"]) for svg in page.all("svg")))
    assert (
        "<script" not in studied["hostile"]._repr_html_()
        and "&lt;script&gt;" in studied["hostile"]._repr_html_()
    )


def test_tables_hold_the_numbers_of_the_frames(studied: dict[str, es.Results]) -> None:
    results = studied["grid"]
    table = final_table(results, "LinUCB")
    names = [column.name for column in table.columns]
    shown = [dict(zip(names, row, strict=True)) for group in table.groups for row in group.rows]
    assert len(table.groups) == 9 and len(shown) == 18
    means = [aligned(mean) for mean in results.cells["mean"]]
    assert [row["mean"].text for row in shown] == means
    differences = [row["minus baseline"].text for row in shown if row["policy"].text == "Thompson"]
    expected = (
        results.differences("LinUCB").filter(polars.col("policy") == "Thompson")["mean"].to_list()
    )
    assert differences == [f"{'+' if x > 0 else ''}{aligned(x)}" for x in expected]
    assert all(not row["minus baseline"].text for row in shown if row["policy"].text == "LinUCB")
    best = best_table(results)
    assert best is not None and best.size == 9
    for row, group in zip(best.groups[0].rows, table.groups, strict=True):
        assert (
            row[2].text
            == min((entry[1] for entry in group.rows), key=lambda entry: entry.kind != "best").text
        )


def test_marks_are_where_the_interval_leaves_out_zero(studied: dict[str, es.Results]) -> None:
    results = studied["sizes"]
    table = final_table(results, "Thompson")
    place = [column.name for column in table.columns].index("minus baseline")
    shown = [row[place].kind for row in table.groups[0].rows if row[0].text != "Thompson"]
    rows = results.differences("Thompson").to_dicts()
    assert shown == [
        "lower" if row["high"] < 0 else "higher" if row["low"] > 0 else "" for row in rows
    ]
    assert "higher" in shown  # Theorem 1 pays for its guarantee


def test_no_success_is_marked_against_a_cell_that_others_may_beat(
    studied: dict[str, es.Results],
) -> None:
    """The first of ten sizes is the baseline of policies without a size: named, and without a mark."""
    results = studied["sizes"]
    table = final_table(results, "ES")
    names = [column.name for column in table.columns]
    shown = [dict(zip(names, row, strict=True)) for group in table.groups for row in group.rows]
    others = [row for row in shown if row["policy"].text != "ES"]
    assert [row["baseline"].text for row in others] == ["ES, size = 1"] * 2
    assert not any(row["minus baseline"].kind for row in others)
    assert not results.differences("ES")["alike"].any()
    lower = {"against": "ES, sphere, size=1", "mean": -2.0, "low": -3.0, "high": -1.0}
    kinds = [compared_fields(lower | {"alike": alike}, {})[1].kind for alike in (True, False)]
    assert kinds == ["lower", ""]
    assert "another of them may be better" in " ".join(final_words(results, "ES"))
    assert "baseline" not in [column.name for column in final_table(results, "Thompson").columns]


OWN = """
from dataclasses import dataclass
import ensample as es

@dataclass(frozen=True)
class Pair(es.Greedy):
    boldness: float = 0.25
    tilt: int = 3
"""


def test_code_of_ones_own_is_asked_for_and_its_fields_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pair_of_mine.py").write_text(OWN)
    policies = [{"recipe": "pair_of_mine:Pair", "tilt": 4}, {"recipe": "Greedy"}]
    study = es.Study(
        name="own",
        horizon=5,
        runs=1,
        problem={"family": "sphere", "dim": 2, "arms": 3},
        policy=policies,
    )
    table = grid_tables(study)[1][1]
    options = [row[2].text for row in table.groups[0].rows]
    assert (
        options[0].startswith("tilt: 4; ")
        and "boldness: 0.25 by default" in options[0]
        and not options[1]
    )
    (words,) = own_code_words(study.own_code)
    digest = hashlib.sha256(OWN.encode()).hexdigest()
    assert f"pair_of_mine ({study.own_code['pair_of_mine']})" in words and digest.startswith(
        study.own_code["pair_of_mine"]
    )
    assert not own_code_words(es.Study(**study.describe() | {"policy": "Greedy"}).own_code)


def test_bounds_say_when_they_say_nothing(
    studied: dict[str, es.Results], texts: dict[str, str]
) -> None:
    table = bound_table(studied["sizes"])
    assert table is not None and table.size == 1
    (outcome,) = (
        outcome for outcome in studied["sizes"].outcomes if outcome.cell.policy == "Theorem 1"
    )
    bound = es.theory.theorem_bound(outcome.cell.recipe.setting, outcome.cell.recipe.reward_law)
    shown = [entry.text for entry in table.groups[0].rows[0]]
    assert aligned(bound) in shown and "80.0%" in shown and aligned(240.0) in shown
    assert shown[-1] == "above 2ST: says nothing yet" and "above 2ST" in Page(texts["sizes"]).text
    assert bound_table(studied["grid"]) is None


def test_slopes_stand_beside_their_lines(
    studied: dict[str, es.Results], texts: dict[str, str]
) -> None:
    text = Page(texts["grid"]).text
    slopes = studied["grid"].slopes().to_dicts()
    assert len(slopes) == 12
    for row in slopes:
        said = f"{row['policy']}: slope {row['slope']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
        assert said.replace("-", "\u2212") in text


def test_one_run_has_no_intervals(texts: dict[str, str]) -> None:
    text = Page(texts["one"]).text
    assert (
        "One run a cell" in text
        and "95%" not in text
        and "nan" not in texts["one"].lower().replace("finance", "")
    )


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
    fake = type(
        "Fake",
        (),
        {"study": study, "outcomes": [outcome._replace(cell=cell) for cell in study.cells]},
    )
    arrangement = arrange(singles(fake), Looks(study, "ES 0"))  # type: ignore[arg-type]
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


def test_figures_and_frames_in_files(studied: dict[str, es.Results], tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(studied["sizes"].folder, folder)
    results = es.Results(folder)
    seen: list[tuple[int, int]] = []
    paths = write_report(
        results, figures=True, csv=True, progress=lambda done, total: seen.append((done, total))
    )
    assert paths[0] == folder / "report.html" and all(path.stat().st_size > 0 for path in paths)
    plates = [plate.name for part in sections(results, "") for plate in part.plates]
    figures = {path.name for path in (folder / "figures").iterdir()}
    assert figures == {f"{name}.{kind}" for name in plates for kind in ("png", "svg")}
    assert seen[0][0] == 0 and seen[-1] == (len(plates), len(plates))
    frames = {path.stem: polars.read_csv(path) for path in (folder / "csv").iterdir()}
    assert set(frames) == {"cells", "final", "curves", "differences", "slopes"}
    assert frames["cells"]["mean"].to_list() == results.cells["mean"].to_list()
    assert not list(folder.rglob(".*.html*"))


def test_bad_arguments_are_named(studied: dict[str, es.Results], tmp_path: Path) -> None:
    results = studied["grid"]
    with pytest.raises(
        InvalidArgument, match=r"baseline = 'Tompson': expected one of .*did you mean 'Thompson'"
    ):
        write_report(results, tmp_path / "page.html", baseline="Tompson")
    with pytest.raises(
        InvalidArgument,
        match=r"out = .*: expected a file that can be written, in a folder that exists",
    ):
        write_report(results, tmp_path / "nowhere" / "page.html")
    with pytest.raises(InvalidArgument, match="out = "):
        write_report(results, tmp_path)
    with pytest.raises(WrongType, match=r"results = .*expected the Results of a study"):
        write_report(str(results.folder))  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="figures"):
        write_report(results, tmp_path / "page.html", figures="yes")  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="progress"):
        write_report(results, tmp_path / "page.html", progress=1)  # type: ignore[arg-type]


def test_a_page_that_cannot_be_made_leaves_the_old_one(
    studied: dict[str, es.Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(full))
    with pytest.raises(InvalidArgument, match=r"out = .*No space left"):
        write_report(studied["one"], page)
    assert page.read_text() == "old" and list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize("option", ["figures", "csv"])
def test_what_cannot_be_written_is_named_before_the_page_is_made(
    option: str, studied: dict[str, es.Results], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(studied["one"].folder, folder)
    for made in ("figures", "csv"):
        shutil.rmtree(folder / made, ignore_errors=True)
    (folder / option).write_text("mine")
    (folder / "report.html").unlink(missing_ok=True)
    with pytest.raises(InvalidArgument, match=rf"{option} = .*a directory one can write in"):
        write_report(es.Results(folder), **{option: True})
    assert not (folder / "report.html").exists() and (folder / option).read_text() == "mine"


def test_a_page_of_ones_own_may_be_a_link_and_one_in_the_folder_gives_its_place(
    studied: dict[str, es.Results], tmp_path: Path
) -> None:
    """A folder of results may be somebody else's."""
    folder, precious = tmp_path / "copy", tmp_path / "precious"
    shutil.copytree(studied["one"].folder, folder)
    (folder / "report.html").unlink(missing_ok=True)
    for link, follows in ((folder / "report.html", False), (tmp_path / "mine.html", True)):
        precious.write_text("precious")
        link.symlink_to(precious)
        write_report(es.Results(folder), link if follows else None)
        assert link.is_symlink() == follows and (precious.read_text() == "precious") != follows


def test_missing_times_leave_out_the_cost(studied: dict[str, es.Results], tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(studied["grid"].folder, folder)
    journal = folder / "journal.jsonl"
    lines = [
        line for line in journal.read_text().splitlines() if json.loads(line)["event"] != "cell"
    ]
    journal.write_text("\n".join(lines) + "\n")
    results = es.Results(folder)
    assert all(math.isnan(outcome.seconds_per_round) for outcome in results.outcomes)
    text = Page(written(results, tmp_path)).text
    assert "Cost per round" not in text and "µs" not in text


def test_published_figures_stand_beside_ours(tmp_path: Path) -> None:
    figure = {
        "policy": "Thompson",
        "problem": "sphere",
        "value": 7.5,
        "standard_error": 0.5,
        "source": "somebody & co.",
    }
    study = es.Study(
        name="anchors",
        horizon=40,
        runs=4,
        problem={"family": "sphere", "dim": 3, "arms": 5},
        policy={"label": "Thompson", "recipe": "ThompsonSampling"},
        published=[figure],
    )
    results = es.run_study(study, tmp_path / "results", threads=1)
    text = Page(written(results, tmp_path)).text
    (row,) = results.published().to_dicts()
    assert "Published figures beside ours" in text and "somebody & co." in text
    assert f"7.50 ± 0.500 {aligned(row['ours'])} ± {aligned(row['our_error'])}" in text
    assert es.Study(**tomllib.loads(as_toml(study))) == study


def test_policies_without_an_axis_are_one_level_line(studied: dict[str, es.Results]) -> None:
    (thompson,) = (
        series for series in along(studied["sizes"], "size") if series.policy == "Thompson"
    )
    assert len(thompson.outcomes) == 1
    assert {series.policy for series in along(studied["sizes"], "size")} == {
        "ES",
        "Thompson",
        "Theorem 1",
    }


def test_runs_in_a_notebook() -> None:
    runs = es.simulate(
        es.EnsembleSampling(4, 0.3), es.problem("sphere", dim=3, arms=5), horizon=50, runs=3
    )
    page = Page(runs._repr_html_())
    assert f"{runs.summary()['mean']:,.4g}" in page.text and "EnsembleSampling(size=4" in page.text
    (line,) = page.all("polyline")
    assert len(str(line["points"]).split()) == runs.checkpoints.size
    single = es.simulate(
        es.EnsembleSampling(4, 0.3), es.problem("sphere", dim=3, arms=5), horizon=50
    )
    assert "nan" not in single._repr_html_()


def test_ratios_are_to_the_best_that_has_numbers_to_choose(studied) -> None:
    """On problems where the best has no regret there is none; choices are named as in the file, whatever the noise is."""
    results = studied["tuned"]
    found = hindsight(results)
    assert [(one.policy, one.chosen) for one in found] == [
        ("untuned", ""),
        ("tuned", "scale 0.5 noise"),
        ("tuned", "scale 2 noise"),
    ]
    means: dict[float, dict[str, list[float]]] = {}
    for outcome in results.outcomes:
        if outcome.cell.problem != "flat":
            by_policy = means.setdefault(outcome.cell.axes["noise"], {"untuned": [], "tuned": []})
            by_policy[outcome.cell.policy].append(float(outcome.regret[:, -1].mean()))
    expected = [by["untuned"][0] / min(by["tuned"]) for by in means.values()]
    np.testing.assert_allclose(found[0].ratios, expected, rtol=1e-12)
    assert found[0].median == pytest.approx(np.median(expected)) and found[
        0
    ].worst == pytest.approx(max(expected))
    for place in range(4):
        assert min(one.ratios[place] for one in found[1:]) == pytest.approx(1.0)
    assert [picture.title for picture in hindsight_plate(found).pictures] == [
        "nothing to choose",
        "each choice of numbers",
    ]
    assert not any(hindsight(studied[name]) for name in ("sizes", "grid", "members", "one"))
