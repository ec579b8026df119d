"""The base install: what needs more says so before any work is done, and the rest works without."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ensample as es
import prompt
from ensample.cli.evaluate import check_outputs
from ensample.extras import DISTRIBUTIONS, require
from lab.studies import TOML

LISTED = """
apsw bayesianbandits coba cryptography dask distributed faiss httpx jinja2 latex2mathml mabwiser
matplotlib msgspec openfeature pandas polars prometheus_client psycopg psycopg_pool pyarrow
scipy scipy.special sklearn starlette tomli_w torch uvicorn vowpalwabbit
"""
EXTRAS = tuple(LISTED.split())
SMALL = "--dim 2 --arms 3 --horizon 20 --runs 2 --policies greedy"


def without_extras(code: str, *arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run code in a process that has the base install only."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"
    command = [sys.executable, "-c", blocked + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def ensample(arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return prompt.ensample(*arguments.split(), folder=folder, start=prompt.Start(missing=EXTRAS))


SERVE = (
    "starlette, uvicorn, msgspec, apsw, prometheus_client and jinja2: "
    "pip install starlette uvicorn msgspec apsw prometheus-client jinja2"
)
REPORT = (
    "polars, scipy, jinja2, matplotlib, latex2mathml and tomli_w: "
    "pip install polars scipy jinja2 matplotlib latex2mathml tomli-w"
)
DEMO = "polars, matplotlib and jinja2: pip install polars matplotlib jinja2"
RUN = "ensample run needs polars and tomli_w: pip install polars tomli-w"
APSW, FIGURE = "apsw: pip install apsw", "matplotlib: pip install matplotlib"
PAGE = "a page of ensample verify needs jinja2 and matplotlib"
COMMANDS = {
    "serve --data data": f"ensample serve needs {SERVE}",
    "key list data": f"ensample key needs {APSW}",
    "replay data": f"ensample replay needs {APSW}",
    "replay data --verify": f"ensample replay needs {APSW}",
    "backup data file": f"ensample backup needs {APSW}",
    "demo": f"ensample demo needs {DEMO}",
    "plan --frontier --out here": f"ensample plan --frontier needs {FIGURE}",
    "run mine.toml": RUN,
    "run mine.toml --dry-run": RUN,
    "run mine.toml --cluster local": RUN,
    "evaluate mine.toml --policy uniform": "ensample evaluate needs polars: pip install polars",
    "report results/small": f"ensample report needs {REPORT}",
    f"race {SMALL}": f"ensample race needs {FIGURE}",
    f"race {SMALL} --json --out here": f"ensample race needs {FIGURE}",
    "verify chi-square --json x.json": "an interval or a p-value needs scipy: pip install scipy",
    "verify chi-square --html page.html": PAGE,
    "verify chi-square --markdown page.md": PAGE,
}


@pytest.mark.parametrize(("arguments", "said"), COMMANDS.items())
def test_a_command_says_first_which_packages_it_needs(
    arguments: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    done = ensample(arguments, tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(f"error: {said}")
    assert done.stderr.count("\n") == 1 and "ensample[" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize(
    "arguments",
    ["plan", "plan --frontier", "race --list", "studies", "verify --list", "--help", "--version"],
)
def test_the_base_install_is_enough(arguments: str, tmp_path: Path) -> None:
    done = ensample(arguments, tmp_path)
    assert done.returncode == 0 and done.stdout and done.stderr == ""


def test_a_race_for_programs_needs_no_figure(tmp_path: Path) -> None:
    done = ensample(f"race {SMALL} --json", tmp_path)
    assert done.returncode == 0 and done.stderr == "" and not list(tmp_path.iterdir())
    answer = json.loads(done.stdout)
    assert answer["figures"] == []
    assert [policy["policy"] for policy in answer["policies"]] == ["greedy"]


POLARS = "polars: pip install polars"
NETWORK = "es.EnsembleSampling(3, model=es.TorchModel(print))"
NEEDS = {
    "es.run_study(es.Study.read('mine.toml'), 'out')": f"run_study needs {POLARS}",
    "es.Results('out')": f"Results needs {POLARS}",
    "es.evaluate('log.jsonl', 'uniform')": f"evaluate needs {POLARS}",
    "es.read_dsjson('mine.toml')": f"a log needs {POLARS}",
    "es.read_log('mine.toml')": f"a log needs {POLARS}",
    "es.read_open_bandit('mine.toml')": f"read_open_bandit needs {POLARS}",
    "es.read_movielens('mine.toml')": f"read_movielens needs {POLARS}",
    "es.problem('classification', data='mine.csv', y='b')": f"a problem of data needs {POLARS}",
    "es.problem('ratings', data='mine.csv')": f"read_movielens needs {POLARS}",
    "es.Experiment('news', actions=['a', 'b']).log()": f"Experiment.log needs {POLARS}",
    "runs.to_frame()": f"Runs.to_frame needs {POLARS}",
    "runs.plot()": f"Runs.plot needs {FIGURE}",
    "es.ApproximateArms([[1.0]])": "ApproximateArms needs faiss: pip install faiss-cpu",
    "es.open_experiment('mine.db', actions=['a', 'b'])": f"open_experiment needs {APSW}",
    f"{NETWORK}.start(es.FiniteArms([[1.0]]))": "TorchModel needs torch: pip install torch",
    "__import__('ensample.client').client.Client": "ensample.client needs httpx: pip install httpx",
}
WALK = """
import ensample as es
runs = es.simulate(es.Greedy(), es.problem("sphere", dim=2, arms=3), 20, 2)
for call in sys.argv[1:]:
    try:
        eval(call)
        print("nothing")
    except es.MissingPackage as error:
        print(error)
"""


def test_the_library_says_it_too(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    done = without_extras(WALK, *NEEDS, folder=tmp_path)
    assert done.stderr == ""
    assert dict(zip(NEEDS, done.stdout.splitlines(), strict=True)) == NEEDS
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
    with pytest.raises(
        es.MissingPackage, match=r"^ensample evaluate needs matplotlib: pip install matplotlib$"
    ):
        check_outputs(tmp_path / "page.html", None)
    check_outputs(None, tmp_path / "numbers.json")


def test_a_missing_package_is_an_import_error_with_a_command() -> None:
    with pytest.raises(
        ImportError, match=r"^the test needs no_such_package: pip install no_such_package$"
    ) as raised:
        require("json", "no_such_package", user="the test")
    assert isinstance(raised.value, es.MissingPackage)
    assert raised.value.packages == ("no_such_package",)


def test_packages_are_those_of_an_extra() -> None:
    """The packages that pip is told to install are called as in pyproject.toml."""
    project = tomllib.loads(
        (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    listed = {
        re.split("[><=]", each)[0]
        for extra in project["optional-dependencies"].values()
        for each in extra
    }
    assert set(DISTRIBUTIONS.values()) <= listed


def test_without_torch_all_but_one_module_is_collected() -> None:
    """Tests need every other package; this one they only use where it is."""
    root = Path(__file__).parents[1]
    imports = re.compile(r"^(import|from) torch\b", re.MULTILINE)
    needy = [path for path in (root / "src").rglob("*.py") if imports.search(path.read_text())]
    assert [str(path.relative_to(root)) for path in needy] == ["src/ensample/models/torch_nets.py"]
    code = (
        "import sys; sys.modules['torch'] = None; import conftest; print(*conftest.collect_ignore)"
    )
    here = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=here, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["src/ensample/models/torch_nets.py"]
