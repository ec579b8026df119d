"""What pages quote of the calibration study and of the comparison is what their own pages say: numbers are kept there."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
STUDY = "studies/calibration.md"
DEFAULT = "EnsembleSampling()"
SAID = re.compile(
    r"\b(?P<what>median|worst)(?: of `[^`]+` is)? (?P<numbers>\d[\d.,]*\d|\d)(?: and (?P<other>\d[\d.,]*\d|\d))?"
    r"|\belsewhere it is (?P<tame>\d[\d.,]*\d|\d)",
    re.IGNORECASE,
)
RANGE = re.compile(r"\(calibration\.md\).*\bMedian (\S+) to (\S+) of it")
MEASURED = re.compile(r"^\| (\w+) [\d.]+: `.+` \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
QUOTED = re.compile(r"^\| (\w+(?: Wabbit)?)\b.* \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
COUNTED = re.compile(r"\b(\d+) (recipes|problems)\b")


class Ratios(NamedTuple):
    """A row of the study's table, as it is written."""

    median: str
    worst: str
    elsewhere: str


class Quote(NamedTuple):
    """Numbers said of the recipes that a row of a table, or a paragraph, names."""

    recipes: list[str]
    measure: str
    numbers: list[str]

    def holds(self, kept: dict[str, Ratios]) -> bool:
        """One number may stand for several recipes that have the same."""
        found = [getattr(kept[recipe], self.measure) for recipe in self.recipes]
        return found == (self.numbers * len(found) if len(self.numbers) == 1 else self.numbers)


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def kept_in(study: str) -> dict[str, Ratios]:
    rows = re.findall(
        r"^\| `(.+?)` \| (\S+) \| (\S+) \| (\S+) \|(?: \S+ \|)?$", study, re.MULTILINE
    )
    return {name: Ratios(*numbers) for name, *numbers in rows}


def quotes(text: str, kept: dict[str, Ratios]) -> Iterator[Quote]:
    parts = [line for line in text.splitlines() if line.startswith("|")]
    parts += [
        " ".join(paragraph.split())
        for paragraph in text.split("\n\n")
        if not paragraph.startswith("|")
    ]
    for part in parts:
        named = [name for name in dict.fromkeys(re.findall(r"`(.+?)`", part)) if name in kept] or [
            DEFAULT
        ]
        for said in SAID.finditer(part):
            if said["tame"]:
                yield Quote(named, "elsewhere", [said["tame"]])
            else:
                yield Quote(
                    named,
                    said["what"].lower(),
                    [number for number in (said["numbers"], said["other"]) if number],
                )


KEPT = kept_in(text_of(STUDY))


@pytest.mark.parametrize(("page", "least"), [("howto/choose-a-recipe.md", 6), ("faq.md", 1)])
def test_ratios_are_those_of_the_study(page: str, least: int) -> None:
    found = list(quotes(text_of(page), KEPT))
    assert len(found) >= least and any(DEFAULT in quote.recipes for quote in found)
    assert not [quote for quote in found if not quote.holds(KEPT)], (
        f"{page} says other numbers than {STUDY}"
    )


def test_the_list_of_studies_has_the_range_of_medians() -> None:
    said = RANGE.search(text_of("studies/README.md"))
    medians = sorted(float(row.median) for name, row in KEPT.items() if name != "Greedy()")
    assert said and (float(said[1]), float(said[2])) == (medians[0], medians[-1])


@pytest.mark.parametrize(
    "page", ["howto/choose-a-recipe.md", "theory.md", "tutorials/pricing.md", "../README.md"]
)
def test_recipes_and_problems_are_as_many_as_the_study_has(page: str) -> None:
    kept = set(COUNTED.findall(text_of(STUDY)))
    said = set(COUNTED.findall(" ".join(text_of(page).split())))
    assert said and said <= kept, f"{page} counts otherwise than {STUDY}"


def compared(text: str) -> list[tuple[str, ...]]:
    """(library, numbers on the one problem, on the other) of the rows of the README's table that have some."""
    found = QUOTED.findall(text.replace("*", ""))
    return [
        (name.replace(" ", "").lower(), *numbers) for name, *numbers in found if "±" in numbers[0]
    ]


def test_the_first_page_compares_by_the_numbers_of_one_run() -> None:
    rows = MEASURED.findall(text_of("comparison.md"))
    kept = {
        (row[0], f"{row[1]}, {row[2]}", f"{row[3]}, {row[4]}".replace("-, -", "-")) for row in rows
    }
    table = text_of("../README.md").partition("## Compared with")[2].partition("\nRegret")[0]
    assert {library for library, *_ in compared(table)} == {row[0] for row in rows}
    assert set(compared(table)) <= kept
    assert not kept & set(compared(table.replace(" ± ", " ± 1")))


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
    for text in (
        f"`LinUCB()` has {changed}.",
        f"| case | `LinUCB()`, `Greedy()` | {changed}; more |",
    ):
        assert not all(quote.holds(KEPT) for quote in quotes(text, KEPT))


def test_a_row_is_read_as_it_is_written() -> None:
    kept = {"A()": Ratios("1.1", "2", "1.5"), "B()": Ratios("1.2", "2", "1.6")}
    assert kept_in("| `A()` | 1.1 | 2 | 1.5 |\n| b | 1 | 2 | 3 |") == {"A()": kept["A()"]}
    row = "| case | `A()`, `B()` | median 1.1 and 1.2, worst 2; 4 of 50 |"
    assert [quote[1:] for quote in quotes(row, kept)] == [
        ("median", ["1.1", "1.2"]),
        ("worst", ["2"]),
    ]
    assert all(quote.holds(kept) for quote in quotes(row, kept))
