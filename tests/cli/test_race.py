"""`ensample race`, small enough for a test."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ensample as es
from cli.shell import refused, run
from ensample.cli.policies import POLICIES, RECIPES, USUAL, prepare, usual_race
from ensample.cli.race import minus_best, shown_gap
from ensample.codec import PARTS, classes_of
from ensample.problems import families_by_name

SMALL = "--dim 4 --arms 8 --horizon 200 --runs 4"


def answer(options: str, folder: Path) -> dict[str, Any]:
    """Return what `--json` prints, without the times."""
    shown = run(f"race {options} --json", folder)
    assert shown.returncode == 0, shown.stderr
    warnings = shown.stderr.splitlines()
    assert all(line.startswith("warning: no kernel simulates Mine") for line in warnings)
    found: dict[str, Any] = json.loads(shown.stdout)
    for policy in found["policies"]:
        assert policy.pop("rounds_per_second") > 0
    return found


@pytest.fixture(scope="module")
def everyone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return answer(SMALL, tmp_path_factory.mktemp("everyone"))


def test_policies_are_ranked(everyone: dict[str, Any]) -> None:
    assert everyone["problem"] == {"name": "sphere", "dim": 4, "arms": 8, "noise": 0.3}
    policies = {policy["policy"]: policy for policy in everyone["policies"]}
    assert set(policies) == set(USUAL) and everyone["skipped"] == {}
    means = [policy["mean"] for policy in everyone["policies"]]
    assert means == sorted(means) and means[0] > 0
    setting = es.Setting(dim=4, arms=8, horizon=200, noise=0.3, norm=1)
    assert policies["theorem"]["recipe"] == repr(es.EnsembleSampling.from_theorem(setting))


def test_numbers_are_those_of_simulate(everyone: dict[str, Any]) -> None:
    problem = es.problem("sphere", dim=4, arms=8)
    shown = {policy["policy"]: policy for policy in everyone["policies"]}
    runs = es.simulate(es.EnsembleSampling(10, 0.3), problem, horizon=200, runs=4)
    assert shown["es-10"]["mean"] == runs.summary()["mean"]
    assert shown["es-10"]["p90"] == runs.summary()["p90"]
    best, *others = everyone["policies"]
    assert best["minus_best"] is None
    assert all(other["minus_best"]["mean"] >= 0.0 for other in others)
    first, greedy = (
        es.simulate(prepare(name, problem, 200)[0][name], problem, 200, 4, checkpoints=1000)
        for name in (best["policy"], "greedy")
    )
    gap = greedy.difference(first)
    low, high = gap.interval()
    expected = {"mean": gap.mean[-1], "low": low[-1], "high": high[-1]}
    assert shown["greedy"]["minus_best"] == expected


def spread(finals: list[float]) -> es.Runs:
    """Return runs that end with this regret."""
    runs = es.simulate(es.Greedy(), es.problem("sphere", dim=2, arms=3), 20, len(finals))
    return replace(runs, regret=np.outer(finals, runs.checkpoints / 20.0))


def test_gap_needs_two_runs_and_scipy_for_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = spread([1.0]), spread([3.0])
    assert minus_best(other, one) == {"mean": 2.0, "low": None, "high": None}
    assert shown_gap(minus_best(other, one)) == "+2"
    assert minus_best(one, one) is None and shown_gap(None) == ""
    many, others = (spread([regret, regret + 1.0, regret + 4.0]) for regret in (1.0, 3.0))
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert minus_best(others, many) == {"mean": 2.0, "low": None, "high": None}


def test_threads_and_the_choice_of_policies_change_no_number(
    everyone: dict[str, Any], tmp_path: Path
) -> None:
    theirs = [policy | {"minus_best": None} for policy in everyone["policies"]]
    for threads in (1, 2):
        some = answer(f"{SMALL} --policies 'linphe, theorem,es-100' --threads {threads}", tmp_path)
        assert len(some["policies"]) == 3
        assert all(policy | {"minus_best": None} in theirs for policy in some["policies"])
    other = answer(f"{SMALL} --policies linphe --policies es-10,theorem --seed 1", tmp_path)
    assert {policy["policy"] for policy in other["policies"]} == {"linphe", "es-10", "theorem"}
    assert not any(policy | {"minus_best": None} in theirs for policy in other["policies"])


def test_people_get_a_table_and_a_figure(tmp_path: Path) -> None:
    shown = run(f"race {SMALL} --policies es-10,linphe", tmp_path)
    assert shown.returncode == 0 and shown.stderr == ""
    heads = ["mean regret", "standard error", "90th percentile", "minus the best", " to "]
    for text in ["es-10", "linphe", *heads, "results/race/race.png", "results/race/race.svg"]:
        assert text in shown.stdout, text
    assert (tmp_path / "results/race/race.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / "results/race/race.svg").read_text()
    assert len(list((tmp_path / "results/race").iterdir())) == 2


OWN = """
from dataclasses import dataclass
import ensample as es

Heavy = es.problem("sphere", dim=3, arms=5, noise=es.StudentNoise(0.3))

@dataclass(frozen=True)
class Mine(es.Recipe):
    size: int = 5
    scale: float = 0.3
    regularization: float = 1.0
    rule = es.UniformMember()

    def build(self, arms, address):
        return es.EnsembleSampling(self.size, self.scale).build(arms, address)
"""


def test_policies_without_a_theorem_race_where_tails_are_heavy(tmp_path: Path) -> None:
    """Policies that are told the noise get its standard deviation."""
    (tmp_path / "own.py").write_text(OWN)
    shown = answer("--problem own:Heavy --horizon 50 --runs 2", tmp_path)
    raced = {policy["policy"]: policy["recipe"] for policy in shown["policies"]}
    assert set(raced) == set(USUAL) - {"theorem"} and "scale=0.3" in raced["thompson"]
    (reason,) = shown["skipped"].values()
    assert reason.startswith("a setting assumes subGaussian noise")


def test_recipes_race_as_one_types_them(everyone: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    typed = ["es-37", "EnsembleSampling(size=100,scale=noise)", "own:Mine(size=3)"]
    typed.append("EnsembleSampling(10, member=RoundRobin)")
    found = answer(f"{SMALL} --policies '{', '.join(typed)}'", tmp_path)
    shown = {policy["policy"]: policy for policy in found["policies"]}
    assert set(shown) == set(typed)
    known = {policy["policy"]: policy["mean"] for policy in everyone["policies"]}
    assert shown[typed[1]]["mean"] == known["es-100"]
    assert shown["es-37"]["mean"] not in known.values()
    assert shown["own:Mine(size=3)"]["evaluation"] == "live"
    assert shown[typed[3]]["recipe"] == repr(es.EnsembleSampling(10, member=es.RoundRobin()))


def test_list_has_every_name(tmp_path: Path) -> None:
    shown = run("race --list", tmp_path, width=100)
    assert shown.returncode == 0 and shown.stderr == "" and list(tmp_path.iterdir()) == []
    names = [*families_by_name(), *POLICIES, *RECIPES, *classes_of(PARTS)]
    for name in [*names, "es-N", "LinUCB.from_theorem", "arms 5,000", "module:Name"]:
        assert name in shown.stdout, name
    assert max(map(len, shown.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("problem", "suited", "others", "horizon"),
    [
        ("sphere", "auto theorem", "linucb", 10_000),
        ("logistic", "logistic glm-tsl glm-fpl ucb-glm", "auto epsilon", 10_000),
        ("evill", "logistic glm-tsl", "auto", 10_000),
        ("clicks", "logistic thompson-logistic", "auto LinUCB", 10_000),
        ("neural", "networks epsilon-network", "auto epsilon", 1_000),
        ("wheel", "networks greedy-network", "auto LinUCB", 1_000),
        ("quadratic", "networks", "auto", 1_000),
    ],
)
def test_contenders_suit_the_rewards(problem: str, suited: str, others: str, horizon: int) -> None:
    family = es.problem(problem)
    usual = usual_race(family)
    assert {*suited.split(), *others.split()} <= set(usual.policies) and usual.horizon == horizon
    recipes, skipped = prepare(",".join(usual.policies), family, usual.horizon)
    assert list(recipes) == list(usual.policies) and not skipped


def test_networks_race_without_a_warning(tmp_path: Path) -> None:
    shown = run("race --problem neural --dim 3 --arms 4 --horizon 12 --runs 1 --json", tmp_path)
    assert shown.returncode == 0 and shown.stderr == ""
    raced = {policy["policy"] for policy in json.loads(shown.stdout)["policies"]}
    assert raced == set(usual_race(es.problem("neural")).policies)


def test_live_policy_of_linear_rewards_is_one_warning(tmp_path: Path) -> None:
    options = "--problem contextual --dim 3 --horizon 20 --runs 3 --policies linucb"
    (note,) = run(f"race {options}", tmp_path).stderr.splitlines()
    assert note.startswith("warning: no kernel simulates LinUCB on ChangingArms: its live policy")


def test_theorem_that_does_not_apply_is_skipped(tmp_path: Path) -> None:
    options = "--problem ball --dim 3 --horizon 50 --runs 1 --policies linphe,theorem"
    ball = answer(options, tmp_path)
    assert [policy["policy"] for policy in ball["policies"]] == ["linphe"]
    assert ball["policies"][0]["standard_error"] is None  # of one run
    assert "finitely many arms" in ball["skipped"]["theorem"]
    assert "theorem skipped: Theorem 1 assumes" in run(f"race {options}", tmp_path).stdout


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--problem spere", "did you mean 'sphere'?"),
        ("--policies es-10,linpeh", "policy = 'linpeh': expected one of auto, es-10, es-100"),
        ("--policies ,", "at least one"),
        ("--policies es-0", "size = 0: expected a whole number from 1"),
        ("--policies 'es-10,Greedy(sise=3)'", "Greedy(sise=3): sise = 3: expected a field of"),
        ("--policies mymodule:MyRecipe", "expected a module that can be imported"),
        (f"--problem trap --policies greedy --horizon {2**31 - 1}", f"at most {2**31 - 1 - 250},"),
        ("--problem ball --arms 5", "arms = 5: expected an option of 'ball': one of dim, noise"),
        ("--problem kveton --noise 1", "noise = 1.0: expected an option of 'kveton'"),
        ("--problem ball --policies theorem", "theorem does not: Theorem 1 assumes finitely many"),
        ("--arms 0", "arms = 0: expected"),
        ("--threads 0", "threads = 0: expected"),
        ("--seed -1", "seed = -1: expected"),
        (f"--out {__file__}", "expected a directory"),
    ],
)
def test_race_that_cannot_be_leaves_nothing(options: str, error: str, tmp_path: Path) -> None:
    assert error in refused(f"race {options}", tmp_path)
    assert list(tmp_path.iterdir()) == []
