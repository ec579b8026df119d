"""`ensample race`, small enough for a test."""

import contextlib
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import ensample as es
from ensample.cli.policies import POLICIES, RECIPES, USUAL, prepare, usual_race
from ensample.cli.race import minus_best, shown_gap
from ensample.codec import PARTS, classes_of
from ensample.problems import families_by_name
from ensample.report import race as report
from ensample.report.figures import save
from prompt import ENSAMPLE, PLAIN, ensample

SMALL = ("--dim", "4", "--arms", "8", "--horizon", "200", "--runs", "4")


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess:
    return ensample("race", *arguments, folder=folder, COLUMNS=100, **PLAIN)


def answer(*arguments: str, folder: Path) -> dict[str, Any]:
    """What `--json` prints, without the times."""
    shown = run(*arguments, "--json", folder=folder)
    assert shown.returncode == 0, shown.stderr
    said = shown.stderr.splitlines()
    assert all(line.startswith("warning: no kernel simulates Mine") for line in said), shown.stderr
    result: dict[str, Any] = json.loads(shown.stdout)
    for policy in result["policies"]:
        assert policy.pop("rounds_per_second") > 0
    return result


def small_runs() -> dict[str, es.Runs]:
    problem = es.problem("sphere", dim=4, arms=8)
    recipes = {"calm": es.EnsembleSampling(10, 0.3), "wild": es.EnsembleSampling(10, 30.0)}
    return {
        name: es.simulate(recipe, problem, horizon=300, runs=3) for name, recipe in recipes.items()
    }


@pytest.fixture(scope="module")
def everyone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return answer(*SMALL, folder=tmp_path_factory.mktemp("everyone"))


def test_for_programs(everyone: dict[str, Any]) -> None:
    assert everyone["problem"] == {"name": "sphere", "dim": 4, "arms": 8, "noise": 0.3}
    assert (everyone["horizon"], everyone["runs"], everyone["seed"], everyone["skipped"]) == (
        200,
        4,
        0,
        {},
    )
    policies = {policy["policy"]: policy for policy in everyone["policies"]}
    assert set(policies) == set(USUAL)
    means = [policy["mean"] for policy in everyone["policies"]]
    assert means == sorted(means) and means[0] > 0
    assert policies["theorem"]["evaluation"] == "lazy"
    theorem = es.EnsembleSampling.from_theorem(
        es.Setting(dim=4, arms=8, horizon=200, noise=0.3, norm=1)
    )
    assert policies["theorem"]["recipe"] == repr(theorem)


def test_the_numbers_are_those_of_simulate(everyone: dict[str, Any]) -> None:
    runs = es.simulate(
        es.EnsembleSampling(10, 0.3), es.problem("sphere", dim=4, arms=8), horizon=200, runs=4
    )
    (shown,) = (policy for policy in everyone["policies"] if policy["policy"] == "es-10")
    assert shown["mean"] == runs.summary()["mean"] and shown["p90"] == runs.summary()["p90"]


def test_all_but_the_best_are_compared_with_it_run_by_run(everyone: dict[str, Any]) -> None:
    best, *others = everyone["policies"]
    assert best["minus_best"] is None and all(
        other["minus_best"]["mean"] >= 0.0 for other in others
    )
    shown = {policy["policy"]: policy for policy in everyone["policies"]}
    recipes = {
        name: prepare(name, es.problem("sphere", dim=4, arms=8), 200)[0][name]
        for name in (best["policy"], "greedy")
    }
    problem = es.problem("sphere", dim=4, arms=8)
    first, greedy = (
        es.simulate(recipe, problem, 200, 4, checkpoints=1000) for recipe in recipes.values()
    )
    found = greedy.difference(first)
    low, high = found.interval()
    assert shown["greedy"]["minus_best"] == {
        "mean": found.mean[-1],
        "low": low[-1],
        "high": high[-1],
    }


def test_one_run_has_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (spread([regret]) for regret in (1.0, 3.0))
    assert (
        minus_best(other, one) == {"mean": 2.0, "low": None, "high": None}
        and shown_gap(minus_best(other, one)) == "+2"
    )
    assert minus_best(one, one) is None and shown_gap(None) == ""
    many, others = (spread([regret, regret + 1.0, regret + 4.0]) for regret in (1.0, 3.0))
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert minus_best(others, many) == {"mean": 2.0, "low": None, "high": None}, (
        "SciPy is no part of the base install"
    )


@pytest.mark.parametrize("threads", ["1", "2"])
def test_threads_and_the_choice_of_policies_change_no_number(
    threads: str, everyone: dict[str, Any], tmp_path: Path
) -> None:
    some = answer(
        *SMALL, "--policies", "linphe, theorem,es-100", "--threads", threads, folder=tmp_path
    )
    mine, theirs = (
        [policy | {"minus_best": None} for policy in race["policies"]] for race in (some, everyone)
    )
    assert len(mine) == 3 and all(policy in theirs for policy in mine), (
        "but for what it is compared with"
    )


def test_seeds_differ(everyone: dict[str, Any], tmp_path: Path) -> None:
    other = answer(*SMALL, "--policies", "linphe", "--seed", "1", folder=tmp_path)
    again = answer(
        *SMALL,
        "--policies",
        "linphe",
        "--policies",
        "es-10,theorem",
        "--seed",
        "1",
        folder=tmp_path,
    )
    assert {policy["policy"] for policy in again["policies"]} == {"linphe", "es-10", "theorem"}
    assert other["policies"][0] not in everyone["policies"]


def test_for_people(tmp_path: Path) -> None:
    shown = run(*SMALL, "--policies", "es-10,linphe", folder=tmp_path)
    assert shown.returncode == 0 and shown.stderr == ""
    for text in (
        "es-10",
        "linphe",
        "mean regret",
        "standard error",
        "90th percentile",
        "minus the best",
        " to ",
        "results/race/race.png",
        "results/race/race.svg",
    ):
        assert text in shown.stdout, text
    assert (tmp_path / "results/race/race.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / "results/race/race.svg").read_text()
    assert sorted(path.name for path in (tmp_path / "results/race").iterdir()) == [
        "race.png",
        "race.svg",
    ]


HEAVY = """
import ensample as es

Heavy = es.problem("sphere", dim=3, arms=5, noise=es.StudentNoise(0.3))
"""


def test_policies_without_a_theorem_race_where_tails_are_heavy(tmp_path: Path) -> None:
    """Policies that are told the noise get its standard deviation."""
    (tmp_path / "mine.py").write_text(HEAVY)
    shown = answer("--problem", "mine:Heavy", "--horizon", "50", "--runs", "2", folder=tmp_path)
    raced = {policy["policy"]: policy["recipe"] for policy in shown["policies"]}
    assert set(raced) == set(USUAL) - {"theorem"} and "scale=0.3" in raced["thompson"]
    (reason,) = shown["skipped"].values()
    assert reason.startswith("a setting assumes subGaussian noise") and set(shown["skipped"]) == {
        "theorem"
    }


OWN = """
from dataclasses import dataclass
import ensample as es

@dataclass(frozen=True)
class Mine(es.Recipe):
    size: int = 5
    scale: float = 0.3
    regularization: float = 1.0
    rule = es.UniformMember()

    def build(self, arms, address):
        return es.EnsembleSampling(self.size, self.scale).build(arms, address)
"""


def test_recipes_as_one_types_them(everyone: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    typed = [
        "es-37",
        "EnsembleSampling(size=100,scale=noise)",
        "own:Mine(size=3)",
        "EnsembleSampling(10, member=RoundRobin)",
    ]
    result = answer(*SMALL, "--policies", ", ".join(typed), folder=tmp_path)
    shown = {policy["policy"]: policy for policy in result["policies"]}
    assert set(shown) == set(typed), "as they were typed"
    known = {policy["policy"]: policy["mean"] for policy in everyone["policies"]}
    assert (
        shown[typed[1]]["mean"] == known["es-100"] and shown["es-37"]["mean"] not in known.values()
    )
    assert shown["own:Mine(size=3)"]["evaluation"] == "live"
    assert shown[typed[3]]["recipe"] == repr(es.EnsembleSampling(10, member=es.RoundRobin()))
    table = run(*SMALL, "--policies", ", ".join(typed), folder=tmp_path).stdout
    assert "es-37" in table and "own:Mine(size=3)" in table


def test_the_list(tmp_path: Path) -> None:
    shown = run("--list", folder=tmp_path)
    assert shown.returncode == 0 and shown.stderr == "" and list(tmp_path.iterdir()) == []
    for name in (
        *families_by_name(),
        *POLICIES,
        *RECIPES,
        *classes_of(PARTS),
        "es-N",
        "LinUCB.from_theorem",
        "arms 5,000",
        "module:Name",
    ):
        assert name in shown.stdout, name
    assert max(map(len, shown.stdout.splitlines())) <= 100
    assert "hides the better of two arms" in " ".join(shown.stdout.replace("│", " ").split()), (
        "not why it was made"
    )


@pytest.mark.parametrize(
    ("problem", "suited", "others", "most"),
    [
        ("sphere", {"auto", "theorem"}, {"linucb"}, 10_000),
        ("logistic", {"logistic", "glm-tsl", "glm-fpl", "ucb-glm"}, {"auto", "epsilon"}, 10_000),
        ("evill", {"logistic", "glm-tsl"}, {"auto"}, 10_000),
        ("clicks", {"logistic", "thompson-logistic"}, {"auto", "LinUCB"}, 10_000),
        ("neural", {"networks", "epsilon-network"}, {"auto", "epsilon"}, 1_000),
        ("wheel", {"networks", "greedy-network"}, {"auto", "LinUCB"}, 1_000),
        ("quadratic", {"networks"}, {"auto"}, 1_000),
    ],
)
def test_contenders_suit_the_rewards(
    problem: str, suited: set[str], others: set[str], most: int
) -> None:
    """And every one of them can play it."""
    family = es.problem(problem)
    usual = usual_race(family)
    assert suited | others <= set(usual.policies) and usual.horizon == most
    recipes, skipped = prepare(",".join(usual.policies), family, usual.horizon)
    assert list(recipes) == list(usual.policies) and not skipped


def test_networks_race_unless_others_are_named(tmp_path: Path) -> None:
    short = (
        "--problem",
        "neural",
        "--dim",
        "3",
        "--arms",
        "4",
        "--horizon",
        "12",
        "--runs",
        "1",
        "--json",
    )
    shown = run(*short, folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    raced = {policy["policy"] for policy in json.loads(shown.stdout)["policies"]}
    assert raced == set(usual_race(es.problem("neural")).policies)
    assert shown.stderr == "", "that no kernel plays networks is no news"


def test_a_theorem_that_does_not_apply_is_skipped(tmp_path: Path) -> None:
    options = (
        "--problem",
        "ball",
        "--dim",
        "3",
        "--horizon",
        "50",
        "--runs",
        "1",
        "--policies",
        "linphe,theorem",
    )
    ball = answer(*options, folder=tmp_path)
    assert [policy["policy"] for policy in ball["policies"]] == ["linphe"]
    assert ball["policies"][0]["standard_error"] is None  # of one run
    assert "finitely many arms" in ball["skipped"]["theorem"]
    assert (
        "theorem skipped: Theorem 1 assumes finitely many arms"
        in run(*options, folder=tmp_path).stdout
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--problem", "spere"), "did you mean 'sphere'?"),
        (("--policies", "es-10,linpeh"), "policy = 'linpeh': expected one of auto, es-10, es-100"),
        (("--policies", ","), "at least one"),
        (("--policies", "es-0"), "es-0: size = 0: expected a whole number from 1"),
        (
            ("--policies", "es-10,EnsembleSampling(sise=3)"),
            "EnsembleSampling(sise=3): sise = 3: expected a field of",
        ),
        (
            ("--policies", "mymodule:MyRecipe"),
            "'mymodule:MyRecipe': expected a module that can be imported",
        ),
        (
            ("--problem", "trap", "--policies", "greedy", "--horizon", str(2**31 - 1)),
            f"at most {2**31 - 1 - 250}, which is",
        ),
        (
            ("--problem", "ball", "--arms", "5"),
            "arms = 5: expected an option of 'ball': one of dim, noise",
        ),
        (("--problem", "two-arms", "--dim", "5"), "dim = 5: expected an option of 'two-arms'"),
        (("--problem", "kveton", "--noise", "1"), "noise = 1.0: expected an option of 'kveton'"),
        (
            ("--problem", "ball", "--policies", "theorem"),
            "theorem does not: Theorem 1 assumes finitely many arms",
        ),
        (("--arms", "0"), "arms = 0: expected"),
        (("--threads", "0"), "threads = 0: expected"),
        (("--seed", "-1"), "seed = -1: expected"),
        (("--out", __file__), "expected a directory"),
    ],
)
def test_impossible_wishes(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    shown = run(*arguments, folder=tmp_path)
    assert (
        shown.returncode == 2
        and shown.stdout == ""
        and said in shown.stderr
        and "Traceback" not in shown.stderr
    )
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_in_a_line_and_leaves_nothing(tmp_path: Path) -> None:
    options = ("--policies", "es-10", "--runs", "4", "--threads", "2")
    (tmp_path / "cold").mkdir()
    terminal, inside = pty.openpty()
    command = [*ENSAMPLE, "race", *options, "--horizon", "1000000000"]
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=inside,
        cwd=tmp_path / "cold",
        preexec_fn=heed_interrupts,
    )
    os.close(inside)
    shown = [os.read(terminal, 4096)]  # a bar: it is under way
    reader = threading.Thread(
        target=read_on, args=(terminal, shown)
    )  # a terminal that nobody reads blocks its writer
    reader.start()
    time.sleep(1.0)
    before = psutil.Process(process.pid).cpu_times().user
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    # two threads for five seconds, however long the machine takes for that; under one on a machine of one's own
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - others - before < 10.0
    reader.join()
    os.close(terminal)
    assert process.returncode == 130 and output == b"" and list((tmp_path / "cold").iterdir()) == []
    said = b"".join(shown)
    assert b"es-10" in said and said.rstrip().endswith(b"stopped") and b"Traceback" not in said


def heed_interrupts() -> None:
    """A test run in the background inherits that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_on(terminal: int, shown: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # how Linux reports that the other end is closed
        while block := os.read(terminal, 4096):
            shown.append(block)


def test_an_interrupted_figure_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(part: Path, target: Path) -> None:
        raise KeyboardInterrupt

    (tmp_path / "race.png").write_text("old")
    figure = report.draw(small_runs(), "a race")
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(figure, tmp_path, "race")
    assert [path.name for path in tmp_path.iterdir()] == ["race.png"] and (
        tmp_path / "race.png"
    ).read_text() == "old"


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    runs = small_runs()
    first = save(report.draw(runs, "a race"), tmp_path, "first")
    second = save(report.draw(runs, "a race"), tmp_path, "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_linear_panel_keeps_to_comparable_policies() -> None:
    runs = small_runs()
    figure = report.draw({"a": runs["calm"], "b": runs["calm"], "far": runs["wild"]}, "a race")
    left, right = figure.axes
    assert runs["wild"].mean[-1] > report.FAR * runs["calm"].mean[-1]
    labels = [line.get_label() for line in left.lines]
    assert not any(str(label).startswith("far") for label in labels) and any(
        str(label).startswith("a ") for label in labels
    )
    assert right.get_yscale() == "log"
    legend = [text.get_text().split()[0] for text in figure.legends[0].get_texts()]
    assert legend[0] == "far" and len(legend) == 3


def spread(finals: list[float]) -> es.Runs:
    """Runs that end with this regret."""
    runs = es.simulate(
        es.Greedy(), es.problem("sphere", dim=2, arms=3), horizon=20, runs=len(finals)
    )
    return replace(runs, regret=np.outer(finals, runs.checkpoints / 20.0))


@pytest.mark.parametrize(
    ("finals", "cut"), [([10.0] * 8 + [15.0] * 2, False), ([1.0] * 85 + [90.0] * 15, True)]
)
def test_bars_are_in_the_panel_or_marked_where_they_leave_it(
    finals: list[float], cut: bool
) -> None:
    runs = spread(finals)
    figure = report.draw({"a": runs}, "a race")
    left, top = figure.axes[0], figure.axes[0].get_ylim()[1]
    assert (runs.quantile(0.9)[-1] > top) == cut and runs.mean[-1] < top
    assert any(line.get_marker() == "^" for line in left.lines) == cut
    assert ("▲" in figure.get_supxlabel()) == cut


def test_long_names_leave_the_panels_their_width(tmp_path: Path) -> None:
    runs = spread([1.0, 2.0, 3.0])
    widths = []
    for name in ("ES", "EnsembleSampling(size=20,scale=2*noise,member=RoundRobin)"):
        figure = report.draw({name: runs}, "a race")
        figure.draw_without_rendering()
        widths.append([axes.get_position().width for axes in figure.axes])
    assert min(widths[1]) >= min(widths[0]) > 0.25


@pytest.mark.parametrize(("arms", "horizon", "runs"), [(1, 20, 3), (5, 1, 1)])
def test_figures_of_next_to_nothing(arms: int, horizon: int, runs: int, tmp_path: Path) -> None:
    runs_ = es.simulate(
        es.EnsembleSampling(3, 0.3), es.problem("sphere", dim=2, arms=arms), horizon, runs
    )
    assert len(save(report.draw({"a": runs_}, "nothing to see"), tmp_path, "race")) == 2


def test_no_figure_library_before_a_race() -> None:
    code = "import sys, ensample, ensample.cli.main; print('matplotlib' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )


def test_a_policy_without_a_kernel_says_so_once(tmp_path: Path) -> None:
    shown = run(
        "--problem",
        "contextual",
        "--dim",
        "3",
        "--horizon",
        "20",
        "--runs",
        "3",
        "--policies",
        "linucb",
        folder=tmp_path,
    )
    assert shown.returncode == 0, shown.stderr
    (note,) = shown.stderr.splitlines()
    assert note.startswith(
        "warning: no kernel simulates LinUCB on ChangingArms: its live policy is simulated"
    )
