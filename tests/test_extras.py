"""The base install: what needs more says so before any work is done, and the rest works without."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ensample as es
import prompt
from ensample.extras import require
from lab.studies import TOML

EXTRAS = (
    "dask",
    "distributed",
    "jinja2",
    "matplotlib",
    "polars",
    "scipy",
    "scipy.special",
    "tomli_w",
    "latex2mathml",
    "markdown_it",
    "torch",
)
SMALL = "--dim 2 --arms 3 --horizon 20 --runs 2 --policies greedy"


def without_extras(code: str, *arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run code in a process that has the base install only."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"
    command = [sys.executable, "-c", blocked + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def ensample(arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return prompt.ensample(*arguments.split(), folder=folder, start=prompt.Start(missing=EXTRAS))


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
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


@pytest.mark.parametrize("arguments", ["plan", "race --list", "studies", "verify --list"])
def test_the_base_install_is_enough(arguments: str, tmp_path: Path) -> None:
    done = ensample(arguments, tmp_path)
    assert done.returncode == 0 and done.stdout and done.stderr == ""


def test_a_race_for_programs_needs_no_figure(tmp_path: Path) -> None:
    done = ensample(f"race {SMALL} --json", tmp_path)
    assert done.returncode == 0 and done.stderr == "" and not list(tmp_path.iterdir())
    answer = json.loads(done.stdout)
    assert answer["figures"] == [] and [policy["policy"] for policy in answer["policies"]] == ["greedy"]


def test_networks_of_ones_own_say_what_they_need(tmp_path: Path) -> None:
    code = "import ensample as es; es.EnsembleSampling(3, model=es.TorchModel(print)).start(es.FiniteArms([[1.0]]))"
    done = without_extras(code, folder=tmp_path)
    assert "InvalidArgument: torch = None: expected the package torch: pip install 'ensample[neural]'" in done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "es.run_study(es.Study.read('mine.toml'), 'out')",
        "es.Results('out')",
        "es.evaluate('log.jsonl', 'uniform')",
        "es.read_dsjson('mine.toml')",
    ],
)
def test_the_library_says_it_too(call: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOML)
    done = without_extras(f"import ensample as es; {call}", folder=tmp_path)
    assert "InvalidArgument: polars = None: expected the package polars: pip install 'ensample[lab]'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_extra_is_named() -> None:
    with pytest.raises(es.InvalidArgument, match=r"the package no_such_package: pip install 'ensample\[cluster\]'"):
        require("json", "no_such_package", extra="cluster")
