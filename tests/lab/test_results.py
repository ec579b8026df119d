"""Frames against the obvious computation."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import polars
import pytest
from scipy import stats

import ensample as es
from ensample.lab.analysis import guarantee_of, mean_interval, slope_interval
from ensample.lab.estimate import StudyEstimate, estimate
from ensample.lab.published import measured
from lab.studies import small

THEOREM = {"label": "Theorem 1", "recipe": "EnsembleSampling", "theorem": True}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> es.Results:
    study = small(
        horizon=[40, 80, 160],
        runs=12,
        policy=[
            {"label": "ES", "recipe": "EnsembleSampling", "size": [1, 4, 16]},
            {"label": "TS", "recipe": "ThompsonSampling"},
            THEOREM,
        ],
    )
    return es.run_study(study, tmp_path_factory.mktemp("results"))


def test_intervals_of_the_mean_cover_as_often_as_they_say() -> None:
    """2,000 intervals of 95%: fewer than 93% or more than 97% would happen once in 10,000 times."""
    rng = np.random.default_rng(0)
    hits = sum(
        low < 0.0 < high
        for _, low, high in (mean_interval(rng.standard_normal(10)) for _ in range(2000))
    )
    assert 0.93 < hits / 2000 < 0.97
    assert math.isnan(mean_interval(np.ones(1))[1])


@pytest.mark.parametrize("paired", [False, True])
def test_slopes_cover_the_true_one(paired: bool) -> None:
    """Regret x^0.5 times noise: the interval holds 0.5 about as often as it says; a slope of 0.7 is outside it."""
    rng, x = np.random.default_rng(1), np.array([10.0, 30.0, 100.0, 300.0])
    hits = wrong = 0
    for _ in range(100):
        shared = rng.gamma(9.0, 1 / 9, 60)
        columns = [
            value**0.5
            * (shared if paired else rng.gamma(9.0, 1 / 9, 60))
            * rng.gamma(50.0, 0.02, 60)
            for value in x
        ]
        _, low, high = slope_interval(x, columns, paired)
        hits, wrong = hits + (low < 0.5 < high), wrong + (low < 0.7 < high)
    assert hits >= 85 and wrong == 0


def test_the_table_of_cells(results: es.Results) -> None:
    frame = results.cells
    assert len(frame) == 30 and set(results.axes) == {"horizon", "dim", "size"}
    for row, outcome in zip(frame.to_dicts(), results.outcomes, strict=True):
        final = outcome.regret[:, -1]
        assert row["mean"] == pytest.approx(final.mean()) and row["p90"] == pytest.approx(
            np.quantile(final, 0.9)
        )
        low, high = stats.t.interval(0.95, 11, final.mean(), stats.sem(final))
        assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-9)
        assert row["seconds_per_round"] > 0.0


def test_a_bound_is_shown_where_a_theorem_applies(results: es.Results) -> None:
    for row, outcome in zip(results.cells.to_dicts(), results.outcomes, strict=True):
        if row["policy"] == "Theorem 1":
            assert (
                row["bound"] == es.theory.theorem_bound(outcome.cell.recipe.setting)
                and row["bound_confidence"] == 0.8
            )  # type: ignore[arg-type]
        else:
            assert row["bound"] is None


@pytest.mark.parametrize(
    ("family", "applies"), [("sphere", True), ("trap", False), ("linreboot", False)]
)
def test_no_bound_where_rounds_are_forced_or_observations_given(family: str, applies: bool) -> None:
    policies = [
        THEOREM,
        {"recipe": "LinUCB", "theorem": True},
        {**THEOREM, "label": "opt", "member": "OptimisticMember"},
    ]
    cells = small(problem={"family": family, "dim": 3}, policy=policies).cells
    found = [guarantee_of(cell) for cell in cells]
    if applies:
        assert [guarantee.probability for guarantee in found] == pytest.approx([0.8, 0.9, 0.85])
    else:
        assert found == [None] * 3
    fewer = dataclasses.replace(cells[0], recipe=dataclasses.replace(cells[0].recipe, size=10))
    assert guarantee_of(fewer) is None


def test_a_dry_run_knows_what_members_take() -> None:
    def memory(problem: dict[str, object], **policy: object) -> float:
        study = small(
            runs=1,
            horizon=2000,
            problem=problem,
            policy={"recipe": "EnsembleSampling", "size": 1000, **policy},
        )
        return estimate(study, list(study.cells)).memory / 2**20

    sphere = {"family": "sphere", "dim": 20, "arms": 100}
    assert memory(sphere) == pytest.approx(1000 * (8 * 20 + 4 * 100) / 2**20, rel=0.2)
    assert memory(sphere, member="OptimisticMember") == pytest.approx(
        1000 * 8 * 120 / 2**20, rel=0.2
    )
    assert memory({"family": "contextual", "dim": 20}) == pytest.approx(
        1000 * 8 * 420 / 2**20, rel=0.2
    )


def test_a_dry_run_counts_on_one_thread_for_live_policies() -> None:
    kernels = {"recipe": "EnsembleSampling", "label": "kernels", "size": 5}
    studies = {way: small(runs=4, policy=kernels, evaluation=way) for way in ("auto", "live")}
    by_kernels, alive = (
        estimate(study, list(study.cells), workers=4) for study in studies.values()
    )
    assert by_kernels.live == 0.0 and by_kernels.on(4) == by_kernels.seconds / 4
    assert alive.live == alive.seconds == alive.on(4) > 0.0
    assert StudyEstimate(seconds=10.0, live=2.0, memory=0, disk=0, pilots=1).on(4) == 4.0


def test_a_policy_is_live_where_no_kernel_plays_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell is counted by its own pilot; one without is taken for what its policy was elsewhere."""
    monkeypatch.setattr(
        "ensample.lab.estimate.pilot",
        lambda study, cell: (1.0, "live" if cell.policy == "TS" else "lazy"),
    )
    study = small(runs=1, horizon=10)
    assert estimate(study, list(study.cells)).live == 20.0
    monkeypatch.setattr("ensample.lab.estimate.BUDGET", -1.0)
    monkeypatch.setattr("ensample.lab.estimate.spread_out", lambda cells: cells[::-1])
    assert estimate(study, list(study.cells))[:2] == (60.0, 20.0)


def test_differences_are_paired_on_problem_and_noise(results: es.Results) -> None:
    frame = results.differences("TS").filter(
        polars.col("policy") == "ES", polars.col("dim") == 3, polars.col("horizon") == 80
    )
    ours = next(o for o in results.outcomes if o.cell.axes == {"horizon": 80, "dim": 3, "size": 4})
    theirs = next(
        o
        for o in results.outcomes
        if o.cell.policy == "TS" and o.cell.axes == {"horizon": 80, "dim": 3}
    )
    row = frame.filter(polars.col("size") == 4).to_dicts()[0]
    paired = stats.ttest_rel(ours.regret[:, -1], theirs.regret[:, -1]).confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((paired.low, paired.high), rel=1e-9)
    with pytest.raises(es.InvalidArgument, match="ES, TS"):
        results.differences("TZ")


def test_differences_say_whether_the_baseline_has_another_cell(results: es.Results) -> None:
    """TS has no size, so it is compared with the first size of ES; ES with all its sizes has but one TS to be compared with."""
    assert results.differences("TS")["alike"].all()
    ts = results.differences("ES").filter(polars.col("policy") == "TS")
    assert not ts["alike"].any() and ts["against"].str.ends_with("size=1").all()


def test_like_is_compared_with_like(tmp_path: Path) -> None:
    """By the values of the baseline's axes, whatever else the other policy varies."""
    policies = [
        {"label": "TS", "recipe": "ThompsonSampling", "scale": [0.1, 0.3]},
        {"label": "ES", "recipe": "EnsembleSampling", "size": [1, 4], "scale": [0.1, 0.3]},
    ]
    problem = {"family": "sphere", "dim": 2, "arms": 5}
    found = es.run_study(
        small(runs=2, problem=problem, policy=policies), tmp_path, threads=1
    ).differences("TS")
    assert found["alike"].all() and len(found) == 4
    assert all(row["against"].endswith(f"scale={row['scale']}") for row in found.to_dicts())


def test_curves_and_pulls_and_final(results: es.Results) -> None:
    outcome = results.outcomes[0]
    curve = results.curves.filter(polars.col("cell") == 0)
    assert curve["round"].to_list() == outcome.checkpoints
    assert curve["mean"].to_numpy() == pytest.approx(outcome.regret.mean(axis=0))
    shares = results.pulls.filter(polars.col("cell") == 0)["share"]
    assert shares.len() == 5 and shares.sum() == pytest.approx(1.0)
    assert len(results.final) == 30 * 12


def test_slopes_along_each_axis_of_numbers(results: es.Results) -> None:
    frame = results.slopes()
    assert set(frame["axis"]) == {"horizon", "size"}, "dim has but two values"
    row = frame.filter(
        polars.col("axis") == "horizon", polars.col("policy") == "TS", polars.col("dim") == 2
    ).to_dicts()[0]
    means = [
        o.regret[:, -1].mean()
        for o in results.outcomes
        if o.cell.policy == "TS" and o.cell.axes["dim"] == 2
    ]
    assert row["slope"] == pytest.approx(np.polyfit(np.log([40, 80, 160]), np.log(means), 1)[0])


def test_frames_without_rows_have_their_columns(tmp_path: Path) -> None:
    results = es.run_study(
        small(policy={"recipe": "Greedy"}, problem={"family": "sphere"}), tmp_path
    )
    assert {"axis", "slope", "low", "high"} <= set(results.slopes().columns) and len(
        results.slopes()
    ) == 0
    assert "against" in results.differences().columns


def test_notebooks_show_a_table(results: es.Results) -> None:
    assert "<table" in results._repr_html_() and "30 of 30 cells" in results._repr_html_()


def test_published_figures_stand_beside_ours(tmp_path: Path) -> None:
    figures = [
        {
            "policy": "TS",
            "problem": "sphere",
            "dim": 2,
            "value": 10.0,
            "standard_error": 3.0,
            "source": "nobody",
        },
        {"policy": "TS", "problem": "sphere", "dim": 3, "measure": "wrong", "value": 0.5},
    ]
    results = es.run_study(small(published=figures), tmp_path)
    first, second = results.published().to_dicts()
    final = next(o for o in results.outcomes if o.cell.policy == "TS").regret[:, -1]
    assert first["ours"] == pytest.approx(final.mean())
    assert first["distance"] == pytest.approx(
        (final.mean() - 10.0) / math.hypot(stats.sem(final), 3.0)
    )
    assert 0.0 < second["ours"] < 1.0 and second["distance"] is None
    pulls = np.array([[10, 30], [40, 0]])
    assert measured("wrong", 40, np.array([1.0, 2.0]), pulls) == pytest.approx((0.375, 0.375))
    assert measured("linear", 40, np.array([9.0, 12.0]), None)[0] == 0.5


@pytest.mark.parametrize("folder", ["nowhere", 3])
def test_a_folder_without_results_is_refused(folder: object) -> None:
    with pytest.raises(es.InvalidArgument):
        es.Results(folder)  # type: ignore[arg-type]
