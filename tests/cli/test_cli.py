"""The command line, as a person and as a program sees it. What commands print is in golden/."""

import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ensample as es
import prompt
from cli.shell import refused, run
from ensample import theory
from ensample.cli.main import COMMANDS
from ensample.cli.measure import BEGIN, END, POLICIES
from ensample.registry import public_classes


def test_plan_gives_what_theory_says() -> None:
    plan = json.loads(run("plan --json").stdout)
    setting = es.Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    assert plan["radius"] == theory.radius(setting) == plan["scale"]
    assert plan["theorem_bound"] == theory.theorem_bound(setting)
    assert plan["theorem_informative_horizon"] == theory.informative_horizon(setting)
    assert plan["not_applicable"] == {}
    other = json.loads(run("plan --perturbation rademacher --json").stdout)
    assert other["scale"] == pytest.approx(3 * plan["radius"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--arms 0", "finitely many arms"),
        ("--delta 0.3", "delta < 0.25"),
        ("--regularization 0.5", "regularization >= 1"),
    ],
)
def test_plan_says_what_does_not_apply(options: str, reason: str) -> None:
    assert reason in run(f"plan {options}").stdout
    assert max(map(len, run(f"plan {options}", width=80).stdout.splitlines())) <= 80


def test_frontier_is_that_of_theory(tmp_path: Path) -> None:
    shown = run("plan --frontier --out here", tmp_path).stdout
    assert "Theorem 1 has 59,497 for this bound" in shown
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"frontier.png", "frontier.svg"}
    found = json.loads(run("plan --frontier --perturbation rademacher --json").stdout)
    setting = es.Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    rows = [row._asdict() for row in theory.frontier(setting, es.Rademacher())]
    assert found["frontier"] == rows and found["figures"] == []


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("plan --dim 0", "dim = 0: expected a whole number"),
        ("plan --out here", "out = 'here': expected --frontier"),
        ("plan --frontier --arms 0", "finitely many arms"),
        ("plan --noise nan", "noise = nan: expected"),
        ("verify --json /", "json = '/': expected a file that can be written"),
        ("race --runs 0", "runs = 0: expected"),
        ("race --noise -1", "noise = -1.0: expected"),
    ],
)
def test_error_is_one_line(words: str, error: str) -> None:
    assert error in refused(words)


def test_slips_are_explained() -> None:
    wrong = run("plan --dimension 5")
    assert wrong.returncode == 2 and "No such option" in wrong.stderr and "--dim" in wrong.stderr
    wrong = run("rce")
    assert wrong.returncode == 2 and "No such command 'rce'" in wrong.stderr


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_flags_show_as_flags(command: str) -> None:
    shown = run(f"{command} --help")
    assert shown.returncode == 0 and shown.stderr == "" and "bool" not in shown.stdout.lower()
    assert re.search(r"--help +-h +Show this message", shown.stdout), shown.stdout


def test_help_has_the_first_sentence_of_each_command() -> None:
    shown = run("--help").stdout
    for name, (module, sentence) in COMMANDS.items():
        function = getattr(importlib.import_module(f"ensample.cli.{module}"), name)
        first = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
        assert first.startswith(sentence) and sentence.endswith("."), name
        assert f" {name} " in shown and f"`ensample {name}" in inspect.getdoc(function), name


@pytest.mark.parametrize("words", ["--help", "--version", "plan", "plan --help"])
def test_help_and_plan_import_nothing_heavy(words: str) -> None:
    code = f"""
import sys
sys.argv = ["ensample", *{words.split()}]
from ensample.cli.main import main
try:
    main()
except SystemExit:
    print([name for name in ("scipy", "polars", "matplotlib", "jinja2") if name in sys.modules])"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]" and len(shown.stdout.splitlines()) > 1


def completed(words: str, folder: Path | None = None) -> list[str]:
    """Return what the shell would offer for the last of these words."""
    variables = {"COMP_WORDS": words, "COMP_CWORD": len(words.split(" ")) - 1}
    shown = prompt.ensample(
        folder=folder, program="ensample", _ENSAMPLE_COMPLETE="complete_bash", **variables
    )
    assert shown.stderr == ""
    return shown.stdout.split()


def test_shell_completes_names(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "rival.toml").touch()
    for words, expected in {
        "ensample ver": ["verify"],
        "ensample race --problem tw": ["two-arms"],
        "ensample race --policies es-10,lin": ["es-10,linphe", "es-10,linucb"],
        "ensample verify gaussian-conc": ["gaussian-concentration"],
        "ensample run r": ["rates", "results/", "rival.toml"],
    }.items():
        assert completed(words, tmp_path) == expected
    assert completed("ensample run r") == ["rates"]


def test_results_are_written_where_git_ignores_them() -> None:
    ignored = (Path(__file__).parents[2] / ".gitignore").read_text().splitlines()
    for command in ("race", "demo", "plan"):
        folder = importlib.import_module(f"ensample.cli.{command}").FOLDER
        assert folder.parts[0] == "results" and len(folder.parts) == 2 and "/results/" in ignored


def test_version_and_the_installed_script() -> None:
    assert run("--version").stdout == f"ensample {es.__version__}\n"
    script = Path(sys.executable).parent / "ensample"
    assert subprocess.run([script, "--version"], capture_output=True, check=True).stdout


def test_measure_fills_the_marked_part_of_a_page(tmp_path: Path) -> None:
    small = "measure --dim 2 --arms 3 --horizon 20 --runs 2 --policies"
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    shown = run(f"{small} 'LinUCB.from_theorem,Greedy(1.0)' --markdown page.md", tmp_path)
    assert shown.returncode == 0 and "2ST is 40" in shown.stdout
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| `Greedy(1.0)` |" in text
    found = json.loads(run(f"{small} 'LinUCB.from_theorem,Greedy(1.0)' --json").stdout)
    ucb, greedy = found["policies"]
    assert ucb["p"] == 1.0 and ucb["bound"] > ucb["regret"]
    assert greedy["p"] == 0.0 and greedy["bound"] is None
    error = refused(f"{small} 'Greedy(1.0),EnsembleSampling(model=Neural)'")
    assert "NetworkEnsemble has none" in error
    page.write_text("nothing marked")
    assert "markdown = " in refused(f"{small} 'Greedy(1.0)' --markdown page.md", tmp_path)
    assert page.read_text() == "nothing marked"


def test_measure_has_every_recipe_of_ours() -> None:
    text = ",".join(POLICIES)
    linear = set(public_classes(es.Recipe)) - {"EVILL"}  # the theorem is about linear rewards
    assert all(re.search(rf"\b{kind}\b", text) for kind in linear)
