"""Labels in any script, on terminals and in files that know ASCII only."""

from pathlib import Path

import pytest

import prompt

LOCALES = {
    "LC_ALL=C": {"LC_ALL": "C"},
    "ascii locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ascii output": {"PYTHONIOENCODING": "ascii"},
    "latin output": {"PYTHONIOENCODING": "latin-1"},
}
STUDY = """
name = "small"
question = "Größe? ▁▂▃▅▇ 多少"
horizon = 30
runs = 2
[problem]
label = "Kugel θ"
family = "sphere"
dim = 2
arms = 5
[[policy]]
label = "größer ∞ 多少"
recipe = "Greedy"
"""
OWN = """
import ensample as es

class Größe(es.Greedy):
    "A recipe with a name of its own."
"""


def ensample(
    arguments: str, locale: dict[str, str], folder: Path, encoding: str = "utf-8"
) -> tuple[str, str]:
    """What it prints into a file, and its complaints."""
    start = prompt.Start(tuple(locale.items()), encoding=encoding)
    done = prompt.ensample(
        *arguments.split(), start=start, folder=folder, COLUMNS=120
    )  # no label is broken over two lines
    return done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", LOCALES)
def test_studies_with_labels_in_any_script(name: str, folder: Path) -> None:
    encoding = {"latin output": "latin-1", "LC_ALL=C": "utf-8"}.get(name, "ascii")
    shown, complaints = ensample("run mine.toml", LOCALES[name], folder, encoding)
    assert "Traceback" not in complaints and "error" not in complaints, complaints
    label = {"utf-8": "größer ∞ 多少", "latin-1": "größer ? ????", "ascii": "gr??er ? ????"}[
        encoding
    ]
    assert label in shown and "mean regret" in shown
    table = [line for line in shown.splitlines() if line.startswith(("|", "│", "+"))]
    assert len({len(line) + 2 * line.count("多") for line in table}) == 1, "a table stays in line"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--help", "Race policies on one problem"),
        ("race --help", "--policies"),
        ("race --list", "theta"),
        ("plan", "LinUCB (general theorem)"),
        ("studies", "ensemble-size"),
        ("verify --list", "chi-square"),
        ("verify chi-square --html page.html", "holds"),
        ("race --horizon 20 --runs 2 --dim 2 --policies own:Größe,greedy", "own:Gr??e"),
        (
            "race --horizon 20 --runs 2 --dim 2 --policies own:Größe --json --out Bilder-ü",
            r"own:Gr\u00f6\u00dfe",
        ),
    ],
)
def test_every_command_prints(arguments: str, expected: str, folder: Path) -> None:
    shown, complaints = ensample(arguments, LOCALES["ascii locale"], folder, "ascii")
    said = complaints.splitlines()
    assert (
        all(line.startswith("warning: no kernel simulates Gr") for line in said)
        and expected in shown
    )


def test_an_error_shows_the_text_in_letters_that_there_are(folder: Path) -> None:
    shown, complaints = ensample(
        "race --policies own:Grösse", LOCALES["ascii locale"], folder, "ascii"
    )
    assert (
        shown == ""
        and r"policy = 'own:Gr\xf6sse': expected a name that is there: one of es, Gr\xf6\xdfe"
        in complaints
    )


def test_a_file_that_cannot_be_named_is_an_error_in_one_line(folder: Path) -> None:
    (folder / "mine.toml").write_text(STUDY.replace('"small"', '"größer"'), encoding="utf-8")
    _, complaints = ensample("run mine.toml", LOCALES["ascii locale"], folder, "ascii")
    assert (
        "cannot name a file where the encoding is ascii: set LC_ALL=C.UTF-8" in complaints
        and "Traceback" not in complaints
    )
