"""Labels that a spreadsheet would take for formulas."""

import csv
import io
from pathlib import Path

import polars
import pytest

import ensample as es
from ensample.lab.csv import as_csv
from ensample.report.study import write_report
from lab.studies import small

FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "-",
    "=",
    '=HYPERLINK("http://x")',
    "-1 ",
    "--1",
]
WORDS = ["ES", "", "1=1", " =1", "'=1", "a-b", "-1", "-0.5", "+2e3", "-inf"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text: str) -> None:
    frame = polars.DataFrame({"label": [text], "mean": [-1.5]})
    (row,) = csv.DictReader(as_csv(frame).decode().splitlines(keepends=True))
    assert row == {"label": f"'{text}", "mean": "-1.5"}


@pytest.mark.parametrize("text", WORDS)
def test_words_and_numbers_stay_as_they_are(text: str) -> None:
    (row,) = csv.DictReader(
        as_csv(polars.DataFrame({"label": [text], "n": [-7]})).decode().splitlines()
    )
    assert row == {"label": text, "n": "-7"}


@pytest.mark.filterwarnings("ignore:Glyph")  # figures have no letter for a tab
def test_the_files_of_a_report_hold_no_formula(tmp_path: Path) -> None:
    policies = [
        {"label": f"{text}", "recipe": "Greedy", "regularization": 1.0 + place}
        for place, text in enumerate(FORMULAS)
    ]
    problem = {"label": "@p", "family": "sphere", "dim": 2, "arms": 2}
    results = es.run_study(small(problem=problem, policy=policies, runs=2, checkpoints=2), tmp_path)
    files = [path for path in write_report(results, csv=True) if path.suffix == ".csv"]
    assert {path.stem for path in files} >= {"cells", "final", "curves", "differences"}
    texts = [io.StringIO(path.read_bytes().decode(), newline="") for path in files]
    values = [value for text in texts for row in csv.DictReader(text) for value in row.values()]
    assert "'@p" in values and not [
        value for value in values if value.startswith(("=", "@", "\t", "\r", "\n"))
    ]
    assert all(float(value) <= 0.0 for value in values if value.startswith("-")), "numbers alone"
