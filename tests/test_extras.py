"""The base install: what needs more says so before any work is done, and the rest works without."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ensample as es
import prompt
from ensample.cli.evaluate import check_outputs
from ensample.extras import require
from lab.studies import TOML

EXTRAS = (
    "apsw",
    "bayesianbandits",
    "coba",
    "cryptography",
    "dask",
    "distributed",
    "faiss",
    "httpx",
    "jinja2",
    "latex2mathml",
    "mabwiser",
    "matplotlib",
    "msgspec",
    "openfeature",
    "pandas",
    "polars",
    "prometheus_client",
    "psycopg",
    "pyarrow",
    "safetensors",
    "scipy",
    "scipy.special",
    "sklearn",
    "starlette",
    "tomli_w",
    "torch",
    "uvicorn",
    "vowpalwabbit",
)
SMALL = "--dim 2 --arms 3 --horizon 20 --runs 2 --policies greedy"


def without_extras(code: str, *arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run code in a process that has the base install only."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"
    command = [sys.executable, "-c", blocked + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def ensample(arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return prompt.ensample(*arguments.split(), folder=folder, start=prompt.Start(missing=EXTRAS))


def wanted(package: str, extra: str) -> str:
    return f"{package} = None: expected the package {package}: pip install 'ensample[{extra}]'"


@pytest.mark.parametrize(
    ("arguments", "missing", "extra"),
    [
        ("serve --data data", "starlette", "serve"),
        ("key list data", "apsw", "serve"),
        ("replay data", "apsw", "serve"),
        ("replay data --verify", "apsw", "serve"),
        ("backup data file", "apsw", "serve"),
        ("bench --only data --turns 1", "sklearn", "peers"),
    ],
)
def test_a_command_says_which_extra_brings_what_it_needs(arguments: str, missing: str, extra: str, tmp_path: Path) -> None:
    done = ensample(arguments, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {wanted(missing, extra)}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        ("demo", "polars"),
        ("plan --frontier --out here", "matplotlib"),
        ("run mine.toml --cluster local", "polars"),
        ("evaluate mine.toml --policy uniform", "polars"),
        ("run mine.toml", "polars"),
        ("run mine.toml --dry-run", "polars"),
        ("report results/small", "polars"),
        (f"race {SMALL}", "matplotlib"),
        (f"race {SMALL} --json --out here", "matplotlib"),
        ("verify chi-square --json claims.json", "scipy"),
        ("verify chi-square --html page.html", "jinja2"),
        ("verify chi-square --markdown page.md", "jinja2"),
    ],
)
def test_a_missing_package_is_said_first(arguments: str, missing: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    done = ensample(arguments, tmp_path)
    said = f"error: {missing} = None: expected the package {missing}: pip install 'ensample[lab]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    "arguments", ["plan", "plan --frontier", "race --list", "studies", "verify --list", "--help", "--version"]
)
def test_the_base_install_is_enough(arguments: str, tmp_path: Path) -> None:
    done = ensample(arguments, tmp_path)
    assert done.returncode == 0 and done.stdout and done.stderr == ""


def test_a_race_for_programs_needs_no_figure(tmp_path: Path) -> None:
    done = ensample(f"race {SMALL} --json", tmp_path)
    assert done.returncode == 0 and done.stderr == "" and not list(tmp_path.iterdir())
    answer = json.loads(done.stdout)
    assert answer["figures"] == [] and [policy["policy"] for policy in answer["policies"]] == ["greedy"]


NEEDS = {
    "es.run_study(es.Study.read('mine.toml'), 'out')": ("polars", "lab"),
    "es.Results('out')": ("polars", "lab"),
    "es.evaluate('log.jsonl', 'uniform')": ("polars", "lab"),
    "es.read_dsjson('mine.toml')": ("polars", "lab"),
    "es.read_log('mine.toml')": ("polars", "lab"),
    "es.read_open_bandit('mine.toml')": ("polars", "lab"),
    "es.read_movielens('mine.toml')": ("polars", "lab"),
    "es.problem('classification', data='mine.csv', y='b')": ("polars", "lab"),
    "es.problem('ratings', data='mine.csv')": ("polars", "lab"),
    "es.Experiment('news', actions=['a', 'b']).log()": ("polars", "lab"),
    "runs.to_frame()": ("polars", "lab"),
    "runs.plot()": ("matplotlib", "lab"),
    "es.ApproximateArms([[1.0]])": ("faiss", "ann"),
    "es.open_experiment('experiment.db', actions=['a', 'b'])": ("apsw", "durable"),
    "es.EnsembleSampling(3, model=es.Neural((2,))).start(es.FiniteArms([[1.0]]))": ("scipy", "networks"),
    "es.EnsembleSampling(3, model=es.TorchModel(print)).start(es.FiniteArms([[1.0]]))": ("torch", "neural"),
    "__import__('ensample.client').client.Client": ("httpx", "client"),
}
WALK = """
import ensample as es
runs = es.simulate(es.Greedy(), es.problem("sphere", dim=2, arms=3), 20, 2)
for call in sys.argv[1:]:
    try:
        eval(call)
        print("nothing")
    except es.InvalidArgument as error:
        print(error)
"""


def test_the_library_says_it_too(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    done = without_extras(WALK, *NEEDS, folder=tmp_path)
    assert done.stderr == ""
    assert dict(zip(NEEDS, done.stdout.splitlines(), strict=True)) == {call: wanted(*needs) for call, needs in NEEDS.items()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "mine.toml"]


BASE = """
import ensample as es
policy = es.EnsembleSampling(5).start(es.FiniteArms([[1.0, 0.0], [0.0, 1.0]]))
policy.update(policy.decide(propensity=True), 1.0)
policy.save("policy.snapshot")
experiment = es.Experiment("news", actions=["a", "b"])
experiment.reward(experiment.decide({"hour": 3}).id, 1.0)
again, other = es.load("policy.snapshot"), experiment.replay(es.Greedy())
print(again.version, other.name, len(policy.log().reward), policy.diagnostics().round)
"""
SHOWN = """
import doctest
examples = doctest.DocTestParser().get_doctest(open(sys.argv[1]).read(), {}, "README.md", None, 0)
print(doctest.DocTestRunner().run(examples).failed, len(examples.examples) > 10)
"""
README = Path(__file__).parents[1] / "README.md"


def test_policies_snapshots_and_experiments_need_no_more(tmp_path: Path) -> None:
    """Nor do the lines of the first page, which shows the base install."""
    done = without_extras(BASE + SHOWN, str(README), folder=tmp_path)
    assert (done.stdout, done.stderr) == ("1 news 1 1\n0 True\n", "")


def test_a_page_of_an_evaluation_says_first_that_it_needs_more_than_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(es.InvalidArgument, match=r"the package matplotlib: pip install 'ensample\[lab\]'"):
        check_outputs(tmp_path / "page.html", None)
    check_outputs(None, tmp_path / "numbers.json")


def test_the_extra_is_named() -> None:
    with pytest.raises(es.InvalidArgument, match=r"the package no_such_package: pip install 'ensample\[cluster\]'"):
        require("json", "no_such_package", extra="cluster")


def test_without_torch_all_but_one_module_is_collected() -> None:
    """Tests need every other package; this one they only use where it is."""
    root = Path(__file__).parents[1]
    imports = re.compile(r"^(import|from) torch\b", re.MULTILINE)
    needy = [path for path in (root / "src").rglob("*.py") if imports.search(path.read_text())]
    assert [str(path.relative_to(root)) for path in needy] == ["src/ensample/models/torch_nets.py"]
    code = "import sys; sys.modules['torch'] = None; import conftest; print(*conftest.collect_ignore)"
    here = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    said = subprocess.run([sys.executable, "-c", code], cwd=root, env=here, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["src/ensample/models/torch_nets.py"]
