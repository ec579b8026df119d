"""Encoders: from plain data to named numbers. How these become rows is for `Crosses`, `Disjoint` and `Hybrid` to say."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from ensample.experiments.features.vocabulary import Vocabulary
from ensample.experiments.plain import Plain, PlainDict

MOST_VALUES = 64  # of a field of strings
MISSING = " is missing"


class Items(NamedTuple):
    """Named numbers; all that is not named is 0."""

    names: list[str]
    numbers: list[float]

    def add(self, name: str, number: float = 1.0) -> None:
        self.names.append(name)
        self.numbers.append(number)


class Encoder(ABC):
    """What of a context, or of an action's features, is used, and as what."""

    stored: ClassVar[bool] = True
    """Whether its fields say all of it, so that it can be written down."""

    @abstractmethod
    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        """The named numbers in some plain data; values of fields that are new may be noted in `seen`."""


class Everything(Encoder):
    """Numbers and booleans as they are; strings, and each string of a list, as an indicator; dicts by their paths.

    A value that is None (or NaN) has an indicator of its own. Of each field of strings the first 64 values are told apart.
    """

    def items(self, values: "PlainDict | list[float | None]", seen: Vocabulary) -> Items:
        found = Items([], [])
        gather(named(values), "", found, seen)
        return found


EVERYTHING = Everything()


def named(values: "PlainDict | list[float | None]") -> PlainDict:
    """Entries of an array are called by their numbers."""
    return (
        values
        if type(values) is dict
        else {str(place): value for place, value in enumerate(values)}
    )


def gather(values: PlainDict, prefix: str, found: Items, seen: Vocabulary) -> None:
    names, numbers = found
    for key, value in values.items():
        path = prefix + key
        kind = type(value)
        if kind is float or kind is int or kind is bool:
            names.append(path)
            numbers.append(float(value))
        elif kind is str:
            names.append(seen.category(path, value, MOST_VALUES))
            numbers.append(1.0)
        elif kind is dict:
            gather(value, f"{path}.", found, seen)
        elif value is None:
            names.append(path + MISSING)
            numbers.append(1.0)
        else:
            gather_list(value, path, found, seen)


def gather_list(values: list[Plain], path: str, found: Items, seen: Vocabulary) -> None:
    for place, item in enumerate(values):
        if isinstance(item, str):
            found.add(seen.category(path, item, MOST_VALUES))
        elif item is None:
            found.add(f"{path}[{place}]{MISSING}")
        else:
            found.add(f"{path}[{place}]", float(item))
