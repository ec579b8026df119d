"""Frames of results against the obvious computation."""

import csv
import dataclasses
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy import stats

import ensample as es
from ensample.lab.analysis import guarantee_of, mean_interval, slope_interval
from ensample.lab.estimate import StudyEstimate, estimate
from ensample.lab.published import measured
from ensample.lab.results import as_csv
from ensample.report.study import write_report
from lab.studies import small

THEOREM = {"label": "Theorem 1", "recipe": "EnsembleSampling", "theorem": True}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> es.Results:
    sizes = {"label": "ES", "recipe": "EnsembleSampling", "size": [1, 4, 16]}
    policies = [sizes, {"label": "TS", "recipe": "ThompsonSampling"}, THEOREM]
    study = small(horizon=[40, 80, 160], runs=12, policy=policies)
    return es.run_study(study, tmp_path_factory.mktemp("results"))


def final_of(results: es.Results, policy: str, **axes: int) -> np.ndarray:
    """Return the final regret of the first cell of a policy that has these axes."""
    cells = (outcome for outcome in results.outcomes if outcome.cell.policy == policy)
    return next(one.final for one in cells if axes.items() <= dict(one.cell.axes).items())


# Statistics


def test_intervals_of_the_mean_cover_as_often_as_they_say() -> None:
    """2,000 intervals of 95%: fewer than 93% or more than 97% would happen once in 10,000 times."""
    rng = np.random.default_rng(0)
    intervals = [mean_interval(rng.standard_normal(10)) for _ in range(2000)]
    assert 0.93 < sum(low < 0.0 < high for _, low, high in intervals) / 2000 < 0.97
    assert math.isnan(mean_interval(np.ones(1))[1])


@pytest.mark.parametrize("paired", [False, True])
def test_intervals_of_slopes_cover_the_true_one(paired: bool) -> None:
    """Regret is x^0.5 times noise, so 0.5 is nearly always inside and 0.7 outside."""
    rng, x = np.random.default_rng(1), np.array([10.0, 30.0, 100.0, 300.0])
    hits = wrong = 0
    for _ in range(100):
        shared = rng.gamma(9.0, 1 / 9, 60)
        noises = [shared if paired else rng.gamma(9.0, 1 / 9, 60) for _ in x]
        own = [rng.gamma(50.0, 0.02, 60) for _ in x]
        columns = [value**0.5 * a * b for value, a, b in zip(x, noises, own, strict=True)]
        _, low, high = slope_interval(x, columns, paired)
        hits, wrong = hits + (low < 0.5 < high), wrong + (low < 0.7 < high)
    assert hits >= 85 and wrong == 0


@pytest.mark.parametrize(
    ("family", "applies"), [("sphere", True), ("trap", False), ("linreboot", False)]
)
def test_no_bound_where_rounds_are_forced_or_observations_given(family: str, applies: bool) -> None:
    optimistic = {**THEOREM, "label": "opt", "member": "OptimisticMember"}
    policies = [THEOREM, {"recipe": "LinUCB", "theorem": True}, optimistic]
    cells = small(problem={"family": family, "dim": 3}, policy=policies).cells
    found = [guarantee_of(cell) for cell in cells]
    if applies:
        assert [one.probability for one in found if one] == pytest.approx([0.8, 0.9, 0.85])
    else:
        assert found == [None] * 3
    fewer = dataclasses.replace(cells[0].recipe, size=10)  # type: ignore[type-var]
    assert guarantee_of(dataclasses.replace(cells[0], recipe=fewer)) is None


# Frames


def test_frame_of_cells(results: es.Results) -> None:
    frame = results.cells
    assert len(frame) == 30 and set(results.axes) == {"horizon", "dim", "size"}
    for row, outcome in zip(frame.to_dicts(), results.outcomes, strict=True):
        final = outcome.final
        assert row["mean"] == pytest.approx(final.mean())
        assert row["p90"] == pytest.approx(np.quantile(final, 0.9))
        interval = stats.t.interval(0.95, 11, final.mean(), stats.sem(final))
        assert (row["low"], row["high"]) == pytest.approx(interval, rel=1e-9)
        assert row["seconds_per_round"] > 0.0
        if row["policy"] == "Theorem 1":
            setting = outcome.cell.recipe.setting
            assert setting is not None and row["bound"] == es.theory.theorem_bound(setting)
            assert row["bound_confidence"] == 0.8
        else:
            assert row["bound"] is None


def test_frames_of_curves_pulls_and_final_regret(results: es.Results) -> None:
    outcome = results.outcomes[0]
    curve = results.curves.filter(polars.col("cell") == 0)
    assert curve["round"].to_list() == outcome.checkpoints
    assert curve["mean"].to_numpy() == pytest.approx(outcome.regret.mean(axis=0))
    shares = results.pulls.filter(polars.col("cell") == 0)["share"]
    assert shares.len() == 5 and shares.sum() == pytest.approx(1.0)
    assert len(results.final) == 30 * 12


def test_differences_are_paired_on_problem_and_noise(results: es.Results) -> None:
    axes = {"horizon": 80, "dim": 3}
    is_cell = [polars.col(name) == value for name, value in (axes | {"size": 4}).items()]
    (row,) = results.differences("TS").filter(polars.col("policy") == "ES", *is_cell).to_dicts()
    ours, theirs = final_of(results, "ES", **axes, size=4), final_of(results, "TS", **axes)
    paired = stats.ttest_rel(ours, theirs).confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((paired.low, paired.high), rel=1e-9)
    with pytest.raises(es.InvalidArgument, match="ES, TS"):
        results.differences("TZ")


def test_differences_tell_whether_the_baseline_has_another_cell(results: es.Results) -> None:
    """TS has no size, so it is compared with the first size of ES."""
    assert results.differences("TS")["alike"].all()
    ts = results.differences("ES").filter(polars.col("policy") == "TS")
    assert not ts["alike"].any() and ts["against"].str.ends_with("size=1").all()


def test_differences_are_between_cells_with_equal_axes(tmp_path: Path) -> None:
    scales = {"scale": [0.1, 0.3]}
    thompson = {"label": "TS", "recipe": "ThompsonSampling"} | scales
    ensemble = {"label": "ES", "recipe": "EnsembleSampling", "size": [1, 4]} | scales
    problem = {"family": "sphere", "dim": 2, "arms": 5}
    study = small(runs=2, problem=problem, policy=[thompson, ensemble])
    found = es.run_study(study, tmp_path, threads=1).differences("TS")
    assert found["alike"].all() and len(found) == 4
    assert all(row["against"].endswith(f"scale={row['scale']}") for row in found.to_dicts())


def test_slopes_along_each_axis_of_numbers(results: es.Results) -> None:
    frame = results.slopes()
    assert set(frame["axis"]) == {"horizon", "size"}, "dim has but two values"
    is_row = [polars.col("axis") == "horizon", polars.col("policy") == "TS", polars.col("dim") == 2]
    (row,) = frame.filter(*is_row).to_dicts()
    horizons = [40, 80, 160]
    means = [final_of(results, "TS", dim=2, horizon=horizon).mean() for horizon in horizons]
    assert row["slope"] == pytest.approx(np.polyfit(np.log(horizons), np.log(means), 1)[0])


def test_frames_without_rows_have_their_columns(tmp_path: Path) -> None:
    study = small(policy={"recipe": "Greedy"}, problem={"family": "sphere"})
    results = es.run_study(study, tmp_path)
    assert {"axis", "slope", "low", "high"} <= set(results.slopes().columns)
    assert len(results.slopes()) == 0 and "against" in results.differences().columns


def test_published_figures_stand_beside_ours(tmp_path: Path) -> None:
    cell = {"policy": "TS", "problem": "sphere"}
    first = {"dim": 2, "value": 10.0, "standard_error": 3.0, "source": "nobody"}
    second = {"dim": 3, "measure": "wrong", "value": 0.5}
    results = es.run_study(small(published=[cell | first, cell | second]), tmp_path)
    regret, wrong = results.published().to_dicts()
    final = final_of(results, "TS")
    assert regret["ours"] == pytest.approx(final.mean())
    joint = math.hypot(stats.sem(final), 3.0)
    assert regret["distance"] == pytest.approx((final.mean() - 10.0) / joint)
    assert 0.0 < wrong["ours"] < 1.0 and wrong["distance"] is None
    pulls = np.array([[10, 30], [40, 0]])
    assert measured("wrong", 40, np.array([1.0, 2.0]), pulls) == pytest.approx((0.375, 0.375))
    assert measured("linear", 40, np.array([9.0, 12.0]), None)[0] == 0.5


def test_notebooks_show_a_table(results: es.Results) -> None:
    assert "<table" in results._repr_html_() and "30 of 30 cells" in results._repr_html_()


@pytest.mark.parametrize("folder", ["nowhere", 3])
def test_folder_without_results_is_refused(folder: object) -> None:
    with pytest.raises(es.InvalidArgument):
        es.Results(folder)  # type: ignore[arg-type]


# Estimates


def memory(problem: dict[str, Any], **policy: Any) -> float:
    """Return the estimated MiB of a study with 1,000 members."""
    ensemble = {"recipe": "EnsembleSampling", "size": 1000, **policy}
    study = small(runs=1, horizon=2000, problem=problem, policy=ensemble)
    return estimate(study, list(study.cells)).memory / 2**20


def test_estimate_knows_the_memory_of_members() -> None:
    sphere, lazy = {"family": "sphere", "dim": 20, "arms": 100}, 8 * 20 + 4 * 100
    assert memory(sphere) == pytest.approx(1000 * lazy / 2**20, rel=0.2)
    eager = memory(sphere, member="OptimisticMember")
    assert eager == pytest.approx(1000 * 8 * 120 / 2**20, rel=0.2)
    moving = memory({"family": "contextual", "dim": 20})
    assert moving == pytest.approx(1000 * 8 * 420 / 2**20, rel=0.2)


def test_estimate_counts_live_policies_on_one_thread() -> None:
    ensemble = {"recipe": "EnsembleSampling", "size": 5}
    kernels, live = (
        estimate(study, list(study.cells), workers=4)
        for study in (small(runs=4, policy=ensemble, evaluation=way) for way in ("auto", "live"))
    )
    assert kernels.live == 0.0 and kernels.on(4) == kernels.seconds / 4
    assert live.live == live.seconds == live.on(4) > 0.0
    assert StudyEstimate(seconds=10.0, live=2.0, memory=0, disk=0, pilots=1).on(4) == 4.0


def test_cell_without_a_pilot_is_taken_for_its_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    def pilot(study: es.Study, cell: Any) -> tuple[float, str]:
        return 1.0, "live" if cell.policy == "TS" else "lazy"

    module = "ensample.lab.estimate"
    monkeypatch.setattr(f"{module}.pilot", pilot)
    study = small(runs=1, horizon=10)
    assert estimate(study, list(study.cells)).live == 20.0
    monkeypatch.setattr(f"{module}.BUDGET", -1.0)
    monkeypatch.setattr(f"{module}.spread_out", lambda cells: cells[::-1])
    assert estimate(study, list(study.cells))[:2] == (60.0, 20.0)


# CSV for spreadsheets

FORMULAS = [
    *("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "=", "-1 ", "--1"),
    '=HYPERLINK("http://x")',
]
WORDS = ["ES", "", "1=1", " =1", "'=1", "a-b", "-1", "-0.5", "+2e3", "-inf"]


@pytest.mark.parametrize("text", [*FORMULAS, *WORDS])
def test_text_that_is_a_formula_is_quoted(text: str) -> None:
    frame = polars.DataFrame({"label": [text], "mean": [-1.5]})
    (row,) = csv.DictReader(as_csv(frame).decode().splitlines(keepends=True))
    assert row == {"label": f"'{text}" if text in FORMULAS else text, "mean": "-1.5"}


@pytest.mark.filterwarnings("ignore:Glyph")  # figures have no letter for a tab
def test_files_of_a_report_hold_no_formula(tmp_path: Path) -> None:
    policies = [
        {"label": text, "recipe": "Greedy", "regularization": 1.0 + place}
        for place, text in enumerate(FORMULAS)
    ]
    problem = {"label": "@p", "family": "sphere", "dim": 2, "arms": 2}
    study = small(problem=problem, policy=policies, runs=2, checkpoints=2)
    written = write_report(es.run_study(study, tmp_path), csv=True)
    files = [path for path in written if path.suffix == ".csv"]
    assert {path.stem for path in files} >= {"cells", "final", "curves", "differences"}
    texts = [io.StringIO(path.read_bytes().decode(), newline="") for path in files]
    values = [value for text in texts for row in csv.DictReader(text) for value in row.values()]
    assert "'@p" in values
    assert not [value for value in values if value.startswith(("=", "@", "\t", "\r", "\n"))]
    assert all(float(value) <= 0.0 for value in values if value.startswith("-"))
