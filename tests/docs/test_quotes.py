"""Pages quote the calibration study and the comparison by the numbers of these pages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
DEFAULT = "EnsembleSampling()"
NUMBER = r"\d[\d.,]*\d|\d"
SAID = re.compile(
    rf"\b(?P<what>median|worst)(?: of `[^`]+` is)? (?P<numbers>{NUMBER})"
    rf"(?: and (?P<other>{NUMBER}))?"
    rf"|\belsewhere it is (?P<tame>{NUMBER})",
    re.IGNORECASE,
)
RANGE = re.compile(r"\(calibration\.md\).*\bMedian (\S+) to (\S+) of it")
MEASURED = re.compile(r"^\| (\w+) [\d.]+: `.+` \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
QUOTED = re.compile(r"^\| (\w+(?: Wabbit)?)\b.* \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
ROW = re.compile(r"^\| `(.+?)` \| (\S+) \| (\S+) \| (\S+) \|(?: \S+ \|)?$", re.MULTILINE)
COUNTED = re.compile(r"\b(\d+) (recipes|problems)\b")


class Ratios(NamedTuple):
    """A row of the study's table, as it is written."""

    median: str
    worst: str
    elsewhere: str


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


STUDY = text_of("studies/calibration.md")
KEPT = {name: Ratios(*numbers) for name, *numbers in ROW.findall(STUDY)}


def wrong_quotes(text: str) -> Iterator[tuple[list[str], str, list[str]]]:
    """Yield what rows of tables and paragraphs say otherwise of the recipes that they name."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    others = [" ".join(part.split()) for part in text.split("\n\n") if not part.startswith("|")]
    for part in rows + others:
        named = [name for name in dict.fromkeys(re.findall(r"`(.+?)`", part)) if name in KEPT]
        named = named or [DEFAULT]
        for said in SAID.finditer(part):
            measure = "elsewhere" if said["tame"] else said["what"].lower()
            numbers = [each for each in (said["tame"] or said["numbers"], said["other"]) if each]
            kept = [getattr(KEPT[recipe], measure) for recipe in named]
            if kept != (numbers * len(kept) if len(numbers) == 1 else numbers):
                yield named, measure, numbers


@pytest.mark.parametrize(("page", "least"), [("howto/choose-a-recipe.md", 6), ("faq.md", 1)])
def test_ratios_are_those_of_the_study(page: str, least: int) -> None:
    text = text_of(page)
    assert len(SAID.findall(" ".join(text.split()))) >= least and not list(wrong_quotes(text))


def test_the_list_of_studies_has_the_range_of_medians() -> None:
    said = RANGE.search(text_of("studies/README.md"))
    medians = sorted(float(row.median) for name, row in KEPT.items() if name != "Greedy()")
    assert said and (float(said[1]), float(said[2])) == (medians[0], medians[-1])


@pytest.mark.parametrize(
    "page", ["howto/choose-a-recipe.md", "theory.md", "tutorials/pricing.md", "../README.md"]
)
def test_recipes_and_problems_are_as_many_as_the_study_has(page: str) -> None:
    said = set(COUNTED.findall(" ".join(text_of(page).split())))
    assert said and said <= set(COUNTED.findall(STUDY))


def test_the_first_page_compares_by_the_numbers_of_one_run() -> None:
    rows = MEASURED.findall(text_of("comparison.md"))
    kept = {(a, f"{b}, {c}", f"{d}, {e}".replace("-, -", "-")) for a, b, c, d, e in rows}
    table = text_of("../README.md").partition("## Compared with")[2].partition("\nRegret")[0]

    def compared(text: str) -> set[tuple[str, ...]]:
        found = QUOTED.findall(text.replace("*", ""))
        return {(name.replace(" ", "").lower(), *rest) for name, *rest in found if "±" in rest[0]}

    assert {row[0] for row in compared(table)} == {row[0] for row in rows}
    assert compared(table) <= kept and not kept & compared(table.replace(" ± ", " ± 1"))


@pytest.mark.parametrize(
    "changed",
    [
        "median 9.99",
        "a median 1.5 and 1.7, worst 3",
        "The worst of `EnsembleSampling()` is 4321, or so",
        "elsewhere it is 7.77",
    ],
)
def test_other_numbers_are_noticed(changed: str) -> None:
    """The negative control."""
    assert list(wrong_quotes(f"`LinUCB()` has {changed}."))
    assert list(wrong_quotes(f"| case | `LinUCB()`, `Greedy()` | {changed}; more |"))
