"""The command line, as a person and as a program sees it."""

import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ensample as es
from ensample import theory
from ensample.cli.main import COMMANDS
from ensample.cli.measure import BEGIN, END, POLICIES
from ensample.registry import public_classes
from prompt import PLAIN, ensample


def run(*arguments: str, width: int = 120) -> subprocess.CompletedProcess:
    return ensample(*arguments, COLUMNS=width, **PLAIN)


def test_plan_for_programs() -> None:
    shown = run(
        "plan",
        "--dim",
        "5",
        "--arms",
        "20",
        "--horizon",
        "10000",
        "--noise",
        "1",
        "--norm",
        "1",
        "--json",
    )
    assert shown.returncode == 0 and shown.stderr == ""
    plan = json.loads(shown.stdout)
    setting = es.Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    assert plan["radius"] == theory.radius(setting) and plan["scale"] == plan["radius"]
    assert plan["ensemble_size"] == 59_497 and plan["useful_size"] == 10_000
    assert (
        plan["sharp_size"] == 2_012
        and plan["sharp_optimistic_size"] == 839
        and plan["sharp_sublinear_horizon"] == 1_484
    )
    assert plan["theorem_bound"] == theory.theorem_bound(setting)
    assert plan["theorem_informative_horizon"] == theory.informative_horizon(setting)
    assert plan["sublinear_horizon"] == 72_050 and plan["not_applicable"] == {}


def test_plan_for_people() -> None:
    shown = run("plan", "--delta", "0.05").stdout
    for text in (
        "7.633",
        "59,497",
        "2,012",
        "1,084",
        "839",
        "6,347,334",
        "3,227,916",
        "43,667",
        "20,000",
        "1.24e+10",
        "72,050",
    ):
        assert text in shown, text
    assert "More than T = 10,000 members are useless" in shown


def test_plan_says_what_does_not_apply() -> None:
    shown = run("plan", "--arms", "0", "--json")
    plan = json.loads(shown.stdout)
    assert (
        plan["theorem_bound"] is None and "finitely many arms" in plan["not_applicable"]["theorem"]
    )
    assert plan["phe_bound"] > 0
    assert "finitely many arms" in run("plan", "--arms", "0").stdout
    assert "delta < 0.25" in run("plan", "--delta", "0.3").stdout
    assert "regularization >= 1" in run("plan", "--regularization", "0.5").stdout


def test_plan_for_other_laws() -> None:
    plan = json.loads(run("plan", "--perturbation", "rademacher", "--json").stdout)
    assert plan["scale"] == pytest.approx(3 * plan["radius"])


def test_the_frontier_for_people_and_programs(tmp_path: Path) -> None:
    shown = run("plan", "--frontier", "--out", str(tmp_path / "here")).stdout
    for text in (
        "1,038",
        "2,012",
        "6,347,334",
        "Theorem 1 has 59,497 for this bound",
        "frontier.png",
    ):
        assert text in shown, text
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"frontier.png", "frontier.svg"}
    found = json.loads(run("plan", "--frontier", "--perturbation", "rademacher", "--json").stdout)
    setting = es.Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    rows = [row._asdict() for row in theory.frontier(setting, es.Rademacher())]
    assert (
        found["frontier"] == rows
        and found["figures"] == []
        and found["theorem"]["share"] == rows[4]["share"] == 0.0025
    )


def test_plan_fits_a_narrow_terminal() -> None:
    assert max(map(len, run("plan", width=80).stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--dim", "0"), "dim = 0: expected a whole number"),
        (("plan", "--out", "here"), "out = 'here': expected --frontier"),
        (("plan", "--frontier", "--arms", "0"), "finitely many arms"),
        (("plan", "--delta", "2"), "delta = 2.0: expected"),
        (("plan", "--noise", "nan"), "noise = nan: expected"),
        (("plan", "--arms", "-1"), "arms = -1: expected"),
        (
            ("verify", "--json", "/nowhere/claims.json"),
            "json = '/nowhere/claims.json': expected a file that can be written",
        ),
        (("verify", "--json", "/"), "json = '/': expected a file that can be written"),
        (("race", "--runs", "0"), "runs = 0: expected"),
        (("race", "--horizon", "-5"), "horizon = -5: expected"),
        (("race", "--noise", "-1"), "noise = -1.0: expected"),
    ],
)
def test_errors_are_one_line(arguments: tuple[str, ...], said: str) -> None:
    shown = run(*arguments)
    assert shown.returncode == 2 and shown.stdout == ""
    assert (
        shown.stderr.startswith("error: ")
        and said in shown.stderr
        and "Traceback" not in shown.stderr
    )


def test_a_wrong_option_is_explained() -> None:
    shown = run("plan", "--dimension", "5")
    assert shown.returncode == 2 and "No such option" in shown.stderr and "--dim" in shown.stderr


def test_help_has_examples() -> None:
    for command in ("plan", "race"):
        assert f"ensample {command} --" in run(command, "--help").stdout
    shown = run("--help").stdout
    assert "plan" in shown and "race" in shown


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)], ids=str)
def test_flags_show_as_flags(arguments: tuple[str, ...]) -> None:
    shown = run(*arguments, "--help")
    assert shown.returncode == 0 and shown.stderr == ""
    assert re.search(r"--help +-h +Show this message", shown.stdout), shown.stdout
    assert "bool" not in shown.stdout.lower()


def test_each_command_is_announced_by_its_first_sentence() -> None:
    shown = run("--help").stdout
    for name, (module, sentence) in COMMANDS.items():
        function = getattr(importlib.import_module(f"ensample.cli.{module}"), name)
        first = " ".join(inspect.getdoc(function).partition("\n\n")[0].split())
        assert first.startswith(sentence) and sentence.endswith("."), name
        assert f" {name} " in shown


def test_a_slip_in_a_command_is_explained() -> None:
    shown = run("rce")
    assert shown.returncode == 2 and "No such command 'rce'" in shown.stderr


@pytest.mark.parametrize("arguments", ["--help", "--version", "plan", "plan --help"])
def test_help_and_plan_import_nothing_heavy(arguments: str) -> None:
    code = f"""
import sys
sys.argv = ["ensample", *{arguments.split()}]
from ensample.cli.main import main
try:
    main()
except SystemExit:
    print([name for name in ("scipy", "polars", "matplotlib", "jinja2") if name in sys.modules])"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]" and len(shown.stdout.splitlines()) > 1


def completed(words: str, folder: Path | None = None) -> list[str]:
    """Return what the shell would offer for the last of these words."""
    asked = {
        "_ENSAMPLE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": len(words.split(" ")) - 1,
    }
    shown = ensample(folder=folder, program="ensample", **asked)
    assert shown.stderr == ""
    return shown.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ensample ver", ["verify"]),
        ("ensample race --problem tw", ["two-arms"]),
        ("ensample race --policies es-10,lin", ["es-10,linphe", "es-10,linucb"]),
        ("ensample race --policies Ensemble", ["EnsemblePlusPlus", "EnsembleSampling"]),
        (
            "ensample verify gaussian-",
            ["gaussian-concentration", "gaussian-anticoncentration", "gaussian-norm"],
        ),
        ("ensample run r", ["rates"]),
    ],
)
def test_the_shell_completes_names(words: str, expected: list[str]) -> None:
    assert completed(words) == expected


def test_the_shell_completes_studies_and_the_folders_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "rival.toml").touch()
    assert completed("ensample run r", tmp_path) == ["rates", "results/", "rival.toml"]
    monkeypatch.chdir(tmp_path)
    assert completed("ensample run r") == ["rates"], (
        "tests see nothing of the folder that they are started in"
    )


@pytest.mark.parametrize("command", ["race", "demo", "plan"])
def test_results_are_written_where_git_ignores_them(command: str) -> None:
    folder = importlib.import_module(f"ensample.cli.{command}").FOLDER
    assert folder.parts[0] == "results" and len(folder.parts) == 2
    assert "/results/" in (Path(__file__).parents[2] / ".gitignore").read_text().splitlines()


def test_version() -> None:
    assert run("--version").stdout == f"ensample {es.__version__}\n"


def test_the_installed_script() -> None:
    script = Path(sys.executable).parent / "ensample"
    assert subprocess.run([script, "--version"], capture_output=True, check=True).stdout


def test_measure_for_people_programs_and_pages(tmp_path: Path) -> None:
    small = ("measure", "--dim", "2", "--arms", "3", "--horizon", "20", "--runs", "2", "--policies")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    shown = run(*small, "LinUCB.from_theorem,Greedy(1.0)", "--markdown", str(page))
    assert (
        shown.returncode == 0
        and "LinUCB.from_theorem" in shown.stdout
        and "2ST is 40" in shown.stdout
    )
    text = page.read_text()
    assert (
        text.startswith("before\n")
        and text.endswith("after\n")
        and "old" not in text
        and "| `Greedy(1.0)` |" in text
    )
    found = json.loads(run(*small, "LinUCB.from_theorem,Greedy(1.0)", "--json").stdout)
    ucb, greedy = found["policies"]
    assert (
        ucb["p"] == 1.0
        and ucb["bound"] > ucb["regret"]
        and greedy["p"] == 0.0
        and greedy["bound"] is None
    )
    refused = run(*small, "Greedy(1.0),EnsembleSampling(model=Neural)")
    assert (
        refused.returncode == 2
        and "NetworkEnsemble has none" in refused.stderr
        and not refused.stdout
    )
    page.write_text("nothing marked")
    refused = run(*small, "Greedy(1.0)", "--markdown", str(page))
    assert (
        refused.returncode == 2
        and "markdown = " in refused.stderr
        and page.read_text() == "nothing marked"
    )


def test_measure_has_every_recipe_of_ours() -> None:
    text = ",".join(POLICIES)
    linear = set(public_classes(es.Recipe)) - {"EVILL"}  # the theorem is about linear rewards
    assert all(re.search(rf"\b{kind}\b", text) for kind in linear)
