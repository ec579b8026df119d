"""Frozen runs: today's arms, estimates, states and regret are those of commit 4be0a0a.

Runs with linear models have to be equal bit for bit, but for the numbers in `runs.INEXACT`. Of
`Logistic` and `Neural` single updates are compared to nine digits and regrets as distributions;
their whole runs are in `model_runs.npz`, which is written again when their exp and log change.
"""

import numpy as np
import pytest
from scipy import stats

from golden.runs import (
    ARMS,
    DERIVED,
    INEXACT_REGRET,
    LIVE,
    LOG,
    MODEL_LIVE,
    MODEL_SIMULATED,
    RECIPES,
    SAMPLES,
    SIMULATED,
    STEPS,
    Fields,
    Live,
    Simulated,
    play_live,
    play_simulated,
    read,
    ridge_parts,
    sample,
    step,
    tolerance,
)

FALSE_ALARM = 1e-6
"""Probability with which one comparison of distributions fails although the laws are equal."""


def worst(found: np.ndarray, frozen: np.ndarray) -> float:
    """Return the largest difference, relative to the largest frozen number."""
    if not frozen.size:
        return 0.0
    scale = float(np.abs(frozen).max())
    difference = float(np.abs(found - frozen).max())
    return difference / scale if scale > 0.0 else difference


def compare(found: np.ndarray, frozen: np.ndarray, field: str, least: float) -> str:
    """Return how an array differs by more than a relative tolerance; empty if it does not."""
    if found.dtype != frozen.dtype or found.shape != frozen.shape:
        of = f"{found.dtype} {found.shape}"
        return f"{field}: {of}, frozen {frozen.dtype} {frozen.shape}"
    if found.tobytes() == frozen.tobytes():
        return ""
    if "/sha256/" in field:
        return f"{field}: another hash"
    if least and field.endswith(("state/ridge", "after/ridge")):
        ours, theirs = ridge_parts(found), ridge_parts(frozen)
        parts = (compare(ours[part], theirs[part], f"{field}.{part}", least) for part in theirs)
        return "; ".join(filter(None, parts))
    if not least:
        first = np.unravel_index(int((found != frozen).argmax()), found.shape)
        values = f"{found[first]!r}, frozen {frozen[first]!r}"
        return f"{field}{[int(i) for i in first]}: {values} (relative {worst(found, frozen):.1e})"
    relative = worst(found, frozen)
    return "" if relative <= least else f"{field}: relative difference {relative:.1e} > {least:g}"


def differences(found: Fields, frozen: Fields, least: dict[str, float]) -> list[str]:
    """Return how fields differ by more than their tolerances, which are 0 unless given."""
    faults = (compare(found[name], frozen[name], name, least.get(name, 0.0)) for name in found)
    return [fault for fault in faults if fault]


def check_live(case: Live, frozen: Fields) -> None:
    """Play a live case and compare all of it with the frozen one."""
    found, recipe = play_live(case), RECIPES[case.recipe]
    assert found.keys() == frozen.keys()
    least = {field: tolerance(recipe, case.arms, field) for field in frozen}
    assert not differences(found, frozen, least)


def check_simulated(case: Simulated, frozen: Fields) -> None:
    """Run a simulation and compare regret and pulls with the frozen ones."""
    found = play_simulated(case)
    assert found.keys() == frozen.keys()
    least = {"regret": DERIVED} if case.problem in INEXACT_REGRET else {}
    assert not differences(found, frozen, least)


@pytest.mark.parametrize("name", LIVE)
def test_live_run_is_the_frozen_one(name: str) -> None:
    check_live(LIVE[name], read("linear_runs.npz")[name])


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_run_is_the_frozen_one(name: str) -> None:
    check_simulated(SIMULATED[name], read("linear_runs.npz")[name])


@pytest.mark.parametrize("name", MODEL_LIVE)
def test_live_run_with_a_model_is_the_frozen_one(name: str) -> None:
    check_live(MODEL_LIVE[name], read("model_runs.npz")[name])


@pytest.mark.parametrize("name", MODEL_SIMULATED)
def test_simulated_run_with_a_model_is_the_frozen_one(name: str) -> None:
    check_simulated(MODEL_SIMULATED[name], read("model_runs.npz")[name])


@pytest.mark.parametrize("name", STEPS)
def test_one_update_of_a_model_agrees_to_nine_digits(name: str) -> None:
    frozen = read("model_steps.npz")[name]
    found = step(*STEPS[name], frozen)
    assert found.keys() == {field for field in frozen if not field.startswith("before/")}
    assert not differences(found, frozen, dict.fromkeys(found, 1e-9))


@pytest.mark.parametrize("name", SAMPLES)
def test_regret_has_the_frozen_distribution(name: str) -> None:
    case, frozen = SAMPLES[name], read("model_samples.npz")[name]["regret"]
    assert distributions_agree(sample(case.recipe, case, case.runs, seed=1), frozen)


@pytest.mark.parametrize("name", SAMPLES)
def test_regret_of_another_recipe_has_not_the_frozen_distribution(name: str) -> None:
    case, frozen = SAMPLES[name], read("model_samples.npz")[name]["regret"]
    assert not distributions_agree(sample(case.control, case, case.runs, seed=1), frozen)


def distributions_agree(found: np.ndarray, frozen: np.ndarray) -> bool:
    """Compare two samples by Kolmogorov and Smirnov's test."""
    return bool(stats.ks_2samp(found, frozen).pvalue > FALSE_ALARM)


def test_every_frozen_case_is_played() -> None:
    assert read("linear_runs.npz").keys() == LIVE.keys() | SIMULATED.keys()
    assert read("model_runs.npz").keys() == MODEL_LIVE.keys() | MODEL_SIMULATED.keys()
    assert read("model_steps.npz").keys() == STEPS.keys()
    assert read("model_samples.npz").keys() == SAMPLES.keys()


def test_every_kind_of_arms_is_played() -> None:
    assert {case.arms for case in LIVE.values()} == set(ARMS)


def test_comparison_notices_the_last_digit() -> None:
    frozen = np.array([1.0, 0.1])
    other = frozen * np.array([1.0, 1.0 + 2.0**-52])
    assert "estimates/1[1]" in compare(other, frozen, "estimates/1", 0.0)
    assert compare(other, frozen, "estimates/1", LOG) == ""
    assert compare(frozen * (1.0 + 1e-8), frozen, "estimates/1", DERIVED) != ""
