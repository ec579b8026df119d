"""The how-tos of CONTRIBUTING: each block is a file, outside the package and in it."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ensample as es
from ensample import _core
from ensample.codec import describe, rebuild
from ensample.report.study import write_report
from ensample.report.study.reproduction import as_toml, code_line
from ensample.simulation import dispatch as kernels

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"
BLOCKS = {
    block.partition(".py")[0].removeprefix('"""'): block
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
}
FOLDERS = {
    "triangular": "perturbations",
    "uniform_noise": "problems",
    "needle": "problems",
    "arm_means": "models",
    "poisson": "models",
    "mean_sampling": "policies",
}
RUN = "from ensample.cli.main import main; main()"


def test_every_block_has_its_place() -> None:
    assert set(BLOCKS) == set(FOLDERS)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The blocks as modules outside the package."""
    for name, text in BLOCKS.items():
        (tmp_path / f"{name}.py").write_text(
            text.replace("from ensample.models.arm_means", "from arm_means")
        )
    (tmp_path / "mine.py").write_text(
        "import ensample as es\nfrom mean_sampling import MeanSampling\nfrom needle import Needle\n"
        "my_recipe = MeanSampling(size=5)\nmy_problems = Needle(dim=4)\n"
        "my_problem = es.LinearProblem(es.FiniteArms([[0.5, 0.0], [0.0, 1.0]]), [0.3, 0.6], 0.2)\n"
        "def made(dim, noise=0.2):\n    return Needle(dim, noise)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(kernels, "WARNED", set())
    modules = {name: importlib.import_module(name) for name in (*BLOCKS, "mine")}
    things = {
        name: thing
        for module in modules.values()
        for name, thing in vars(module).items()
        if not name.startswith("_")
    }
    yield SimpleNamespace(folder=tmp_path, **things)
    for name in modules:
        sys.modules.pop(name, None)


def test_each_is_simulated_and_says_once_that_it_is_slow(own: SimpleNamespace) -> None:
    sphere = es.problem("sphere", dim=3, arms=4)
    cases = [
        (own.MeanSampling(5), sphere, "no kernel simulates MeanSampling on FiniteArms"),
        (
            es.EnsembleSampling(5, reward=own.Triangular(0.3)),
            sphere,
            "kernels do not know the law Triangular",
        ),
        (
            es.Greedy(),
            own.Needle(noise=own.UniformNoise(0.2)),
            "FiniteArms and UniformNoise, which kernels do not know",
        ),
    ]
    for recipe, problem, reason in cases:
        with pytest.warns(es.LiveSimulationWarning) as said:
            runs = es.simulate(recipe, problem, 20, 3)
            es.simulate(recipe, problem, 20, 3)
        assert runs.evaluation == "live" and len(said) == 1 and reason in str(said[0].message)
    assert es.simulate(es.Greedy(), own.Needle(), 20, 3).evaluation == "eager", (
        "the problem alone is no obstacle"
    )


def study(own: SimpleNamespace, **changes: object) -> es.Study:
    given = {
        "name": "own",
        "horizon": 30,
        "runs": 2,
        "evaluation": "live",
        "problem": own.Needle(4, own.UniformNoise(0.2)),
        "policy": [
            {"label": "means", "recipe": own.MeanSampling(5, own.Triangular(0.5))},
            {"label": "ES", "recipe": es.EnsembleSampling(3, 0.4, reward=own.Triangular(0.3))},
        ],
    }
    return es.Study(**given | changes)


TOML = """
name = "own"
horizon = 30
runs = 2
evaluation = "live"

[problem]
family = "needle:Needle"
dim = 4
noise = { kind = "uniform_noise:UniformNoise", width = 0.2 }

[[policy]]
label = "means"
recipe = "mean_sampling:MeanSampling"
size = 5
law = { kind = "triangular:Triangular", scale = 0.5 }

[[policy]]
label = "ES"
recipe = "EnsembleSampling"
size = 3
scale = 0.4
reward = { kind = "triangular:Triangular", scale = 0.3 }
"""


def test_a_study_of_objects_and_one_by_names_are_the_same_cells(
    own: SimpleNamespace, tmp_path: Path
) -> None:
    mine, named = study(own), es.Study.parse(TOML)
    assert [cell.recipe for cell in mine.cells] == [cell.recipe for cell in named.cells]
    assert [cell.definition for cell in mine.cells] == [cell.definition for cell in named.cells]
    assert [cell.key for cell in mine.cells] == [cell.key for cell in named.cells]
    assert es.Study(**json.loads(json.dumps(mine.describe()))) == mine
    found = [es.run_study(each, tmp_path / folder) for each, folder in ((mine, "a"), (named, "b"))]
    for ours, theirs in zip(found[0].outcomes, found[1].outcomes, strict=True):
        np.testing.assert_array_equal(ours.regret, theirs.regret)
    assert [cell.recipe for cell in es.Results(tmp_path / "a").study.cells] == [
        cell.recipe for cell in mine.cells
    ]


def test_names_may_stand_for_objects_classes_and_functions(own: SimpleNamespace) -> None:
    greedy = {"recipe": "Greedy"}
    for problem, expected in (
        ("mine:my_problems", own.Needle(4)),
        ({"family": "mine:my_problems", "label": "mine"}, own.Needle(4)),
        ({"family": "mine:made", "dim": 5}, own.Needle(5, 0.2)),
        ("needle:Needle", own.Needle()),
        (own.my_problems, own.Needle(4)),
        ("sphere", es.problem("sphere")),
        (es.problem("sphere", dim=5), es.problem("sphere", dim=5)),
    ):
        assert study(own, problem=problem, policy=greedy).cells[0].family == expected
    for policy in (
        "mine:my_recipe",
        own.my_recipe,
        [{"recipe": "mine:my_recipe"}],
        {"recipe": own.MeanSampling(5)},
    ):
        assert study(own, policy=policy).cells[0].recipe == own.MeanSampling(5)
    labels = [
        study(own, problem=name, policy="mine:my_recipe").cells[0].name
        for name in ("mine:my_problems", "mine:my_problem")
    ]
    assert labels == ["my_recipe, my_problems", "my_recipe, my_problem"]
    text = TOML.replace("[problem]", "[unused]").replace(
        "runs = 2", 'runs = 2\nproblem = "mine:my_problem"'
    )
    assert (
        es.Study.parse(re.sub(r"(?s)\[unused\].*?\n\n", "", text)).cells[0].problem == "my_problem"
    )


def test_a_problem_is_known_by_all_its_numbers(own: SimpleNamespace) -> None:
    def cell(theta: list[float]):
        problem = es.LinearProblem(own.my_problem.arms, theta, 0.2)
        return study(own, problem=problem, policy={"recipe": "Greedy"}).cells[0]

    first, again, other = cell([0.3, 0.6]), cell([0.3, 0.6]), cell([0.3, 0.7])
    assert first.key == again.key != other.key
    assert first.definition == again.definition != other.definition
    np.testing.assert_array_equal(first.family.theta, [0.3, 0.6])
    named = study(own, problem="mine:my_problem", policy={"recipe": "Greedy"})
    assert named.cells[0].key == first.key, "what it is counts, not where it is kept"
    assert "theta" in json.dumps(named.describe())


def test_a_problem_that_cannot_be_written_down_is_asked_for_by_name(own: SimpleNamespace) -> None:
    class Stubborn(es.LinearProblem):
        def __init__(self, secret):
            super().__init__(es.FiniteArms(np.eye(2)), [0.1, 0.2], 0.1)

    with pytest.raises(es.StudyError, match=r"problem.family = .*mymodule:my_problem"):
        study(own, problem=Stubborn(3))
    for wrong in (
        "mine:nothing",
        "no_such_module_at_all:x",
        "mine:",
        "os:system",
        "mine:my_recipe",
    ):
        with pytest.raises(es.StudyError, match=r"(?m)^own: problem"):
            study(own, problem=wrong)
    for wrong in ("mine:my_problem", "os:getcwd", "mean_sampling:es"):
        with pytest.raises(es.StudyError, match=r"^own: policy"):
            study(own, policy=wrong)


def test_a_report_says_what_was_asked_and_how_to_ask_it_again(
    own: SimpleNamespace, tmp_path: Path
) -> None:
    asked = study(own, problem=[own.Needle(4, own.UniformNoise(0.2)), "mine:my_problem"])
    results = es.run_study(asked, tmp_path / "results")
    assert es.Study.parse(as_toml(asked)) == asked
    page = write_report(results, tmp_path / "page.html")[0].read_text(encoding="utf-8")
    assert "mean_sampling:MeanSampling" in page
    assert "law: triangular:Triangular(scale=0.5)" in page
    assert "my_problem" in page
    for cell, outcome in zip(asked.cells, results.outcomes, strict=True):
        names = {"es": es, "results": results} | {name: sys.modules[name] for name in BLOCKS}
        again = eval(code_line(asked, cell), names)
        np.testing.assert_array_equal(again.regret, outcome.regret)


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess:
    return python("-c", RUN, *arguments, folder=folder, COLUMNS="200", NO_COLOR="1", TERM="dumb")


def python(*arguments: str, folder: Path, **more: str) -> subprocess.CompletedProcess:
    line, environment = [sys.executable, *arguments], os.environ | more
    return subprocess.run(
        line, capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


def test_the_command_line_races_and_runs_them(own: SimpleNamespace) -> None:
    (own.folder / "own.toml").write_text(TOML)
    policies = "mean_sampling:MeanSampling(size=3,law=triangular.Triangular(0.5)),mine:my_recipe"
    small = ("--dim", "3", "--horizon", "20", "--runs", "2", "--json", "--policies", policies)
    shown = command("race", "--problem", "needle:Needle", *small, folder=own.folder)
    assert shown.returncode == 0, shown.stderr
    raced = json.loads(shown.stdout)
    assert raced["problem"] == {"name": "needle:Needle", "dim": 3, "noise": 0.3}
    assert {entry["evaluation"] for entry in raced["policies"]} == {"live"}
    assert len(raced["policies"]) == 2
    assert shown.stderr.count("no kernel simulates MeanSampling") == 1
    for name in ("triangular:Triangular(0.5)", "triangular.Triangular(0.5)"):
        planned = command("plan", "--perturbation", name, "--json", folder=own.folder)
        assert planned.returncode == 0, planned.stderr
    shown = command("run", "own.toml", folder=own.folder)
    assert shown.returncode == 0, shown.stderr
    shown = command("race", "--problem", "mine:nothing", "--runs", "1", folder=own.folder)
    assert shown.returncode != 0
    assert "problem = 'mine:nothing': expected a name that is there" in shown.stderr


def test_a_link_of_ones_own_is_fitted_by_either_fit(own: SimpleNamespace, tmp_path: Path) -> None:
    rng, features = np.random.default_rng(0), np.random.default_rng(1).standard_normal((5, 2)) / 2
    for fit in ("stream", "exact"):
        policy = es.EnsembleSampling(5, 0.5, 1.0, model=own.Poisson(fit)).start(
            es.FiniteArms(features)
        )
        for t in range(2000):
            arm = t % 5 if t < 1900 else policy.decide().arm
            policy.update(arm, rng.poisson(np.exp(features[arm] @ [1.0, -0.5])))
        np.testing.assert_allclose(policy.mean, [1.0, -0.5], atol=0.25)
        policy.save(tmp_path / fit)
        assert es.load(tmp_path / fit, verify=True).recipe.model == own.Poisson(fit)
        with pytest.raises(es.InvalidArgument, match=r"from 0 to inf for Poisson\(\)"):
            policy.update(0, -1.0)
    log = policy.log()
    gradient = (np.exp(log.features @ policy.mean) - log.reward) @ log.features + policy.mean
    assert np.abs(gradient).max() < 1e-7
    assert (
        es.ThompsonSampling(model=own.Poisson("exact")).start(es.FiniteArms(features)).decide().arm
        is not None
    )


def played(recipe: es.Recipe) -> es.Policy:
    policy = recipe.start(es.FiniteArms(np.eye(3)), seed=1)
    for _ in range(12):
        decision = policy.decide()
        policy.update(decision, [0.1, 0.9, 0.2][decision.arm])
    return policy


def test_a_model_of_standing_arms_is_given_no_others(own: SimpleNamespace) -> None:
    policy = played(own.MeanSampling(4))
    log = policy.log()
    before = {name: values.copy() for name, values in policy.model.arrays().items()}
    for argument, call in (
        ("arm", lambda: policy.update([0.0, 0.5, 0.5], 100.0)),
        (r"decisions\[1\]", lambda: policy.update_many([0, [0.0, 0.0, 1.0]], [1.0, 1.0])),
        ("features", lambda: policy.decide(np.eye(3)[:2])),
        ("features", lambda: policy.decide(np.ones((5, 3)), propensity=True)),
        ("features", lambda: policy.propensities(np.eye(3)[:2])),
        ("arms", lambda: own.MeanSampling(4).start(es.UnitBall(3))),
        ("arms", lambda: own.MeanSampling(4).start(es.ChangingArms(3))),
        (r"log.arm\[0\]", lambda: own.MeanSampling(4).replay(policy.arms, log[:3])),
    ):
        with pytest.raises(
            es.InvalidArgument,
            match=rf"^{argument} = .*MeanSampling, which knows .* by standing arm",
        ):
            call()
    assert policy.version == 12 and policy.round == 12 and not policy.open_decisions
    assert all(
        np.array_equal(values, before[name]) for name, values in policy.model.arrays().items()
    )
    assert own.MeanSampling(4).replay(policy.arms, log, seed=1).version == 12


def test_scores_of_other_arms_than_those_on_offer_are_refused(own: SimpleNamespace) -> None:
    class Forgetful(own.MeanSampling):
        standing_only = False

    policy = played(Forgetful(4))
    for rows in (np.eye(3)[:2], np.ones((5, 3))):
        for call in (policy.decide, policy.propensities):
            with pytest.raises(
                es.InvalidArgument,
                match=r"^scores = .* a number for each of . rows .* ArmMeans.scores",
            ):
                call(rows)
    assert policy.round == 12 and not policy.open_decisions


def test_scores_that_are_no_numbers_are_refused(
    own: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = played(own.MeanSampling(4))
    monkeypatch.setattr(
        type(policy.model), "scores", lambda self, member, rows: np.array([1.0, np.nan, 2.0])
    )
    for call in (policy.decide, policy.propensities):
        with pytest.raises(es.InvalidArgument, match=r"^scores = .* no NaN, from ArmMeans.scores"):
            call()
    assert policy.round == 12 and policy.version == 12 and not policy.open_decisions
    monkeypatch.setattr(
        type(policy.model), "scores", lambda self, member, rows: np.array([1.0, -np.inf, 2.0])
    )
    assert policy.decide().arm == 2, "an arm may be ruled out"


def test_snapshots_know_them_where_their_modules_are_imported(
    own: SimpleNamespace, tmp_path: Path
) -> None:
    for place, recipe in enumerate(
        (own.MeanSampling(4, own.Triangular(0.5)), es.PerturbedHistory(reward=own.Triangular(0.5)))
    ):
        policy = played(recipe)
        policy.save(tmp_path / f"{place}.snapshot")
        again = es.load(tmp_path / f"{place}.snapshot", verify=True)
        assert again.recipe == recipe and type(again.recipe) is type(recipe)
        assert all(
            np.array_equal(again.model.arrays()[name], values)
            for name, values in policy.model.arrays().items()
        )


def test_a_snapshot_imports_nothing(own: SimpleNamespace, tmp_path: Path) -> None:
    recipe = own.MeanSampling(4)
    played(recipe).save(tmp_path / "snapshot")
    for name in ("mean_sampling", "arm_means"):
        del sys.modules[name]
    with pytest.raises(
        es.SnapshotError,
        match=r"recipe.kind = 'mean_sampling:MeanSampling'.*import mean_sampling first",
    ):
        es.load(tmp_path / "snapshot")
    assert "mean_sampling" not in sys.modules
    assert es.load(tmp_path / "snapshot", recipe=recipe).recipe is recipe


FOREIGN = (
    "os:system",
    "antigravity:fly",
    "builtins:eval",
    "subprocess:Popen",
    "ensample.policies.linucb:LinUCB",
    "ensample:LinUCB",
    "ensample.lab:Study",
    "Study",
    "Policy",
    "theory",
    "os.path:join",
    ":",
    "numpy:",
    "numpy:ndarray.sort",
)


@pytest.mark.parametrize("name", FOREIGN)
def test_a_description_cannot_name_what_is_no_recipe(name: str) -> None:
    with pytest.raises(es.SnapshotError, match=r"recipe.kind = "):
        rebuild({"kind": name})
    assert "antigravity" not in sys.modules


def test_a_namesake_is_not_ours(own: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "rival.py").write_text(
        "import ensample as es\n\nclass LinUCB(es.Greedy):\n    pass\n"
    )
    rival = importlib.import_module("rival")
    theirs, ours = rival.LinUCB(), es.LinUCB()
    assert describe(theirs)["kind"] == "rival:LinUCB" and describe(ours)["kind"] == "LinUCB"
    played(theirs).save(tmp_path / "theirs")
    played(ours).save(tmp_path / "ours")
    assert type(es.load(tmp_path / "theirs").recipe) is rival.LinUCB
    assert type(es.load(tmp_path / "ours").recipe) is es.LinUCB
    for path, wrong in (("theirs", ours), ("ours", theirs)):
        with pytest.raises(es.InvalidArgument, match=r"^recipe = "):
            es.load(tmp_path / path, recipe=wrong)
    cells = [study(own, policy={"recipe": each}).cells[0] for each in (theirs, ours)]
    assert type(cells[0].recipe) is rival.LinUCB and type(cells[1].recipe) is es.LinUCB
    with pytest.raises(es.AssumptionError):
        theirs.guarantee(es.setting_of(own.Needle(), 100))
    del sys.modules["rival"]


def test_a_recipe_that_has_moved_is_handed_in(own: SimpleNamespace, tmp_path: Path) -> None:
    played(own.MeanSampling(4)).save(tmp_path / "snapshot")
    shutil.copy(tmp_path / "mean_sampling.py", tmp_path / "moved.py")
    moved = importlib.import_module("moved").MeanSampling(4)
    assert es.load(tmp_path / "snapshot", recipe=moved).recipe is moved
    del sys.modules["moved"]


def test_in_the_package_a_file_and_a_line_are_enough(tmp_path: Path) -> None:
    """A copy of the package with the blocks in it, and a line for each but the model."""
    package = tmp_path / "ensample"
    shutil.copytree(Path(es.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_core.__file__, package)
    stub = package / "__init__.pyi"
    lines = stub.read_text(encoding="utf-8")
    for name, folder in FOLDERS.items():
        (package / folder / f"{name}.py").write_text(BLOCKS[name])
        kind = re.search(r"^class (\w+)", BLOCKS[name], re.MULTILINE)
        assert kind is not None
        if folder != "models":
            lines += f"from ensample.{folder}.{name} import {kind[1]} as {kind[1]}\n"
    stub.write_text(lines, encoding="utf-8")
    (tmp_path / "own.toml").write_text(
        TOML.replace("needle:Needle", "needle")
        .replace("uniform_noise:", "")
        .replace("mean_sampling:", "")
        .replace("triangular:", "")
        .partition('[[policy]]\nlabel = "ES"')[0]
    )
    (tmp_path / "use.py").write_text(USE)
    # -S: without the import hook of the editable installation, which would find the package itself
    path = os.pathsep.join([str(tmp_path), sysconfig.get_path("purelib")])
    done = python("-S", "use.py", folder=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    listed = python(
        "-S", "-c", RUN, "race", "--list", folder=tmp_path, PYTHONPATH=path, COLUMNS="200"
    )
    for word in ("needle", "basis vectors", "MeanSampling", "perturbed means", "Triangular"):
        assert word in listed.stdout, listed.stderr


USE = """
import numpy as np
import ensample as es

assert {"MeanSampling", "Triangular", "UniformNoise", "Needle"} <= set(es.__all__)
recipe = es.MeanSampling(4, es.Triangular(0.5))
policy = recipe.start(es.FiniteArms(np.eye(3)))
for _ in range(5):
    policy.update(policy.decide(), 1.0)
policy.save("snapshot")
assert es.load("snapshot", verify=True).recipe == recipe
problem = es.problem("needle", dim=4, noise=es.UniformNoise(0.2))
assert es.simulate(recipe, problem, 5, evaluation="live").regret.shape == (1, 5)
[cell] = es.Study.read("own.toml").cells
assert cell.recipe == es.MeanSampling(5, es.Triangular(0.5)) and cell.family == problem
from ensample.codec import describe
assert describe(recipe)["kind"] == cell.definition["recipe"]["kind"] == "MeanSampling"
"""
