"""Everything once, small, for environments without our test tools: `python tests/smoke.py`.

Not part of `make test`: `make test-lowest` runs it with the lowest versions that we claim to work
with.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

import ensample as es

PACKAGES = [
    "numpy",
    "rich",
    "safetensors",
    "typer",
    "click",
    "jinja2",
    "matplotlib",
    "polars",
    "distributed",
]
COMMANDS = ["race", "plan", "measure", "run", "studies", "report", "evaluate", "verify"]
RECIPES = (
    *(
        es.EnsembleSampling(5, 0.3),
        es.EnsembleSampling(5, 0.3, member=es.OptimisticMember()),
        es.PerturbedHistory(0.3),
    ),
    *(
        es.ThompsonSampling(0.3),
        es.LinUCB(),
        es.Greedy(),
        es.EpsilonGreedy(),
        es.KvetonPHE(),
        es.EnsemblePlusPlus(4, 0.3),
    ),
    *(
        es.SymmetrizedEnsembleSampling(5, 0.3),
        es.SharpEnsembleSampling(5),
        es.RefreshedEnsembleSampling(5, 0.3),
    ),
    *(es.InformationDirected(5, 0.3), es.SupLinUCB(100), es.MultiplierBootstrap(5)),
)
STUDY = """
name = "smoke"
horizon = [100, 200, 400]
runs = 4
[[problem]]
family = "sphere"
dim = [2, 3]
arms = 5
[[policy]]
label = "ES"
recipe = "EnsembleSampling"
size = 10
scale = "noise"
[[policy]]
label = "TS"
recipe = "ThompsonSampling"
scale = "noise"
"""


def ensample(*arguments: str, fails: int = 0) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "ensample", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "160"}, check=False
    )
    assert done.returncode == fails
    assert "Traceback" not in done.stderr, f"{arguments}: {done.stdout[-500:]}{done.stderr[-2000:]}"
    return done.stdout if not fails else done.stderr


def live_policies() -> None:
    arms = es.FiniteArms(np.random.default_rng(0).standard_normal((6, 3)) / 2)
    for recipe in RECIPES:
        policy = recipe.start(arms, seed=1)
        for _ in range(20):
            decision = policy.decide()
            policy.update(decision, float(decision.arm == 2))
        path = Path(f"{type(recipe).__name__}.snapshot")
        policy.save(path)
        other = es.load(path)
        assert [policy.decide().arm for _ in range(5)] == [other.decide().arm for _ in range(5)], (
            recipe
        )


def simulations() -> None:
    for name in ("sphere", "ball", "contextual", "kveton", "trap"):
        for evaluation in ("auto", "live"):
            runs = es.simulate(
                es.EnsembleSampling(10, 0.3), es.problem(name, dim=3), 200, 4, evaluation=evaluation
            )
            assert np.isfinite(runs.regret).all(), name
    assert len(runs.to_frame()) == runs.regret.size


def studies() -> None:
    Path("smoke.toml").write_text(STUDY, encoding="utf-8")
    ensample("run", "smoke.toml", "--dry-run")
    ensample("run", "smoke.toml", "--threads", "1")
    ensample("report", "results/smoke", "--figures", "--csv", "--baseline", "TS")
    here = es.Results("results/smoke")
    assert len(here.outcomes) == 12
    assert len(here.cells) == 12
    assert len(here.slopes()) > 0
    assert len(here.differences()) > 0
    assert "</html>" in Path("results/smoke/report.html").read_text(encoding="utf-8")


def clusters() -> None:
    ensample("run", "smoke.toml", "--out", "clustered", "--cluster", "local")
    here, there = es.Results("results/smoke"), es.Results("clustered")
    for one, other in zip(here.outcomes, there.outcomes, strict=True):
        assert np.array_equal(one.regret, other.regret)


def races() -> None:
    small = ("race", "--dim", "3", "--arms", "5", "--horizon", "200", "--runs", "4")
    assert "es-37" in ensample(*small, "--policies", "es-37,linphe,LinUCB(radius=2*noise)")
    assert Path("results/race/race.png").stat().st_size > 10_000
    assert Path("results/race/race.svg").stat().st_size > 10_000
    raced = {policy["policy"] for policy in json.loads(ensample(*small, "--json"))["policies"]}
    assert {"auto", "linucb", "linphe", "thompson", "greedy", "theorem"} <= raced
    ensample("race", "--list")


def claims() -> None:
    some = (
        "minimiser-form",
        "chi-square",
        "gaussian-concentration",
        "linphe-is-ensemble",
        "theorem-1",
    )
    ensample(
        "verify", *some, "--html", "paper.html", "--markdown", "paper.md", "--json", "claims.json"
    )
    assert {row["verdict"] for row in json.loads(Path("claims.json").read_text())["claims"]} == {
        "holds"
    }
    ensample("verify", "--list")


def plans() -> None:
    assert json.loads(ensample("plan", "--json"))["ensemble_size"] == 59_497
    assert "59,497" in ensample("plan")


def words() -> None:
    """Help, errors, completion."""
    assert all(command in ensample("--help") for command in COMMANDS)
    for command in COMMANDS:
        assert "--help" in ensample(command, "--help")
        assert "bool" not in ensample(command, "--help").lower()
    ensample("--version")
    ensample("studies")
    assert "No such option" in ensample("plan", "--dimension", "5", fails=2)
    assert "dim = 0: expected" in ensample("plan", "--dim", "0", fails=2)
    assert "size = 0: expected" in ensample(
        "race", "--policies", "EnsembleSampling(size=0)", fails=2
    )
    code = "import sys; sys.argv = ['ensample']; from ensample.cli.main import main; main()"
    asked = {
        "_ENSAMPLE_COMPLETE": "complete_bash",
        "COMP_WORDS": "ensample verify chi",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | asked,
        check=False,
    )
    assert done.stdout.split() == ["chi-square"], done.stderr


PARTS: tuple[Callable[[], None], ...] = (
    words,
    plans,
    live_policies,
    simulations,
    races,
    studies,
    clusters,
    claims,
)


def main() -> None:
    print(
        f"Python {platform.python_version()}:",
        ", ".join(f"{name} {installed(name)}" for name in PACKAGES),
    )
    print("ensample", es.__version__, "from", Path(es.__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in PARTS:
            print(f"{part.__name__} ...", end=" ", flush=True)
            part()
            print("ok", flush=True)
        os.chdir("/")


def installed(name: str) -> str:
    try:
        return version(name)
    except ImportError:
        return "-"


if __name__ == "__main__":
    main()
